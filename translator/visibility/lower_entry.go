package visibility

import (
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

func visibilityEntry(e *VisibilityEntry) *tables.VisibilityEntry {
	out := &tables.VisibilityEntry{
		Custom:       !isStandardType(e.Type.Value),
		Names:        criteria(&e.Names),
		Namespaces:   criteria(&e.Namespaces),
		Labels:       pairs(e.Labels),
		Fields:       make(map[string]tables.Criteria, len(e.Fields)),
		HideMasters:  e.HideMasters,
		HideByLabels: e.HideByLabels,
	}
	for i := range e.Fields {
		out.Fields[e.Fields[i].Field.Value] = criteria(&e.Fields[i].ValueFilter)
	}
	if out.Custom {
		out.Include, out.Exclude = written(texts(e.Include)), written(texts(e.Exclude))
	}
	var restricts bool
	if out.Visibility, restricts = effectiveVisibility(e, out.Custom); restricts {
		out.Filter = shownFilter(e, out)
	}
	return out
}

// pairs returns labels that are never nil.
func pairs(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

// effectiveVisibility returns the effective visibility, and whether the entry makes a
// decision partial. Any criterion filters a custom type. For a standard type under
// visibility: all, denied values apply and allowed values are ignored.
func effectiveVisibility(e *VisibilityEntry, custom bool) (visibility string, restricts bool) {
	denies := !e.Names.Denied.IsEmpty() || !e.Namespaces.Denied.IsEmpty() || len(e.HideByLabels) > 0 || e.HideMasters
	visibility = e.Visibility
	if visibility == "" {
		visibility = "all"
		if e.Includes() {
			visibility = "filtered"
		}
	}
	if !custom {
		return visibility, visibility != "all" || denies
	}
	if visibility == "all" && (e.Includes() || denies) {
		visibility = "filtered"
	}
	return visibility, visibility == "filtered"
}

// criteria converts the allowed and denied values of a document.
func criteria(f *ValueFilter) tables.Criteria {
	return tables.Criteria{Allowed: values(f.Allowed), Denied: values(f.Denied)}
}

// values converts literals and patterns of a document, each once.
func values(v Values) tables.Values {
	var out tables.Values
	for _, literal := range v.Literals {
		if out.Literals == nil {
			out.Literals = make(map[string]bool, len(v.Literals))
		}
		out.Literals[literal] = true
	}
	seen := make(map[string]bool, len(v.Patterns))
	for _, p := range v.Patterns {
		if !seen[p.Text] {
			seen[p.Text] = true
			out.Patterns = append(out.Patterns, p.Glob)
		}
	}
	return out
}

// shownFilter returns an entry as decisions show it.
func shownFilter(e *VisibilityEntry, lowered *tables.VisibilityEntry) *tables.ShownFilter {
	out := &tables.ShownFilter{
		Visibility:   lowered.Visibility,
		Names:        shownCriteria(&e.Names),
		Namespaces:   shownCriteria(&e.Namespaces),
		Labels:       lowered.Labels,
		Fields:       make(map[string]tables.ShownCriteria, len(e.Fields)),
		HideMasters:  lowered.HideMasters,
		HideByLabels: lowered.HideByLabels,
	}
	for i := range e.Fields {
		out.Fields[e.Fields[i].Field.Value] = shownCriteria(&e.Fields[i].ValueFilter)
	}
	return out
}

// shownCriteria returns what a filter allows and denies as documents write it, for commands
// and endpoints that list policies.
func shownCriteria(f *ValueFilter) tables.ShownCriteria {
	if f.IsEmpty() {
		return tables.ShownCriteria{}
	}
	return tables.ShownCriteria{
		Include: written(f.Allowed.Literals), IncludePatterns: writtenPatterns(f.Allowed.Patterns),
		Exclude: written(f.Denied.Literals), ExcludePatterns: writtenPatterns(f.Denied.Patterns),
	}
}

// written returns the texts without duplicates; never nil.
func written(list []string) []string { return append([]string{}, tables.Once(list)...) }

func writtenPatterns(patterns []ValuePattern) []string {
	list := make([]string, len(patterns))
	for i, p := range patterns {
		list[i] = p.Text
	}
	return written(list)
}

// texts returns the strings of a list without their positions.
func texts(list []syntax.Text) []string {
	return elements.Map(list, func(t syntax.Text) string { return t.Value })
}
