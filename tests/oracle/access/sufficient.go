package access

import (
	"maps"
	"slices"
	"strings"

	fieldselector "k8s.io/apimachinery/pkg/fields"
	labelselector "k8s.io/apimachinery/pkg/labels"

	"github.com/writ-policy/writ/tests/oracle"
)

// conditional is an allow rule whose lists fit a request, with what its restrictions ask of
// the selected objects.
type conditional struct {
	entry          oracle.Entry
	labels, fields []string
}

// bySelector reports whether one of the restrictions is yes with the selectors of a request
// and undecidable without them.
func (s *Restrictions) bySelector(r oracle.Request) bool {
	without := r
	without.Attributes = maps.Clone(r.Attributes)
	delete(without.Attributes, "labelSelector")
	delete(without.Attributes, "fieldSelector")
	turns := func(judge func(oracle.Request) oracle.Truth) bool {
		return judge(r) == oracle.Yes && judge(without) == oracle.Undecidable
	}
	return s != nil && (s.Labels != nil && turns(func(r oracle.Request) oracle.Truth { return hasLabels(s.Labels, r) }) ||
		s.Select != nil && turns(func(r oracle.Request) oracle.Truth { return hasFields(s.Select, r) }) ||
		s.Kind == "sameMinionRestriction" && turns(sameMinion))
}

// open returns what a selector is able to add for restrictions to hold.
func (s *Restrictions) open(r oracle.Request) (labels, fields []string) {
	if s == nil {
		return nil, nil
	}
	if r.Labels == nil {
		labels = s.Labels
	}
	asked := slices.Clone(s.Select)
	if node := requesterNode(r); s.Kind == "sameMinionRestriction" && node != "" {
		if pod, scheduled := podNode(r); scheduled && pod == "" && oracle.SameKind(r.Resource, "pods") && r.APIGroup == "" {
			asked = append(asked, "spec.nodeName="+node)
		}
	}
	for _, entry := range asked {
		if r.Name != "" && entry == "metadata.name="+r.Name || r.Namespace != "" && entry == "metadata.namespace="+r.Namespace {
			continue
		}
		fields = append(fields, entry)
	}
	return labels, fields
}

// sufficient is the end of the reason of a list that no rule allows. The decision with the
// selectors of each rule is asked for.
func (w *World) sufficient(r oracle.Request, found []conditional) string {
	verb := strings.ToLower(r.Verb)
	if r.Path != "" || r.Subresource != "" || verb != "list" && verb != "watch" && verb != "deletecollection" || len(found) > 100 {
		return ""
	}
	slices.SortFunc(found, func(a, b conditional) int { return compareEntries(a.entry, b.entry) })
	found = slices.DeleteFunc(found, func(c conditional) bool { return c.entry.Effect == "deny" || len(c.labels)+len(c.fields) == 0 })
	for _, c := range found[:min(len(found), 10)] {
		asked := r
		asked.Attributes = maps.Clone(r.Attributes)
		if asked.Attributes == nil {
			asked.Attributes = make(map[string]any)
		}
		var texts []string
		if len(c.labels) > 0 {
			text := strings.Join(c.labels, ",")
			if _, err := labelselector.Parse(text); err != nil {
				continue
			}
			texts = append(texts, "label selector "+text)
			asked.Attributes["labelSelector"] = selecting(c.labels)
		}
		if len(c.fields) > 0 {
			var written []string
			for _, entry := range c.fields {
				key, value, _ := strings.Cut(entry, "=")
				written = append(written, key+"="+fieldselector.EscapeValue(value))
			}
			texts = append(texts, "field selector "+strings.Join(written, ","))
			asked.Attributes["fieldSelector"] = selecting(c.fields)
		}
		isIt := func(e oracle.Entry) bool { return compareEntries(e, c.entry) == 0 }
		if d, _ := w.decide(asked); d.Allowed && slices.ContainsFunc(d.Matched, isIt) {
			name := c.entry.Name
			if c.entry.Namespace != "" {
				name = c.entry.Namespace + "/" + name
			}
			return "; allowed with " + strings.Join(texts, " and ") + " (" + c.entry.Kind + " " + name + ")"
		}
	}
	return ""
}

// selecting is a selector of what has all entries.
func selecting(entries []string) (out []any) {
	for _, entry := range entries {
		key, value, isValue := strings.Cut(entry, "=")
		q := map[string]any{"key": key, "operator": "Exists"}
		if isValue {
			q["operator"], q["values"] = "In", []any{value}
		}
		out = append(out, q)
	}
	return out
}
