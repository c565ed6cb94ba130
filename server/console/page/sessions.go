package page

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/tables"
)

// sessionsPath is the view of sessions and escalations.
const sessionsPath = "/page/sessions"

// Bounds of what the view of sessions shows of one list.
const (
	maxEscalations = 100
	maxListed      = 6
)

// sessionsContent is who holds what until when, and who could get it.
type sessionsContent struct {
	User, Cluster string
	States        []option
	Filtered      bool
	// Counts are all sessions by state, and All how many these are.
	Counts      []severityCount
	All         int
	EndSoon     int
	At          string
	Rows        []sessionRow
	Total       int
	First, Next string
	Escalations []escalationRow
	More        int // escalations that are left out
}

// sessionRow is a session in words.
type sessionRow struct {
	console.Session
	Badge mark
	// Holders lead to what the holders can do.
	Holders []tab
	// For is what the session lends: a group, or pods.
	For  string
	Href string // of the group; empty for pods
	// Time is the end of a session that holds, else why it does not.
	Time    string
	EndSoon bool
	// Provider says which identity provider its user comes from, empty for any.
	Provider string
	Ask      string
	More     int // holders that are left out
}

// escalationRow is an escalation in words.
type escalationRow struct {
	console.Escalation
	Request, Approve []tab
	On               string
	// Self says who may approve his own request, and Others the clusters where that differs.
	Self   string
	Others []string
}

// sessionMarks are how the states of sessions look, with the word for several sessions.
var sessionMarks = []struct {
	state string
	mark  mark
	many  string
}{
	{console.SessionHolds, mark{"allow", "check", "holds now"}, "hold now"}, {console.SessionBegins, mark{"rate", "clock", "begins later"}, "begin later"},
	{console.SessionRefused, mark{"warn", "cross", "not valid"}, "not valid"}, {console.SessionEnded, mark{"none", "minus", "ended"}, "ended"},
}

// emergency is the view of sessions and escalations.
func emergency(ctx context.Context, q *question) (frame, error) {
	asked := console.SessionsQuery{User: q.value("user"), Cluster: q.value("cluster"), State: q.value("state"), After: q.value("after")}
	found, err := q.Sessions(ctx, q.caller, asked)
	if err != nil {
		return frame{}, err
	}
	c := sessionsContent{
		User: asked.User, Cluster: asked.Cluster, Filtered: asked.User+asked.Cluster+asked.State != "", Total: found.Total, EndSoon: found.EndSoon,
		At: instant(found.At), States: []option{{Word: "any", Selected: asked.State == ""}},
	}
	for _, s := range sessionMarks {
		c.States = append(c.States, option{s.state, s.mark.Word, s.state == asked.State})
		if n := found.States[s.state]; n > 0 {
			counted := s.mark
			if c.All += n; n > 1 {
				counted.Word = s.many
			}
			c.Counts = append(c.Counts, severityCount{counted, n, withValue(sessionsPath, nil, "state", s.state)})
		}
	}
	for i := range found.Sessions {
		c.Rows = append(c.Rows, rowOfSession(&found.Sessions[i], q.now))
	}
	if found.After != "" {
		c.Next = withValue(sessionsPath, q.query, "after", found.After)
	}
	if asked.After != "" {
		c.First = withValue(sessionsPath, q.query, "after", "")
	}
	c.More = max(0, len(found.Escalations)-maxEscalations)
	for i := range found.Escalations[:len(found.Escalations)-c.More] {
		c.Escalations = append(c.Escalations, rowOfEscalation(&found.Escalations[i]))
	}
	return frame{Title: "Sessions", Lead: "Emergency access: who holds what until when, and who could get it.", Live: "revision", Content: c}, nil
}

func rowOfSession(s *console.Session, now time.Time) sessionRow {
	row := sessionRow{Session: *s, Time: why(s.Why), More: max(0, len(s.Users)-maxListed)}
	for _, m := range sessionMarks {
		if m.state == s.State {
			row.Badge = m.mark
		}
	}
	for _, user := range s.Users[:len(s.Users)-row.More] {
		row.Holders = append(row.Holders, tab{Name: accountName(user), Href: subjectHref(tables.User(user))})
	}
	row.For, row.Href = "group "+s.Group, subjectHref(tables.Group(s.Group))
	if s.Group == "" {
		row.For, row.Href = strings.Join(s.Subresources, ", ")+" of "+listed(s.Pods, "no pod"), ""
	}
	if s.State == console.SessionHolds {
		row.Time = "without an end"
		if at, err := console.ParseTime(s.Until); err == nil {
			row.Time, row.EndSoon = "until "+instant(s.Until)+", "+age(at.Sub(now))+" left", !at.After(now.Add(24*time.Hour))
		}
	}
	if s.Issuer != nil {
		row.Provider = "for requests that state no identity provider"
		if *s.Issuer != "" {
			row.Provider = "for users of " + *s.Issuer
		}
	}
	if len(s.Request) > 0 {
		row.Ask = askHref("access", s.Request)
	}
	return row
}

// why is why a session does not hold, with its time as the view writes times.
func why(text string) string {
	for _, word := range []string{"begins ", "ended "} {
		if at, ok := strings.CutPrefix(text, word); ok {
			return word + instant(at)
		}
	}
	return text
}

// timeForm is how the view writes times of documents, to the second.
const timeForm = "2 Jan 2006 15:04:05 UTC"

// instant is a time of documents.
func instant(text string) string {
	at, err := console.ParseTime(text)
	if err != nil {
		return text
	}
	return at.UTC().Format(timeForm)
}

// listed is a list of at most maxListed names, and none for an empty one.
func listed(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	if n := len(list) - maxListed; n > 0 {
		return strings.Join(list[:maxListed], ", ") + " and " + number(n) + " more"
	}
	return strings.Join(list, ", ")
}

func rowOfEscalation(e *console.Escalation) escalationRow {
	row := escalationRow{Escalation: *e, On: listed(e.Clusters, "no cluster"), Self: selfWords(e.SelfApproval, e.Domains)}
	add := func(to *[]tab, kind string, names []string) {
		for _, name := range names {
			*to = append(*to, tab{Name: kind + " " + name, Href: subjectHref(kind + ":" + name)})
		}
	}
	add(&row.Request, "group", e.Request.Groups)
	add(&row.Approve, "group", e.Approve.Groups)
	add(&row.Approve, "user", e.Approve.Users)
	for _, on := range e.PerCluster {
		if on.SelfApproval != e.SelfApproval || !slices.Equal(on.Domains, e.Domains) {
			row.Others = append(row.Others, "on "+on.Cluster+": "+selfWords(on.SelfApproval, on.Domains))
		}
	}
	return row
}

// selfWords says whether a requester may approve, and of which domains approvers must be.
func selfWords(self bool, domains []string) string {
	text := "two persons"
	if self {
		text = "one person may do both"
	}
	if len(domains) > 0 {
		text += ", approvers of @" + listed(domains, "")
	}
	return text
}

// ending is what the clock changes, in words.
type ending struct{ Holds, EndSoon, Next string }

// endingOf is what the overview says of dates, nil if the documents have none.
func endingOf(s *console.Status) *ending {
	d := &s.Dated
	if d.Documents+d.Sessions+d.DebugSessions == 0 && d.Next == nil {
		return nil
	}
	out := &ending{Holds: plural(d.Sessions, "session") + " and " + plural(d.DebugSessions, "debug session") + " hold now"}
	switch {
	case d.EndSoon == 1:
		out.EndSoon = "1 document or session in force ends"
	case d.EndSoon > 1:
		out.EndSoon = number(d.EndSoon) + " documents and sessions in force end"
	}
	if d.Next != nil {
		out.Next = d.Next.UTC().Format(timeForm)
	}
	return out
}
