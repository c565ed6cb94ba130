package question

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// Session is a BreakglassSession that is valid at the time of an answer, for some request of
// the question: the user holds the group on the cluster too. A session that lends several
// groups is listed with each.
type Session struct {
	Session string `json:"session"`
	User    string `json:"user"`
	Group   string `json:"group"`
	Cluster string `json:"cluster"`
	// Issuer is the only issuer of requests that the session is for, nil for any.
	Issuer *string `json:"issuer"`
	From   string  `json:"from,omitempty"`
	Until  string  `json:"until,omitempty"`
}

// Via is a session through which a subject is allowed something.
type Via struct {
	Session string `json:"session"`
	Until   string `json:"until,omitempty"`
}

// fitting returns those sessions of a user that fit some request of the question.
func (q *Question) fitting(sessions []*tables.Session) []*tables.Session {
	cluster := q.text("cluster")
	if !q.open["cluster"] {
		if cluster = cmp.Or(q.cluster, cluster); cluster == "" {
			return nil
		}
	}
	issuer := statement.IssuerOf(q.Stated)
	return slices.DeleteFunc(slices.Clone(sessions), func(s *tables.Session) bool { return !statement.IsOf(s, cluster, issuer) })
}

// lend adds what sessions give to their users: statements of their groups that fit the
// question, deny policies that they bring into scope, and pods of DebugSessions.
func (f *fitting) lend(q *Question, l *statement.Sessions) *fitting {
	seen := make(map[*statement.Statement]bool) // a DebugSession has several users
	for _, user := range l.Users() {
		var given []*statement.Statement
		for _, s := range q.fitting(l.Of(user)) {
			f.sessions = append(f.sessions, s)
			for _, group := range s.Groups {
				for _, of := range f.by[statement.GroupPrefix+group] {
					given = append(given, l.Lend(s, of))
				}
			}
			given = append(given, l.Denials(s)...)
		}
		for _, s := range append(given, l.Debug(user)...) {
			if !f.fits(q, s) {
				continue
			}
			if !slices.Contains(f.by[user], s) { // of two groups of a binding
				f.by[user] = append(f.by[user], s)
			}
			if !s.IsLent() && !seen[s] {
				seen[s] = true
				f.all = append(f.all, s)
			}
		}
	}
	return f
}

// sessionsOf lists sessions, each with every group that it lends.
func sessionsOf(list []*tables.Session) []Session {
	out := []Session{}
	for _, s := range list {
		for _, group := range s.Groups {
			one := Session{Session: s.Name, User: s.User, Group: group, Cluster: s.Cluster, From: s.Dates.Begin(), Until: s.Dates.End()}
			if !s.AnyIssuer {
				one.Issuer = &s.Issuer
			}
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Group, b.Group))
	})
	return out
}

// viaOf returns the sessions that lend one of some allow statements, by name.
func viaOf(own []*statement.Statement) []Via {
	var sessions []*tables.Session
	for _, s := range own {
		switch {
		case s.Effect != statement.OutcomeAllow, s.Session == nil:
		case !slices.Contains(sessions, s.Session):
			sessions = append(sessions, s.Session)
		}
	}
	slices.SortFunc(sessions, func(a, b *tables.Session) int { return strings.Compare(a.Name, b.Name) })
	return elements.Map(sessions, func(s *tables.Session) Via { return Via{s.Name, s.Dates.End()} })
}

// untilOf returns when the first of some statements, or of the sessions that lend them,
// begins or ends; empty if none does.
func untilOf(own []*statement.Statement, at dates.Instant) string {
	var span dates.Span
	for _, s := range own {
		span = span.Around(at, s.Dates)
		if s.Session != nil {
			span = span.Around(at, s.Session.Dates)
		}
	}
	if span.End == nil {
		return ""
	}
	return span.End.String()
}
