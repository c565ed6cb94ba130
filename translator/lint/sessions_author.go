package lint

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/session"
	"github.com/writ-policy/writ/translator/tables"
)

// SessionEscalation returns a diagnostic for each session that is new or changed compared with
// the base and gives what the author does not have: a BreakglassSession all that is bound to
// its group, a DebugSession the right to enter pods before every denial, which no role gives.
// If base is nil, every session is new.
func SessionEscalation(d *directory.Directory, now, base tables.List, author Author, at dates.Instant) diag.List {
	sessions, before := tables.Of[*tables.Sessions](now), tables.OrEmpty(tables.Of[*tables.Sessions](base))
	if sessions == nil || sessions.IsEmpty() {
		return nil
	}
	access := tables.Of[*tables.Access](now)
	held := now
	if base != nil {
		held = base
	}
	permissions := newPermissions(tables.Of[*tables.Access](held), tables.Of[*tables.Deny](held), author, at)
	c := &escalation{access: access, author: author, held: permissions}
	granted := make(map[string][]tables.Holding)
	for h := range access.Holdings() {
		granted[h.Subject] = append(granted[h.Subject], h)
	}
	for _, s := range directory.DocumentsOf[*session.BreakglassSession](d) {
		row, was := sessions.Sessions.At(s.Name), before.Sessions.At(s.Name)
		if row.MayHold() && row.Namespace == s.Namespace && !row.Same(was) {
			c.session(s.At, &row, granted)
		}
	}
	type named struct{ namespace, name string }
	changed := make(map[named]bool)
	for key, row := range sessions.Debug.All() {
		changed[named{row.Namespace, row.Name}] = !row.Same(before.Debug.At(key))
	}
	for _, s := range directory.DocumentsOf[*session.DebugSession](d) {
		if changed[named{s.Namespace, s.Name}] {
			c.list.Add(diag.Diagnostic{
				Position: s.At,
				Code:     diag.Escalation,
				Message:  fmt.Sprintf("DebugSession %q lets its participants into pods before every denial, which %s cannot grant", s.Name, c.author),
				Hint:     "debug sessions are made by a cluster, not by documents",
			})
		}
	}
	return c.list.Sorted()
}

// session checks what is granted to the groups of a session, in the scope of each binding.
func (c *escalation) session(at diag.Position, s *tables.Session, granted map[string][]tables.Holding) {
	var missing []string
	for _, group := range s.Groups {
		for _, h := range granted[tables.Group(group)] {
			role := c.access.Roles.At(h.Binding.Role)
			lacks := slices.Concat(c.missing(role, h.Namespace)...)
			if len(lacks) > 0 && !c.may(c.questionFor(role, "bind", h.Namespace)) {
				missing = append(missing, lacks...)
			}
		}
	}
	if len(missing) == 0 {
		return
	}
	slices.Sort(missing)
	c.list.Add(diag.Diagnostic{
		Position: at,
		Code:     diag.Escalation,
		Message: fmt.Sprintf("%s does not have what BreakglassSession %q gives user %q on cluster %q through group %q: %s",
			c.author, s.Name, s.User, s.Cluster, s.Groups[0], enumerate(missing)),
		Hint: "an author who has these permissions, or who may bind the roles of the group, can make the change",
	})
}
