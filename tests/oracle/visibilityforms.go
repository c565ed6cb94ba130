package oracle

import (
	"maps"
	"slices"
)

func (g *viewWriter) rule(rule *ViewRule) object {
	selector := object{}
	selector = g.list(selector, "matchNames", rule.Names)
	if rule.Pattern != "" || g.once(6) {
		selector = append(selector, member{"matchPattern", rule.Pattern})
	}
	if rule.Labels != nil {
		selector = append(selector, member{"matchLabels", pairsOf(rule.Labels)})
	}
	body := object{{"selector", g.shuffle(selector)}}
	if permissions := g.permissions(rule); permissions != nil {
		body = append(body, permissions...)
	}
	switch {
	case len(rule.Entries) == 0:
		if g.once(3) {
			body = append(body, member{"resources", []any{nil, list{}, object{}}[g.IntN(3)]})
		}
	case rule.onlyOlder() || rule.bothForms() && g.older():
		body = append(body, member{"resources", g.olderForm(rule.Entries)})
	default:
		entries := list{}
		for _, e := range rule.Entries {
			entries = append(entries, g.entry(e))
		}
		body = append(body, member{"resources", entries})
	}
	return g.shuffle(body)
}

// permissions are none, one or more spellings of which mean the same.
func (g *viewWriter) permissions(rule *ViewRule) object {
	given := object{}
	if rule.View || g.once(2) {
		given = append(given, member{"view", rule.View})
	}
	if rule.ViewMetrics || g.once(2) || len(given) == 0 {
		given = append(given, member{"viewMetrics", rule.ViewMetrics})
	}
	if rule.View && !rule.ViewMetrics {
		switch g.IntN(6) {
		case 0:
			return nil
		case 1:
			return object{{"permissions", nil}}
		case 2:
			given = object{}
		}
	}
	if g.once(6) {
		given = append(given, member{"viewSensitive", true}, member{"edit", true})
	}
	return object{{"permissions", g.shuffle(given)}}
}

// onlyOlder says whether the rule says what only the older form can say.
func (rule *ViewRule) onlyOlder() bool {
	return slices.ContainsFunc(rule.Entries, func(e *ViewEntry) bool { return e.HideMasters || len(e.HideByLabels) > 0 })
}

// bothForms says whether the older form can say it all.
func (rule *ViewRule) bothForms() bool {
	return !slices.ContainsFunc(rule.Entries, func(e *ViewEntry) bool {
		switch e.Type {
		case "nodes":
			return e.Names.given()
		case "namespaces", "operators":
			return len(e.Labels) > 0
		case "pods":
			return e.Names.given() || len(e.Labels) > 0 || len(e.Namespaces.Denied) > 0
		}
		return standardType(e.Type) || len(e.Labels) > 0
	})
}

func (g *viewWriter) entry(e *ViewEntry) object {
	var filters object
	filters = g.criteria(filters, "names", e.Names)
	if e.Type != "nodes" && e.Type != "namespaces" {
		filters = g.criteria(filters, "namespaces", e.Namespaces)
	}
	filters = g.pairs(filters, "labels", e.Labels)
	filters = g.fields(filters, e)
	body := object{{"type", e.Type}}
	return g.shuffle(g.rest(body, e, filters))
}

// rest adds what entries have in both forms.
func (g *viewWriter) rest(body object, e *ViewEntry, filters object) object {
	if e.Visibility != "" {
		body = append(body, member{"visibility", e.Visibility})
	}
	if filters != nil || g.once(8) {
		body = append(body, member{"filters", append(object{}, g.shuffle(filters)...)})
	}
	if len(e.Include)+len(e.Exclude) > 0 {
		aggregations := g.list(nil, "include", e.Include)
		body = append(body, member{"aggregations", g.list(aggregations, "exclude", e.Exclude)})
	}
	return body
}

func (g *viewWriter) fields(filters object, e *ViewEntry) object {
	fields := object{}
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		fields = g.criteria(fields, name, e.Fields[name])
	}
	if len(fields) > 0 {
		return append(filters, member{"fields", fields})
	}
	return filters
}

func (g *viewWriter) criteria(filters object, key string, c Criteria) object {
	if !c.given() && !g.once(8) {
		return filters
	}
	body := g.list(object{}, "allowed", c.Allowed)
	return append(filters, member{key, g.shuffle(g.list(body, "denied", c.Denied))})
}

// olderForm is the object of sections.
func (g *viewWriter) olderForm(entries []*ViewEntry) object {
	var sections, custom object
	for _, e := range entries {
		var filters object
		switch e.Type {
		case "nodes":
			filters = g.pairs(filters, "labelSelector", e.Labels)
			filters = g.pairs(filters, "hideByLabels", e.HideByLabels)
			if e.HideMasters || g.once(6) {
				filters = append(filters, member{"hideMasters", e.HideMasters})
			}
		case "namespaces":
			filters = g.list(filters, "allowed", e.Names.Allowed)
			filters = g.list(filters, "denied", e.Names.Denied)
		case "operators":
			filters = g.list(filters, "allowedNames", e.Names.Allowed)
			filters = g.list(filters, "deniedNames", e.Names.Denied)
			filters = g.list(filters, "allowedNamespaces", e.Namespaces.Allowed)
			filters = g.list(filters, "deniedNamespaces", e.Namespaces.Denied)
		case "pods":
			filters = g.list(filters, "allowedNamespaces", e.Namespaces.Allowed)
		default:
			filters = g.criteria(filters, "names", e.Names)
			filters = g.criteria(filters, "namespaces", e.Namespaces)
			filters = g.fields(filters, e)
			custom = append(custom, member{e.Type, g.section(e, filters)})
			continue
		}
		sections = append(sections, member{e.Type, g.section(e, filters)})
	}
	if custom != nil || g.once(8) {
		sections = append(sections, member{"custom", append(object{}, custom...)})
	}
	return g.shuffle(sections)
}

// section is never empty, for an empty map is no entry at all.
func (g *viewWriter) section(e *ViewEntry, filters object) object {
	body := g.rest(object{}, e, filters)
	if len(body) == 0 {
		body = object{{"visibility", "all"}}
	}
	return g.shuffle(body)
}
