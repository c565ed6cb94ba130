package question

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// Table returns the answer for people.
func (w *WhoCan) Table() string {
	var out diag.Lines
	var rows [][]string
	if len(w.Subjects) > 0 {
		rows = append(rows, []string{"WHO", "CAN", "IF", "BECAUSE"})
	} else {
		out.Addf("No subject.")
	}
	byID := make(map[int]*statement.JSON)
	for i := range w.Statements {
		byID[w.Statements[i].ID] = &w.Statements[i]
	}
	for _, s := range w.Subjects {
		because := elements.Map(s.Statements, func(id int) string { return w.because(byID[id], s.Subject) })
		rows = append(rows, []string{s.Subject, s.Verdict, s.Text, strings.Join(statement.Shorten(because), ", ")})
	}
	out.AddTable(rows)
	denied := elements.Map(w.EverybodyDenied, func(id int) string { return byID[id].Denial() + untilText(byID[id]) })
	if len(denied) > 0 {
		who := "No subject"
		if slices.ContainsFunc(w.Statements, func(s statement.JSON) bool { return s.IsDebug() }) {
			who = "No subject without a DebugSession"
		}
		out.Addf("%s, where: %s.", who, strings.Join(denied, "; "))
	}
	w.members(&out)
	w.potentialText(&out)
	return completed(out.String())
}

// because names what grants a statement to a subject: a document, or a session of the subject
// and a document for its group.
func (w *WhoCan) because(s *statement.JSON, subject string) string {
	if s.IsFor([]string{subject}) {
		return s.Because([]string{subject}) + untilText(s)
	}
	return viaText(w.Sessions, s, subject)
}

// viaText names the sessions of a user that lend a statement, and its first document.
func viaText(sessions []Session, s *statement.JSON, user string) string {
	var texts []string
	for _, session := range sessions {
		group := []string{statement.GroupPrefix + session.Group}
		if statement.UserPrefix+session.User != user || !s.IsFor(group) {
			continue
		}
		text := "session " + session.Session
		if session.Until != "" {
			text += " until " + session.Until
		}
		texts = append(texts, fmt.Sprintf("%s (%s%s)", text, s.Granted(group), untilText(s)))
	}
	return "via " + strings.Join(texts, " and ")
}

// members lists the subjects of deny rules: a member of a listed group may be one.
func (w *WhoCan) members(out *diag.Lines) {
	for _, step := range []int{3, 5} {
		var texts []string
		for i := range w.Statements {
			s := &w.Statements[i]
			if int(s.Step) != step || s.Effect != statement.OutcomeDeny {
				continue
			}
			names := elements.Map(s.Documents, func(d statement.Document) string { return d.Namespace + "/" + d.Name })
			texts = append(texts, fmt.Sprintf("%s (%s, deny, step %d)", strings.Join(statement.Shorten(s.Subjects), ", "),
				strings.Join(statement.Shorten(tables.Once(names)), ", "), step))
		}
		if len(texts) == 0 {
			continue
		}
		unless := ""
		if step == 5 {
			unless = ", unless allowed at step 4"
		}
		out.Addf("Members may be denied: %s%s.", strings.Join(texts, "; "), unless)
	}
}

// Table returns the answer for people.
func (w *WhatCan) Table() string {
	var out diag.Lines
	var rows [][]string
	if len(w.Resources) > 0 {
		rows = append(rows, []string{"VERBS", "RESOURCES", "WHERE", "CAN", "IF", "BECAUSE"})
	} else {
		out.Addf("Nothing.")
	}
	for _, r := range w.Resources {
		where := "everywhere"
		if list, ok := r.Namespaces.([]string); ok {
			where = strings.Join(list, ", ")
		}
		i := slices.IndexFunc(w.Statements, func(s statement.JSON) bool { return s.ID == r.Statements[0] })
		rows = append(rows, []string{strings.Join(statement.Shorten(r.Verbs), ", "), r.what(), where, r.Verdict, r.Text, w.because(&r, &w.Statements[i])})
	}
	out.AddTable(rows)
	return completed(out.String())
}

// because names what grants a rule to the subject.
func (w *WhatCan) because(r *Resource, s *statement.JSON) string {
	if r.Via == nil {
		return s.Because(w.Question.holders()) + untilText(s)
	}
	lending := slices.DeleteFunc(slices.Clone(w.Sessions), func(of Session) bool {
		return !slices.ContainsFunc(r.Via, func(v Via) bool { return v.Session == of.Session })
	})
	return viaText(lending, s, w.Question.holders()[0])
}

// andMore is the end of a list that statement.Shorten shortened, and of Because.
var andMore = regexp.MustCompile(`\band \d+ more\b`)

// completed states what lists all if a list of a table is shortened.
func completed(table string) string {
	if andMore.MatchString(table) {
		table += "-o json lists all that \"more\" stands for.\n"
	}
	return table
}

// untilText states when a statement ends, empty for one that does not.
func untilText(s *statement.JSON) string {
	if s.Until == "" {
		return ""
	}
	return " until " + s.Until
}

func (r *Resource) what() string {
	if len(r.NonResourceURLs) > 0 {
		return "paths " + strings.Join(statement.Shorten(r.NonResourceURLs), ", ")
	}
	what := strings.Join(statement.Shorten(slices.Concat(r.Resources, r.ResourceKinds)), ", ")
	groups := slices.DeleteFunc(slices.Clone(r.APIGroups), func(g string) bool { return g == "" })
	switch {
	case slices.Contains(groups, "*"):
		what += " (every API group)"
	case len(groups) > 0:
		what += " (" + strings.Join(statement.Shorten(groups), ", ") + ")"
	}
	return what
}
