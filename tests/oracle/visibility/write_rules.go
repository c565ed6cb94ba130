package visibility

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/tests/oracle/yaml"
)

func (g *writer) rule(rule *Rule) yaml.Object {
	selector := yaml.Object{}
	selector = g.list(selector, "matchNames", rule.Names)
	if rule.Pattern != "" || g.Once(6) {
		selector = append(selector, yaml.Member{"matchPattern", rule.Pattern})
	}
	if rule.Labels != nil {
		selector = append(selector, yaml.Member{"matchLabels", pairsOf(rule.Labels)})
	}
	body := yaml.Object{{"selector", g.shuffle(selector)}}
	if permissions := g.permissions(rule); permissions != nil {
		body = append(body, permissions...)
	}
	switch {
	case len(rule.Entries) == 0:
		if g.Once(3) {
			body = append(body, yaml.Member{"resources", []any{nil, yaml.List{}, yaml.Object{}}[g.IntN(3)]})
		}
	case rule.onlyOlder() || rule.bothForms() && g.older():
		body = append(body, yaml.Member{"resources", g.olderForm(rule.Entries)})
	default:
		entries := yaml.List{}
		for _, e := range rule.Entries {
			entries = append(entries, g.entry(e))
		}
		body = append(body, yaml.Member{"resources", entries})
	}
	return g.shuffle(body)
}

// permissions draws among the spellings that mean the same.
func (g *writer) permissions(rule *Rule) yaml.Object {
	given := yaml.Object{}
	if rule.View || g.Once(2) {
		given = append(given, yaml.Member{"view", rule.View})
	}
	if rule.ViewMetrics || g.Once(2) || len(given) == 0 {
		given = append(given, yaml.Member{"viewMetrics", rule.ViewMetrics})
	}
	if rule.View && !rule.ViewMetrics {
		switch g.IntN(6) {
		case 0:
			return nil
		case 1:
			return yaml.Object{{"permissions", nil}}
		case 2:
			given = yaml.Object{}
		}
	}
	if g.Once(6) {
		given = append(given, yaml.Member{"viewSensitive", true}, yaml.Member{"edit", true})
	}
	return yaml.Object{{"permissions", g.shuffle(given)}}
}

// onlyOlder reports whether the rule says what only the older form can say.
func (rule *Rule) onlyOlder() bool {
	return slices.ContainsFunc(rule.Entries, func(e *Entry) bool { return e.HideMasters || len(e.HideByLabels) > 0 })
}

// bothForms reports whether the older form can say it all.
func (rule *Rule) bothForms() bool {
	return !slices.ContainsFunc(rule.Entries, func(e *Entry) bool {
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

func (g *writer) entry(e *Entry) yaml.Object {
	var filters yaml.Object
	filters = g.criteria(filters, "names", e.Names)
	if e.Type != "nodes" && e.Type != "namespaces" {
		filters = g.criteria(filters, "namespaces", e.Namespaces)
	}
	filters = g.pairs(filters, "labels", e.Labels)
	filters = g.fields(filters, e)
	body := yaml.Object{{"type", e.Type}}
	return g.shuffle(g.rest(body, e, filters))
}

// rest adds what entries have in both forms.
func (g *writer) rest(body yaml.Object, e *Entry, filters yaml.Object) yaml.Object {
	if e.Visibility != "" {
		body = append(body, yaml.Member{"visibility", e.Visibility})
	}
	if filters != nil || g.Once(8) {
		body = append(body, yaml.Member{"filters", append(yaml.Object{}, g.shuffle(filters)...)})
	}
	if len(e.Include)+len(e.Exclude) > 0 {
		aggregations := g.list(nil, "include", e.Include)
		body = append(body, yaml.Member{"aggregations", g.list(aggregations, "exclude", e.Exclude)})
	}
	return body
}

func (g *writer) fields(filters yaml.Object, e *Entry) yaml.Object {
	fields := yaml.Object{}
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		fields = g.criteria(fields, name, e.Fields[name])
	}
	if len(fields) > 0 {
		return append(filters, yaml.Member{"fields", fields})
	}
	return filters
}

func (g *writer) criteria(filters yaml.Object, key string, c Criteria) yaml.Object {
	if !c.given() && !g.Once(8) {
		return filters
	}
	body := g.list(yaml.Object{}, "allowed", c.Allowed)
	return append(filters, yaml.Member{key, g.shuffle(g.list(body, "denied", c.Denied))})
}

// olderForm is the object of sections.
func (g *writer) olderForm(entries []*Entry) yaml.Object {
	var sections, custom yaml.Object
	for _, e := range entries {
		var filters yaml.Object
		switch e.Type {
		case "nodes":
			filters = g.pairs(filters, "labelSelector", e.Labels)
			filters = g.pairs(filters, "hideByLabels", e.HideByLabels)
			if e.HideMasters || g.Once(6) {
				filters = append(filters, yaml.Member{"hideMasters", e.HideMasters})
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
			custom = append(custom, yaml.Member{e.Type, g.section(e, filters)})
			continue
		}
		sections = append(sections, yaml.Member{e.Type, g.section(e, filters)})
	}
	if custom != nil || g.Once(8) {
		sections = append(sections, yaml.Member{"custom", append(yaml.Object{}, custom...)})
	}
	return g.shuffle(sections)
}

// section is never empty, because an empty map is not an entry.
func (g *writer) section(e *Entry, filters yaml.Object) yaml.Object {
	body := g.rest(yaml.Object{}, e, filters)
	if len(body) == 0 {
		body = yaml.Object{{"visibility", "all"}}
	}
	return g.shuffle(body)
}
