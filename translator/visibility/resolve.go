package visibility

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

// resolution is the monitor access policies and metric sources of a directory,
// in the order of positions.
type resolution struct {
	MonitorAccessPolicies []*MonitorAccessPolicy
	MetricSources         []*MetricSource
}

// resolver resolves the references of one directory.
type resolver struct {
	*directory.Directory
	out *resolution
}

// resolve follows the references of monitor access policies to metric sources, and warns
// about policies whose order depends on their names alone.
func resolve(d *directory.Directory) *resolution {
	r := &resolver{d, &resolution{
		MonitorAccessPolicies: directory.DocumentsOf[*MonitorAccessPolicy](d),
		MetricSources:         directory.DocumentsOf[*MetricSource](d),
	}}
	sources := r.sourcesByType()
	seen := make(map[ranked]*MonitorAccessPolicy)
	for _, p := range r.out.MonitorAccessPolicies {
		for i := range p.Rules {
			for j := range p.Rules[i].Entries {
				r.visibilityEntry(&p.Rules[i].Entries[j], sources)
			}
		}
		r.equalPriority(p, seen)
	}
	return r.out
}

// sourcesByType returns the metric source that defines each type, and reports further
// sources of the same type.
func (r *resolver) sourcesByType() map[string]*MetricSource {
	sources := make(map[string]*MetricSource)
	for _, s := range r.out.MetricSources {
		if s.Type.Value == "" {
			continue
		}
		first, taken := sources[s.Type.Value]
		if !taken {
			sources[s.Type.Value] = s
			continue
		}
		d := s.Type.Diagnostic(diag.Error, diag.RepeatedName, "give it a name of its own", "resourceTypeName %q is that of %s already; see %s",
			s.Type.Value, directory.Title(&first.Header), first.Type.At.Source())
		d.Related = []diag.Related{{Position: first.Type.At, Message: "the first is here"}}
		r.List.Add(d)
	}
	return sources
}

// visibilityEntry checks the entry of a type against the source that defines the type.
func (r *resolver) visibilityEntry(e *VisibilityEntry, sources map[string]*MetricSource) {
	if isStandardType(e.Type.Value) {
		return
	}
	source := sources[e.Type.Value]
	if source == nil {
		r.undefinedType(e, sources)
		return
	}
	for _, f := range e.Fields {
		if slices.Contains(source.Filterable, f.Field.Value) {
			continue
		}
		hint := diag.Meant(f.Field.Value, source.Filterable, "add it to filterableFields of the MetricSource")
		r.List.Add(f.Field.Diagnostic(diag.Error, diag.UnfilterableField, hint, "field %q is not in filterableFields of %s", f.Field.Value, directory.Title(&source.Header)))
	}
	r.knownAggregations("include", e.Include, source)
	r.knownAggregations("exclude", e.Exclude, source)
}

// undefinedType reports a custom type that no source defines. A type whose name is close
// to a standard type is an error, because as a custom type it would hide nothing.
func (r *resolver) undefinedType(e *VisibilityEntry, sources map[string]*MetricSource) {
	if standard := nearlyStandard(e.Type.Value); standard != "" {
		r.List.Add(e.Type.Diagnostic(diag.Error, diag.BadValue, fmt.Sprintf("did you mean %q?", standard),
			"type %q is not the standard type %q, and no MetricSource defines it", e.Type.Value, standard))
		return
	}
	if r.IsUndecoded(e.Type.At, kindMetricSource, "") || r.Partial {
		return // what is not known may define the type
	}
	hint := "declare a MetricSource with this resourceTypeName"
	if r.MaySuggest() {
		hint = diag.Meant(e.Type.Value, slices.Sorted(maps.Keys(sources)), hint)
	}
	r.List.Add(e.Type.Diagnostic(diag.Warning, diag.UnknownType, hint, "no MetricSource defines the custom type %q", e.Type.Value))
}

// nearlyStandard returns the standard type that differs from a name only in case or
// number, or "".
func nearlyStandard(name string) string {
	lowered := strings.ToLower(name)
	for _, candidate := range []string{lowered, lowered + "s"} {
		if isStandardType(candidate) {
			return candidate
		}
	}
	return ""
}

func (r *resolver) knownAggregations(list string, names []syntax.Text, source *MetricSource) {
	for _, name := range names {
		if slices.ContainsFunc(source.Aggregations, func(a Aggregation) bool { return a.Name == name.Value }) {
			continue
		}
		if r.Partial {
			continue // the source may be invalid and not in the list
		}
		hint := "names are compared as a whole"
		if r.MaySuggest() {
			hint = diag.Meant(name.Value, elements.Map(source.Aggregations, func(a Aggregation) string { return a.Name }), hint)
		}
		r.List.Add(name.Diagnostic(diag.Warning, diag.UnknownAggregation, hint, "%s names %q, which is not an aggregation of %s", list, name.Value, directory.Title(&source.Header)))
	}
}

// ranked is a subject with the priority of a policy.
type ranked struct {
	priority int
	subject  string
}

// equalPriority warns about a policy with the same subject and priority as an earlier
// one. Disabled policies are not compared.
func (r *resolver) equalPriority(p *MonitorAccessPolicy, seen map[ranked]*MonitorAccessPolicy) {
	if p.Disabled {
		return
	}
	var first *MonitorAccessPolicy
	shared := ""
	for _, subject := range visibilitySubjects(p) {
		key := ranked{p.Priority, subject}
		other, taken := seen[key]
		if !taken {
			seen[key] = p
		} else if first == nil && other != p {
			first, shared = other, subject
		}
	}
	if first == nil {
		return
	}
	r.List.Add(diag.Diagnostic{
		Position: p.PriorityAt,
		Severity: diag.Warning,
		Code:     diag.EqualPriority,
		Message: fmt.Sprintf("%s has the priority %d of %s at %s, and both are about %s: their names decide which is first",
			directory.Title(&p.Header), p.Priority, directory.Title(&first.Header), first.PriorityAt.Source(), shared),
		Hint:    "give one of them another priority",
		Related: []diag.Related{{Position: first.PriorityAt, Message: "the first is here"}},
	})
}

// visibilitySubjects returns the subjects of a policy for messages, a service account by
// its user name.
func visibilitySubjects(p *MonitorAccessPolicy) []string {
	out := elements.Map(p.Users, func(user syntax.Text) string { return fmt.Sprintf("user %q", user.Value) })
	for _, account := range p.ServiceAccounts {
		out = append(out, fmt.Sprintf("user %q", account.User()))
	}
	return append(out, elements.Map(p.Groups, func(group syntax.Text) string { return fmt.Sprintf("group %q", group.Value) })...)
}
