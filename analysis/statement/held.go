package statement

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// sessionsOf returns the table without the sessions of others, and the groups that those of the
// principals lend.
func sessionsOf(t *tables.Sessions, principals []string) (*tables.Sessions, []string) {
	if t == nil {
		return nil, nil
	}
	var groups []string
	others := make(map[string]*tables.Session)
	for key, s := range t.Sessions.All() {
		if !slices.Contains(principals, UserPrefix+s.User) {
			others[key] = nil
			continue
		}
		for _, group := range s.Groups {
			groups = append(groups, GroupPrefix+group)
		}
	}
	return &tables.Sessions{Sessions: t.Sessions.With(others), Debug: t.Debug, Holders: t.Holders}, tables.Once(groups)
}

// HeldBy returns the statements of one caller: what names any of its principals names the
// first one of them, and what names others alone has no subject. So the caller is a single
// principal in a comparison.
func (w *World) HeldBy(principals []string) *World {
	r := w.Whole().Revision
	r.Tables = slices.Clone(r.Tables)
	sessions, lent := sessionsOf(tables.Of[*tables.Sessions](r.Tables), principals)
	for i, table := range r.Tables {
		switch t := table.(type) {
		case *tables.Sessions:
			r.Tables[i] = sessions
		case *tables.Access:
			held := *t
			held.Subjects = tables.Subjects{Cluster: heldBy(t.Subjects.Cluster, principals, lent)}
			places := make(map[string]tables.Map[[]string])
			for place, subjects := range t.Subjects.Namespaces.All() {
				if own := heldBy(*subjects, principals, lent); own.Len() > 0 {
					places[place] = own
				}
			}
			held.Subjects.Namespaces = tables.MapOf(places)
			r.Tables[i] = &held
		case *tables.Visibility:
			held := *t
			held.Policies = slices.Clone(t.Policies)
			for j := range held.Policies {
				p := &held.Policies[j]
				names := slices.ContainsFunc(p.SubjectKeys(), func(key string) bool { return slices.Contains(principals, key) })
				p.Users, p.Groups = nil, nil
				if user, isUser := strings.CutPrefix(principals[0], UserPrefix); names && isUser {
					p.Users = []string{user}
				} else if names {
					p.Groups = []string{strings.TrimPrefix(principals[0], GroupPrefix)}
				}
			}
			r.Tables[i] = &held
		}
	}
	return NewWorld(r)
}

func heldBy(subjects tables.Map[[]string], principals, lent []string) tables.Map[[]string] {
	var keys []string
	for _, p := range principals {
		keys = append(keys, subjects.At(p)...)
	}
	rows := make(map[string][]string)
	for _, group := range lent { // for its session, even if the caller has no group of this name
		if of := subjects.At(group); len(of) > 0 {
			rows[group] = of
		}
	}
	if len(keys) > 0 {
		rows[principals[0]] = tables.Entries(keys)
	}
	return tables.MapOf(rows)
}

// Supposed returns the statements of the deny policies that a session would bring into scope
// on whatever cluster it is.
func (l *Sessions) Supposed(s *tables.Session) []*Statement {
	l.mu.Lock()
	defer l.mu.Unlock()
	anywhere := tables.Session{Name: s.Name, Owner: s.Owner, Policies: s.Policies, AnyIssuer: true}
	var out []*Statement
	for _, of := range l.brought(&anywhere) {
		made := *of
		made.Condition = l.condition(&anywhere, of)
		out = append(out, &made)
	}
	return out
}
