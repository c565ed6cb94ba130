package statement

import "slices"

// Facts are values of what a request may lack, one for each that statements tell apart.
type Facts struct {
	Labels, NamespaceLabels []map[string]string
	Fields                  [][]string
	// Complete is false if there are too many of them to list.
	Complete bool
}

// maxFacts is how many values of a fact are listed.
const maxFacts = 256

// FactsOf returns the facts of the point access that statements of some revisions read.
func FactsOf(worlds ...*World) Facts {
	var v Values
	for _, w := range worlds {
		for key := range w.Access.Roles.All() {
			for _, r := range w.RulesOf(key) {
				r.Condition.Mention(&v)
			}
		}
		for _, s := range w.Deny {
			s.Condition.Mention(&v)
		}
	}
	out := Facts{Fields: [][]string{{}, {OtherWord}}, Complete: true}
	for _, of := range []struct {
		labels *LabelValues
		into   *[]map[string]string
	}{{&v.labels, &out.Labels}, {&v.namespaceLabels, &out.NamespaceLabels}} {
		out.Complete = out.Complete && of.labels.Size(of.labels.Keys) <= maxFacts
		sets := of.labels.Sets(of.labels.Keys)
		*of.into = sets[:min(len(sets), maxFacts)]
	}
	for _, path := range v.fields.Values {
		out.Fields = append(out.Fields, []string{path})
	}
	out.Complete = out.Complete && len(out.Fields) <= maxFacts
	out.Fields = slices.Clip(out.Fields[:min(len(out.Fields), maxFacts)])
	return out
}
