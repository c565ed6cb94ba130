package footprint

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/tables"
)

// Gateway is the footprint of the gateway point. The host, the method and the names of
// gateway and route are always read.
type Gateway struct {
	// Paths are the paths that routes match exactly; of patterns, "/api/*" matches "/api"
	// and what is below it.
	Paths Attribute `json:"paths"`
	// WholePath is true if routes have regular expressions of paths, or are of gRPC.
	WholePath bool `json:"wholePath,omitempty"`
	// Headers are the headers that routes match, in lower case, sorted.
	Headers []string `json:"headers,omitempty"`
	// Query is true if routes match parameters of the query.
	Query bool `json:"query,omitempty"`
	// Reads are the paths to attributes that effective policies read, sorted. Those that
	// are Opaque do not count.
	Reads [][]string `json:"reads,omitempty"`
	// Reviewing are the effective policies, by their index in the table, with rules that
	// ask the access point.
	Reviewing []int `json:"reviewing,omitempty"`
	// Opaque are the effective policies, by their index in the table, that may read any
	// attribute or the time: those with Rego, and those with an expression that reads the
	// time or the request as a whole.
	Opaque []int `json:"opaque,omitempty"`
}

// gatewayOf returns the footprint of a table, nil for one that decides nothing.
func gatewayOf(g *tables.Gateway) *Gateway {
	if g == nil || g.IsEmpty() {
		return nil
	}
	f := new(Gateway)
	for i := range g.Routes {
		for j := range g.Routes[i].Rules {
			for k := range g.Routes[i].Rules[j].Matches {
				f.addMatch(&g.Routes[i].Rules[j].Matches[k])
			}
		}
	}
	for i := range g.Effective {
		if steps := g.Effective[i].Steps; steps != nil {
			f.addSteps(i, steps)
		}
	}
	f.Paths = Attribute{Values: entries(f.Paths.Values), Patterns: entries(f.Paths.Patterns)}
	f.Headers = entries(f.Headers)
	slices.SortFunc(f.Reads, slices.Compare)
	f.Reads = slices.CompactFunc(f.Reads, slices.Equal)
	return f
}

func (f *Gateway) addMatch(m *tables.GatewayMatch) {
	switch m.PathType {
	case "Exact":
		f.Paths.Values = append(f.Paths.Values, m.Path)
	case "PathPrefix":
		f.Paths.Patterns = append(f.Paths.Patterns, strings.TrimRight(m.Path, "/")+"/*")
	default:
		f.WholePath = true
	}
	for _, header := range m.Headers {
		f.Headers = append(f.Headers, strings.ToLower(header.Name))
	}
	f.Query = f.Query || len(m.Query) > 0
}

// addSteps adds what an effective policy reads, or its index if that may be anything.
func (f *Gateway) addSteps(index int, s *tables.GatewaySteps) {
	var r reads
	for _, rule := range s.Rules() {
		r.addRule(rule.Rule)
	}
	if r.reviews {
		f.Reviewing = append(f.Reviewing, index)
	}
	if r.anything {
		f.Opaque = append(f.Opaque, index)
		return
	}
	f.Reads = append(f.Reads, r.paths...)
}

// reads collects the attributes that rules read.
type reads struct {
	paths             [][]string
	anything, reviews bool
}

func (r *reads) addRule(rule *tables.GatewayRule) {
	r.addConditions(rule.When)
	if rule.Pattern != nil {
		r.addConditions(rule.Pattern.AllOf)
	}
	if a := rule.Authorization; a != nil {
		r.addAuthorization(a)
	}
	if d := rule.Denial; d != nil {
		r.addValue(d.Message)
		r.addValue(d.Body)
		for _, value := range d.Headers {
			r.addValue(&value)
		}
	}
	if i := rule.Item; i != nil {
		r.addValue(i.Plain)
		for _, value := range i.Properties {
			r.addValue(&value)
		}
	}
}

func (r *reads) addAuthorization(a *tables.GatewayAuthorization) {
	r.anything = r.anything || a.Rego != nil
	if a.Patterns != nil {
		r.addConditions(*a.Patterns)
	}
	review := a.Review
	if review == nil {
		return
	}
	r.reviews = true
	r.addValue(review.User)
	r.addValue(review.AuthorizationGroups)
	if about := review.Resource; about != nil {
		for _, value := range [...]*tables.RequestValue{about.Group, about.Resource, about.Subresource, about.Name, about.Namespace, about.Verb} {
			r.addValue(value)
		}
		return
	}
	r.paths = append(r.paths, []string{"request", "method"}, []string{"request", "url_path"})
}

func (r *reads) addConditions(conditions []tables.RequestCondition) {
	for i := range conditions {
		c := &conditions[i]
		r.addExpression(c.Predicate)
		r.addConditions(c.All)
		r.addConditions(c.Any)
		if c.Comparison != nil {
			r.addPath(c.Comparison.Path.Steps)
		}
	}
}

func (r *reads) addValue(v *tables.RequestValue) {
	if v == nil {
		return
	}
	r.addExpression(v.Expression)
	if v.Template == nil {
		return
	}
	if v.Template.Path != nil {
		r.addPath(v.Template.Path.Steps)
	}
	for i := range v.Template.Pieces {
		if path := v.Template.Pieces[i].Path; path != nil {
			r.addPath(path.Steps)
		}
	}
}

// addExpression adds what an expression in CEL reads.
func (r *reads) addExpression(text string) {
	if text == "" {
		return
	}
	paths, ok := cel.Reads(text, cel.Gateway)
	r.anything = r.anything || !ok
	for _, path := range paths {
		r.addPath(path)
	}
}

// addPath adds a path. The time of the request is that of the evaluation, so a policy
// that reads it, or the request as a whole, can read anything.
func (r *reads) addPath(steps []string) {
	if len(steps) == 0 || steps[0] == "request" && (len(steps) == 1 || steps[1] == "time") {
		r.anything = true
		return
	}
	r.paths = append(r.paths, steps)
}
