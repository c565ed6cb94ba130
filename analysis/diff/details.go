package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// The kinds of details.
const (
	detailMatched     = "matched"
	detailReason      = "reason"
	detailWarnings    = "warnings"
	detailLimit       = "limit"
	detailResponse    = "response"
	detailAggregation = "aggregation"
	detailMetric      = "metric"
)

// detail adds what differs without an outcome that differs, or a note of how many documents
// do.
func (c *comparison) detail(r *Report) {
	caused := make(map[[3]string]bool)
	for i := range r.Groups {
		for _, k := range r.Groups[i].Causes {
			caused[[3]string{k.Kind, k.Namespace, k.Name}] = true
		}
	}
	quiet := slices.DeleteFunc(c.differences(), func(d difference) bool {
		return caused[[3]string{d.Kind, d.Namespace, d.Name}] || slices.ContainsFunc(d.statements, func(s *statement.Statement) bool {
			binding := s.Documents[0] // a role changes what its bindings do
			return caused[[3]string{binding.Kind, binding.Namespace, binding.Name}]
		})
	})
	if !c.o.Details {
		if len(quiet) > 0 {
			r.Notes = append(r.Notes, diag.Counted(len(quiet), "document")+" changed without a decision that differs; --details shows what else does")
		}
		return
	}
	for i := range quiet {
		r.Details = append(r.Details, c.probe(&quiet[i])...)
	}
	r.Details = append(r.Details, c.aggregations()...)
	r.Details = append(r.Details, c.paths()...)
	slices.SortFunc(r.Details, func(a, b Detail) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What), cmp.Compare(a.In, b.In), cmp.Compare(a.Text, b.Text))
	})
	r.Details = slices.Compact(r.Details)
}

// explained is what a decision shows beside its outcome.
type explained struct {
	Reason   string   `json:"reason"`
	Warnings []string `json:"warnings"`
	Matched  []struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"matched"`
}

func explain(v statement.Verdict) (e explained) {
	if err := json.Unmarshal(v.Decision, &e); err != nil {
		return explained{} // of the point gateway
	}
	return e
}

func (e *explained) by() string {
	if len(e.Matched) == 0 {
		return "no document"
	}
	return tables.Title(e.Matched[0].Kind, e.Matched[0].Namespace, e.Matched[0].Name)
}

// probe compares what the revisions show for one request of each statement of a document.
func (c *comparison) probe(d *difference) []Detail {
	var out []Detail
	world := map[string]*statement.World{"a": c.a.World, "b": c.b.World}[d.In]
	for _, s := range d.statements {
		base, _ := requestOf(c.unnamedUser, d.point, s.Subjects[:min(len(s.Subjects), 1)])
		base.Cluster = world.Access.Cluster
		find := statement.Search{Must: []*statement.Statement{s}, Point: d.point, Base: base}
		if d.point == statement.PointAccess && s.Subjects != nil {
			find.MustNot = world.Deny
		}
		request := find.Find()
		if request == nil {
			continue
		}
		object := request.Object(d.point)
		a, b, err := c.judges.both(c.ctx, d.point, object)
		if err != nil || a.Outcome != b.Outcome {
			continue
		}
		add := func(kind, from, to string) {
			out = append(out, Detail{Kind: kind, What: statement.DocumentName(s.Documents[0]), In: d.In, Source: s.Documents[0].Source,
				Text: fmt.Sprintf("%s: %s in a, %s in b", statement.Encode(object), cmp.Or(from, "none"), cmp.Or(to, "none"))})
		}
		x, y := explain(a), explain(b)
		switch {
		case x.by() != y.by():
			add(detailMatched, "decided by "+x.by(), "by "+y.by())
		case x.Reason != y.Reason:
			add(detailReason, x.Reason, y.Reason)
		}
		if !slices.Equal(x.Warnings, y.Warnings) {
			add(detailWarnings, strings.Join(x.Warnings, "; "), strings.Join(y.Warnings, "; "))
		}
	}
	return out
}

// aggregations compares the names of metrics that policies let through, and what is
// computed.
func (c *comparison) aggregations() []Detail {
	names := func(w *statement.World) map[string]Detail {
		found := make(map[string]Detail)
		for _, p := range visibilityOf(w).Policies {
			rules := slices.Clone(p.Rules)
			if p.ByDefault != nil {
				rules = append(rules, *p.ByDefault)
			}
			for i := range rules {
				for name, e := range rules[i].Entries {
					if len(e.Include)+len(e.Exclude) > 0 {
						key := fmt.Sprintf("%s/%s rule %d, type %s", p.Namespace, p.Name, i, name)
						found[key] = Detail{Kind: detailAggregation, What: key, Source: cmp.Or(rules[i].Source, p.Source),
							Text: fmt.Sprintf("include %s, exclude %s", statement.JSONText(e.Include), statement.JSONText(e.Exclude))}
					}
				}
			}
		}
		for _, s := range visibilityOf(w).Sources {
			key := s.Namespace + "/" + s.Name
			found[key] = Detail{Kind: detailMetric, What: key, Source: s.Source, Text: withoutSources(s.Aggregations)}
		}
		return found
	}
	return changedDetails(names(c.a.World), names(c.b.World))
}

// changedDetails returns the details of a and b that only one has, or with another text.
func changedDetails(a, b map[string]Detail) []Detail {
	var out []Detail
	for key, x := range a {
		if y, both := b[key]; !both {
			x.In, x.Text = "a", "removed: "+x.Text
			out = append(out, x)
		} else if x.Text != y.Text {
			y.In, y.Text = "b", x.Text+" in a, "+y.Text+" in b"
			out = append(out, y)
		}
	}
	for key, y := range b {
		if _, both := a[key]; !both {
			y.In, y.Text = "b", "added: "+y.Text
			out = append(out, y)
		}
	}
	return out
}

// paths compares the limits of each path of a gateway, and the responses of requests that
// both revisions decide alike.
func (c *comparison) paths() []Detail {
	if !slices.Contains(c.points(), statement.PointGateway) {
		return nil
	}
	out := changedDetails(limitsOf(c.a.World), limitsOf(c.b.World))
	responses := make(map[string]Detail)
	a, b := pathsOf(c.a.World), pathsOf(c.b.World)
	for path, x := range a {
		y := b[path]
		if y == nil || reflect.DeepEqual(x.rules, y.rules) {
			continue
		}
		for _, object := range x.requests {
			va, vb, err := c.judges.both(c.ctx, statement.PointGateway, object)
			if err != nil || va.Outcome != vb.Outcome || responseOf(va) == responseOf(vb) {
				continue
			}
			responses[path] = Detail{Kind: detailResponse, What: path, In: "b",
				Text: fmt.Sprintf("%s: %s in a, %s in b", statement.Encode(object), responseOf(va), responseOf(vb))}
			break
		}
	}
	return slices.AppendSeq(out, maps.Values(responses))
}

// responseOf returns what a client gets beside the outcome.
func responseOf(v statement.Verdict) string {
	var d struct {
		Response json.RawMessage `json:"response,omitempty"`
		Headers  json.RawMessage `json:"headers,omitempty"`
		Metadata json.RawMessage `json:"metadata,omitempty"`
	}
	if err := json.Unmarshal(v.Decision, &d); err != nil {
		return ""
	}
	return statement.JSONText(d)
}

// limitsOf returns the rules of effective policies with limits by path, kind and key.
func limitsOf(w *statement.World) map[string]Detail {
	out := make(map[string]Detail)
	g := tables.Of[*tables.Gateway](w.Revision.Tables)
	if g == nil {
		return out
	}
	for i := range g.Paths {
		for _, kind := range tables.LimitKinds {
			e, ok := g.Paths[i].Effective[kind]
			if !ok {
				continue
			}
			for _, r := range g.Effective[e].Rules {
				path := g.PathName(g.Paths[i])
				out[path+"\x00"+kind+"\x00"+r.Key] = Detail{Kind: detailLimit, What: path, Source: r.Source, Text: r.Key + " " + statement.JSONText(r.Value)}
			}
		}
	}
	return out
}
