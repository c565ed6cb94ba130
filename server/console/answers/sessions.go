package answers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// The kinds of sessions.
const (
	kindSession = "BreakglassSession"
	kindDebug   = "DebugSession"
)

// sessionRow is a session with the row of its table, one of the two.
type sessionRow struct {
	console.Session
	lent  *tables.Session
	debug *tables.DebugSession
}

// sessionOrder are the states in the order of their sessions.
var sessionOrder = []string{console.SessionHolds, console.SessionBegins, console.SessionRefused, console.SessionEnded}

// Sessions implements console.Viewer.
func (v *viewer) Sessions(ctx context.Context, c console.Caller, q console.SessionsQuery) (*console.Sessions, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	if q.State != "" && !slices.Contains(sessionOrder, q.State) {
		return nil, &console.Error{
			Reason:  console.Invalid,
			Field:   "state",
			Message: "state must be one of " + strings.Join(sessionOrder, ", "),
		}
	}
	now := v.x.o.Now()
	at, soon := dates.Of(now), dates.Of(now.Add(24*time.Hour)).String()
	out := &console.Sessions{
		Sessions: []console.Session{}, States: make(map[string]int), At: at.String(), Revision: v.Revision(),
		Escalations: question.EscalationsOf(v.revision.tables, "", q.Cluster, at).Escalations,
	}
	for _, state := range sessionOrder {
		out.States[state] = 0
	}
	rows := sessionRows(tables.Of[*tables.Sessions](v.revision.tables), at)
	for i := range rows {
		row := &rows[i]
		out.States[row.State]++
		if row.State == console.SessionHolds && row.Until != "" && compareTimes(row.Until, soon) <= 0 {
			out.EndSoon++
		}
	}
	rows = slices.DeleteFunc(rows, func(s sessionRow) bool {
		return q.State != "" && s.State != q.State || q.Cluster != "" && s.Cluster != q.Cluster ||
			q.User != "" && !slices.ContainsFunc(s.Users, func(user string) bool { return has(user, q.User) })
	})
	slices.SortFunc(rows, compareSessions)
	from, to, after, err := page(len(rows), q.Limit, q.After)
	if err != nil {
		return nil, err
	}
	out.Total, out.After = len(rows), after
	f := &sessionRequests{policies: v.policies.At(now), lent: make(map[string][]map[string]any)}
	f.asker = v.asker(f.policies)
	for i := range rows[from:to] {
		f.find(ctx, &rows[from+i])
		out.Sessions = append(out.Sessions, rows[from+i].Session)
	}
	return out, nil
}

// sessionRows are all sessions, with their states at an instant.
func sessionRows(t *tables.Sessions, at dates.Instant) (rows []sessionRow) {
	if t == nil {
		return nil
	}
	for _, s := range t.Sessions.All() {
		row := console.Session{
			Kind: kindSession, Namespace: s.Namespace, Name: s.Name, Users: []string{s.User}, Cluster: s.Cluster, Group: s.Groups[0],
			Why: s.Invalid(at), From: s.Dates.Begin(), Until: s.Dates.End(), Escalation: s.Owner, DenyPolicies: s.Policies, Source: s.Source,
		}
		if !s.AnyIssuer {
			row.Issuer = &s.Issuer
		}
		if row.State = console.SessionRefused; s.MayHold() {
			row.State = stateAt(s.Dates, at)
		}
		rows = append(rows, sessionRow{Session: row, lent: s})
	}
	for _, s := range t.Debug.All() {
		row := console.Session{
			Kind: kindDebug, Namespace: s.Namespace, Name: s.Name, Users: []string{}, Cluster: s.Cluster, Subresources: s.Subresources,
			State: stateAt(s.Dates, at), Why: s.Dates.Status(at), From: s.Dates.Begin(), Until: s.Dates.End(), Source: s.Source,
		}
		for _, p := range s.Participants {
			row.Users = append(row.Users, p.User)
		}
		for _, p := range s.Pods {
			row.Pods = append(row.Pods, p.Namespace+"/"+p.Name)
		}
		rows = append(rows, sessionRow{Session: row, debug: s})
	}
	return rows
}

// stateAt is the state of a session that is valid in a period.
func stateAt(p *dates.Period, at dates.Instant) string {
	switch {
	case p.Holds(at):
		return console.SessionHolds
	case p.Never:
		return console.SessionRefused
	case p.From != nil && at < *p.From:
		return console.SessionBegins
	}
	return console.SessionEnded
}

// compareTimes orders instants as text, which may have fractions. None is after all.
func compareTimes(a, b string) int {
	if a == "" || b == "" {
		return strings.Compare(b, a)
	}
	x, err := dates.Parse(a)
	y, other := dates.Parse(b)
	if err != nil || other != nil {
		return strings.Compare(a, b)
	}
	return x.Compare(y)
}

func compareSessions(a, b sessionRow) int {
	time := 0
	switch a.State {
	case console.SessionHolds:
		time = compareTimes(a.Until, b.Until)
	case console.SessionBegins:
		time = compareTimes(a.From, b.From)
	case console.SessionEnded:
		time = compareTimes(b.Until, a.Until)
	}
	return cmp.Or(
		cmp.Compare(slices.Index(sessionOrder, a.State), slices.Index(sessionOrder, b.State)),
		time, strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind),
	)
}

// sessionRequests finds requests that sessions allow.
type sessionRequests struct {
	asker    *question.Asker // nil if the tables do not suffice
	policies decision.Policies
	// lent are requests that a group is allowed, by cluster and group.
	lent map[string][]map[string]any
}

// Bounds of the requests of a page: those that are tried for a session, and the groups for
// which they are looked for: no fewer than a page has.
const (
	maxTried      = 20
	maxLentGroups = defaultRows
)

// find fills in the request of a session that holds.
func (f *sessionRequests) find(ctx context.Context, row *sessionRow) {
	if row.State != console.SessionHolds {
		return
	}
	for _, object := range f.tried(ctx, row) {
		request := jsontext.Marshal(object)
		r, err := decision.Decode[decision.Request](request)
		if err != nil {
			continue
		}
		if d := f.policies.Access(ctx, r); d.Allowed && isBecauseOf(&d, row) {
			row.Request = request
			return
		}
	}
}

// isBecauseOf reports whether a decision is made because of a session.
func isBecauseOf(d *decision.Decision, row *sessionRow) bool {
	if row.debug != nil {
		return len(d.Matched) > 0 && d.Matched[0].Kind == kindDebug && d.Matched[0].Namespace == row.Namespace && d.Matched[0].Name == row.Name
	}
	return slices.ContainsFunc(d.Matched, func(m decision.Matched) bool {
		return slices.ContainsFunc(m.Via, func(via decision.Via) bool { return via.Name == row.Name })
	})
}

// tried are requests that a session may allow.
func (f *sessionRequests) tried(ctx context.Context, row *sessionRow) (list []map[string]any) {
	if row.debug != nil {
		for _, pod := range row.debug.Pods {
			for _, user := range row.Users {
				for _, sub := range row.Subresources {
					if len(list) < maxTried {
						list = append(list, map[string]any{
							"user": user, "cluster": row.Cluster, "verb": "create", "resource": "pods", "subresource": sub, "namespace": pod.Namespace, "name": pod.Name,
						})
					}
				}
			}
		}
		return list
	}
	key := row.Cluster + " " + strings.Join(row.lent.Groups, " ")
	if _, known := f.lent[key]; !known && len(f.lent) < maxLentGroups {
		f.lent[key] = f.allowed(ctx, row.lent)
	}
	for _, example := range f.lent[key] {
		object := maps.Clone(example)
		delete(object, "groups")
		object["user"], object["cluster"] = row.lent.User, row.Cluster
		list = append(list, object)
	}
	return list
}

// allowed are requests that the groups of a session are allowed on its cluster.
func (f *sessionRequests) allowed(ctx context.Context, s *tables.Session) (list []map[string]any) {
	if f.asker == nil {
		return nil
	}
	q := &question.Question{Groups: s.Groups, Stated: map[string]any{"cluster": s.Cluster}}
	for _, key := range append(question.Facts(), "path", "verb", "apiGroup", "resource", "subresource", "name", "namespace") {
		if key != "cluster" {
			q.Open = append(q.Open, key)
		}
	}
	answer, err := f.asker.WhatCan(ctx, q)
	if err != nil {
		return nil // too complex, or too late: the session is shown without a request
	}
	for i := range answer.Resources {
		if example := answer.Resources[i].Example; example != nil && len(list) < maxTried {
			list = append(list, example)
		}
	}
	return list
}
