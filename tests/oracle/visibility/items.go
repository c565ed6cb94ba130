package visibility

import (
	"maps"
	"slices"
	"strings"
)

// given reports whether the criteria say anything.
func (c Criteria) given() bool { return len(c.Allowed)+len(c.Denied) > 0 }

// denies reports whether a value is put out by denied.
func (c Criteria) denies(value string) bool { return fitsOne(c.Denied, value) }

// passes is a gate of section 8 for a value that is there.
func (c Criteria) passes(value string) bool {
	return !c.denies(value) && (len(c.Allowed) == 0 || fitsOne(c.Allowed, value))
}

func fitsOne(patterns []string, value string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return fitsView([]rune(pattern), []rune(value)) })
}

// fitsView reports whether a literal or a glob of section 3.4 fits a whole value.
func fitsView(pattern, value []rune) bool {
	if len(pattern) == 0 {
		return len(value) == 0
	}
	switch {
	case pattern[0] == '*':
		return fitsView(pattern[1:], value) || len(value) > 0 && fitsView(pattern, value[1:])
	case len(value) == 0:
		return false
	}
	return (pattern[0] == '?' || pattern[0] == value[0]) && fitsView(pattern[1:], value[1:])
}

// effective is the entry as it counts: with its visibility spelt out, and, for a
// standard type, without what an explicit `all` makes void.
func (e *Entry) effective() *Entry {
	if e == nil {
		return nil
	}
	out := *e
	inclusion := len(e.Names.Allowed)+len(e.Namespaces.Allowed)+len(e.Labels) > 0
	switch {
	case !standardType(e.Type) && (e.Visibility != "none" && e.criteria() || e.Visibility == "filtered"):
		out.Visibility = "filtered"
	case e.Visibility == "" && inclusion:
		out.Visibility = "filtered"
	case e.Visibility == "":
		out.Visibility = "all"
	case e.Visibility == "all" && standardType(e.Type):
		out.Names.Allowed, out.Namespaces.Allowed, out.Labels = nil, nil, nil
	}
	return &out
}

// criteria reports whether the entry has any filter criterion.
func (e *Entry) criteria() bool {
	for _, c := range e.Fields {
		if c.given() {
			return true
		}
	}
	return e.Names.given() || e.Namespaces.given() || len(e.Labels) > 0
}

// restricts is section 7.1, for an effective entry of a standard type or none.
func (e *Entry) restricts() bool {
	return e != nil && (e.Visibility == "none" || e.Visibility == "filtered" ||
		len(e.Names.Denied) > 0 || len(e.Namespaces.Denied) > 0 || e.HideMasters || len(e.HideByLabels) > 0)
}

// filter is an entry as decisions show it: as written, but for its visibility.
func (e *Entry) filter(visibility string) map[string]any {
	fields := map[string]any{}
	for name, c := range e.Fields {
		fields[name] = c.filter()
	}
	labels := map[string]any{}
	for key, value := range e.Labels {
		labels[key] = value
	}
	shown := map[string]any{
		"visibility": visibility, "names": e.Names.filter(), "namespaces": e.Namespaces.filter(), "labels": labels, "fields": fields,
	}
	if e.HideMasters {
		shown["hideMasters"] = true
	}
	if len(e.HideByLabels) > 0 {
		shown["hideByLabels"] = maps.Clone(e.HideByLabels)
	}
	return shown
}

func (c Criteria) filter() map[string]any {
	if !c.given() {
		return map[string]any{}
	}
	glob := func(pattern string) bool { return strings.ContainsAny(pattern, "*?") }
	only := func(patterns []string, globs bool) []string {
		kept := []string{}
		for _, pattern := range patterns {
			if glob(pattern) == globs {
				kept = append(kept, pattern)
			}
		}
		return kept
	}
	return map[string]any{
		"include": only(c.Allowed, false), "includePatterns": only(c.Allowed, true),
		"exclude": only(c.Denied, false), "excludePatterns": only(c.Denied, true),
	}
}

// fillStandard is sections 7 and 10.
func (w *World) fillStandard(d *Decision, r Request, v verdict) {
	entries := map[string]*Entry{}
	if v.rule >= 0 {
		for _, e := range v.policy.Rules[v.rule].Entries {
			if standardType(e.Type) {
				entries[e.Type] = e.effective()
			}
		}
	}
	d.Decision = "allow"
	for name, e := range entries {
		if e.restricts() {
			d.Decision, d.Filters[name] = "partial", v.policy.Rules[v.rule].entry(name).filter(e.Visibility)
		}
	}
	if r.Type != "" && r.Items != nil {
		for i, item := range *r.Items {
			if shownStandard(entries, r.Type, item) {
				d.Visible = append(d.Visible, i)
			}
		}
	}
	if r.Metrics != nil && slices.Contains(d.Permissions, "viewMetrics") {
		d.Metrics = metrics(entries, r.Metrics)
	}
}

// shownStandard is sections 7.2 and 7.3 for one item.
func shownStandard(entries map[string]*Entry, kind string, item Item) bool {
	s := standardItem(kind, item)
	entry, namespaces := entries[kind], entries["namespaces"]
	if namespaces.restricts() && slices.Contains([]string{"pods", "events", "operators", "alerts"}, kind) {
		switch {
		case s.everywhere:
			if namespaces.Visibility == "none" {
				return false
			}
		case len(s.namespaces) == 0:
			if kind != "alerts" {
				return false
			}
		default:
			s.namespaces = slices.DeleteFunc(s.namespaces, func(namespace string) bool {
				return !namespaces.shows(thing{name: namespace})
			})
			if len(s.namespaces) == 0 {
				return false
			}
		}
	}
	return entry.shows(s)
}

// thing is an item as an entry of its type looks at it. everywhere is the list of
// namespaces that is only a star.
type thing struct {
	name       string
	namespaces []string
	everywhere bool
	labels     map[string]string
	roles      []any
}

func standardItem(kind string, item Item) thing {
	s := thing{name: item.Name, labels: item.Labels}
	switch kind {
	case "namespaces":
		if item.Namespace != "" {
			s.name = item.Namespace
		}
		return s
	case "nodes":
		s.roles, _ = item.Fields["roles"].([]any)
		return s
	case "operators":
		if display, ok := item.Fields["display_name"].(string); ok && s.name == "" {
			s.name = display
		}
		if available, ok := item.Fields["available_in_namespaces"].([]any); ok {
			for _, namespace := range available {
				if namespace != "" {
					s.namespaces = append(s.namespaces, namespace.(string))
				}
			}
			s.everywhere = slices.Equal(s.namespaces, []string{"*"})
			return s
		}
	}
	if item.Namespace != "" {
		s.namespaces = []string{item.Namespace}
	}
	return s
}

// shows is section 7.2, line by line.
func (e *Entry) shows(s thing) bool {
	if e == nil {
		return true
	}
	if s.name != "" && e.Names.denies(s.name) {
		return false
	}
	if len(s.namespaces) > 0 && !s.everywhere {
		s.namespaces = slices.DeleteFunc(slices.Clone(s.namespaces), e.Namespaces.denies)
		if len(s.namespaces) == 0 {
			return false
		}
	}
	if e.HideMasters && s.master() || anyPair(e.HideByLabels, s.labels) {
		return false
	}
	if e.Names.given() && s.name == "" {
		return false
	}
	switch e.Visibility {
	case "none":
		return false
	case "all":
		return true
	}
	gate := len(e.Namespaces.Allowed) > 0
	if gate && !s.everywhere && !slices.ContainsFunc(s.namespaces, func(n string) bool { return fitsOne(e.Namespaces.Allowed, n) }) {
		return false
	}
	if fitsOne(e.Names.Allowed, s.name) {
		return true
	}
	if len(e.Labels) > 0 && allPairs(e.Labels, s.labels) {
		return true
	}
	return gate && len(e.Names.Allowed) == 0 && len(e.Labels) == 0
}

func (s thing) master() bool {
	for _, role := range []string{"master", "control-plane"} {
		if _, there := s.labels["node-role.kubernetes.io/"+role]; there || slices.Contains(s.roles, any(role)) {
			return true
		}
	}
	return false
}
