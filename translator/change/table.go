package change

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table returns the answer for people.
func (w *WhoCan) Table() string {
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	if len(w.Subjects) > 0 {
		fmt.Fprintln(t, "WHO\tCAN\tIF\tBECAUSE")
	} else {
		fmt.Fprintln(t, "No subject.")
	}
	byID := make(map[int]*Statement)
	for i := range w.Statements {
		byID[w.Statements[i].ID] = &w.Statements[i]
	}
	for _, s := range w.Subjects {
		var because []string
		for _, id := range s.Statements {
			because = append(because, byID[id].because())
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.Subject, s.Verdict, s.Text, strings.Join(cut(because), ", "))
	}
	t.Flush()
	var denied []string
	for _, id := range w.EverybodyDenied {
		denied = append(denied, byID[id].denial())
	}
	if len(denied) > 0 {
		fmt.Fprintf(&out, "No subject, where: %s.\n", strings.Join(denied, "; "))
	}
	w.members(&out)
	return out.String()
}

// members lists the subjects of deny rules: a member of a listed group may be one.
func (w *WhoCan) members(out *strings.Builder) {
	for _, step := range []int{3, 5} {
		var texts []string
		for i := range w.Statements {
			if s := &w.Statements[i]; s.Step == step && s.Effect == outcomeDeny {
				d := s.Documents[0]
				texts = append(texts, fmt.Sprintf("%s (%s/%s, deny, step %d)", strings.Join(cut(s.Subjects), ", "), d.Namespace, d.Name, step))
			}
		}
		if len(texts) == 0 {
			continue
		}
		unless := ""
		if step == 5 {
			unless = ", unless allowed at step 4"
		}
		fmt.Fprintf(out, "Members may be denied: %s%s.\n", strings.Join(texts, "; "), unless)
	}
}

// because names the first binding of a statement, its role's rule and its line.
func (s *Statement) because() string {
	d := s.Documents[0]
	role := ""
	if _, name, ok := strings.Cut(d.role, "/"); ok {
		role = name + " "
	}
	text := fmt.Sprintf("%s (%srule %d, %s)", documentName(d), role, d.Rule, d.Source)
	if more := len(s.Documents) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// denial names a deny policy and where it applies.
func (s *Statement) denial() string {
	d := s.Documents[0]
	what := fmt.Sprintf("%s rule %d", documentName(d), d.Rule)
	if s.Step == 2 {
		what = documentName(d) + " pod security"
	}
	return fmt.Sprintf("%s (%s, %s)", s.where(), what, d.Source)
}

// where states the scope of a deny policy's statement.
func (s *Statement) where() string {
	var parts []string
	for _, key := range []string{"clusters", "tenants", "sessions", "escalationRefs"} {
		if list, ok := s.AppliesTo[key].([]string); ok {
			parts = append(parts, strings.TrimSuffix(strings.TrimSuffix(key, "s"), "Ref")+" "+strings.Join(cut(list), ", "))
		}
	}
	rule, _ := s.Rule.(map[string]any)
	if filter, ok := rule["namespaces"].(map[string]any); ok {
		if patterns, ok := filter["patterns"].([]string); ok {
			parts = append(parts, "namespace "+strings.Join(cut(patterns), ", "))
		} else {
			parts = append(parts, "namespaces by label")
		}
	}
	if names, ok := rule["resourceNames"].([]string); ok {
		parts = append(parts, "name "+strings.Join(cut(names), ", "))
	}
	if s.Step == 2 {
		parts = append(parts, "the pod's score is too high")
	}
	if len(parts) == 0 {
		return "everywhere"
	}
	return strings.Join(parts, ", ")
}

// Table returns the answer for people.
func (w *WhatCan) Table() string {
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	if len(w.Resources) > 0 {
		fmt.Fprintln(t, "VERBS\tRESOURCES\tWHERE\tCAN\tIF\tBECAUSE")
	} else {
		fmt.Fprintln(t, "Nothing.")
	}
	for _, r := range w.Resources {
		where := "everywhere"
		if list, ok := r.Namespaces.([]string); ok {
			where = strings.Join(list, ", ")
		}
		i := slices.IndexFunc(w.Statements, func(s Statement) bool { return s.ID == r.Statements[0] })
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", strings.Join(cut(r.Verbs), ", "), r.what(), where, r.Verdict, r.Text, w.Statements[i].because())
	}
	t.Flush()
	return out.String()
}

func (r *Resource) what() string {
	what := strings.Join(cut(slices.Concat(r.Resources, r.ResourceKinds, r.NonResourceURLs)), ", ")
	if groups := slices.DeleteFunc(slices.Clone(r.APIGroups), func(g string) bool { return g == "" }); len(groups) > 0 {
		what += " (" + strings.Join(cut(groups), ", ") + ")"
	}
	return what
}
