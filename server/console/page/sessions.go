package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
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
	States        []piece.Option
	Filtered      bool
	// Counts are all sessions by state, and All how many these are.
	Counts  []severityCount
	All     int
	EndSoon int
	At      string
	Rows    []sessionRow
	Total   int
	pager
	Escalations []escalationRow
	More        int // escalations that are left out
}

// sessionRow is a session in words.
type sessionRow struct {
	console.Session
	Badge piece.Mark
	// Holders lead to what the holders can do.
	Holders []piece.Tab
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
	Request, Approve []piece.Tab
	On               string
	// Self says who may approve his own request, and Others the clusters where that differs.
	Self   string
	Others []string
}

func (c *sessionsContent) html() h.Node {
	cluster := piece.Input{Key: "cluster", Label: "Cluster", Value: c.Cluster, Names: "cluster"}
	on := ""
	if c.Cluster != "" {
		on = " on " + c.Cluster
	}
	return piece.Div("stack",
		piece.Ask(sessionsPath, "card line", "Filter", words("user", "User", c.User), cluster.HTML(), piece.Select("field", "state", "State", c.States), h.Button(h.Text("Filter"))),
		h.If(c.All > 0, h.Ul(h.Class("key"), h.Aria("label", "Sessions by state"), piece.Each(c.Counts, (*severityCount).html), h.Li(h.Text(c.endSoon()+", as of "+c.At)))),
		piece.Titled("sessions", piece.Heading("Who holds what", piece.Plural(c.Total, "session")), c.holding()),
		piece.Titled("escalations", piece.Heading("Who could get it", piece.Plural(len(c.Escalations), "escalation")+on), c.offered()))
}

// endSoon says how many sessions end within a day.
func (c *sessionsContent) endSoon() string {
	switch c.EndSoon {
	case 0:
		return "none ends within a day"
	case 1:
		return "1 of those that hold ends within a day"
	}
	return piece.Number(c.EndSoon) + " of those that hold end within a day"
}

// holding is the sessions, or why none is shown.
func (c *sessionsContent) holding() h.Node {
	switch {
	case len(c.Rows) > 0:
		return h.Group{
			h.Table(h.Class("stacked sessions"), piece.LabelledBy("sessions"),
				piece.Head(piece.Columns("State", "Who", "What", "Cluster", "Time", "Session"), piece.HiddenColumn("Ask")),
				h.TBody(piece.Each(c.Rows, (*sessionRow).html))),
			c.links(),
		}
	case c.Filtered && c.All > 0:
		return piece.P("muted", h.Text("No session fits this filter. "), piece.A(sessionsPath, h.Text("Show all")))
	}
	return piece.P("muted", h.Text("No session holds: the documents have no BreakglassSession and no active DebugSession."))
}

// below is a note on a line of its own.
func below(text string) h.Node { return h.Group{h.Br(), piece.Note("small muted", text)} }

func withDenyPolicies(names []string) h.Node {
	return h.If(len(names) > 0, below("with the deny policies "+strings.Join(names, ", ")))
}

func (r *sessionRow) html() h.Node {
	lent := h.Text(r.For)
	if r.Href != "" {
		lent = piece.A(r.Href, lent)
	}
	holds := r.State == console.SessionHolds
	return h.Tr(h.If(!holds, h.Class("lost")), piece.Td("nowrap", r.Badge.Pill()), piece.RowHead(
		piece.Join(", ", r.Holders, func(t *piece.Tab) h.Node { return piece.A(t.Href, piece.Breakable(t.Name)) }),
		h.If(len(r.Holders) == 0, h.Text("no participant")), andMore(r.More)),
		piece.Td("what", lent, withDenyPolicies(r.DenyPolicies), h.If(holds && r.Ask == "", below("no request was found that it allows"))),
		h.Td(piece.Note("narrow muted", "on "), h.Text(r.Cluster)),
		piece.Td("cause", h.Text(r.Time), h.If(r.EndSoon, h.Group{h.Text(" "), piece.Note("pill warn", "within a day")}), h.If(r.Provider != "", below(r.Provider))),
		piece.Td("small by", h.Text(tables.Title(r.Kind, r.Namespace, r.Name)), h.Br(), piece.Place(r.Source),
			h.If(r.Escalation != "", h.Group{h.Br(), piece.Note("muted", "through "+r.Escalation)})),
		piece.Td("nowrap", h.Iff(r.Ask != "", func() h.Node { return piece.A(r.Ask, h.Text("Ask"), piece.Note("hidden", " for "+r.Users[0])) })))
}

// offered is the escalations, or why none is shown.
func (c *sessionsContent) offered() h.Node {
	switch {
	case len(c.Escalations) > 0:
		return h.Group{
			h.Table(h.Class("stacked escalations"), piece.LabelledBy("escalations"),
				piece.Head(piece.Columns("Escalation", "Lends", "On", "May request", "May approve", "Hold now")), h.TBody(piece.Each(c.Escalations, (*escalationRow).html))),
			h.If(c.More > 0, piece.P("muted", h.Text(piece.Plural(c.More, "escalation")+" more: writ escalations lists all."))),
		}
	case c.Cluster != "":
		return piece.P("muted", h.Text("No escalation can be requested on "+c.Cluster+". "), piece.A(sessionsPath, h.Text("Show all clusters")))
	}
	return piece.P("muted", h.Text("No group can be requested: the documents have no BreakglassEscalation. "), piece.A(whoCanPath, h.Text("Who can")), h.Text(" has what is granted without one."))
}

func (r *escalationRow) html() h.Node {
	held := piece.Span("pill", h.Text("none"), piece.Note("narrow", "\u00a0hold it"))
	if r.Sessions > 0 {
		held = piece.A(sessionsPath+"?state=holds", h.Text(piece.Number(r.Sessions)), piece.Note("narrow", " hold it"))
	}
	return h.Tr(
		piece.RowHead(h.Text(tables.FullName(r.Namespace, r.Name)), h.Br(), piece.Span("small", piece.Place(r.Source)),
			h.If(r.Ready != nil && !*r.Ready, h.Group{h.Text(" "), piece.Note("pill warn", "not ready: cannot be requested")})),
		h.Td(piece.A(subjectHref("group:"+r.Group), h.Text("group "+r.Group)), withDenyPolicies(r.DenyPolicies)),
		h.Td(piece.Note("narrow muted", "on "), h.Text(r.On)),
		piece.Td("cause", piece.Note("narrow muted", "requested by "), subjects(r.Request, r.Escalation.Request.IdentityProviders)),
		piece.Td("cause", piece.Note("narrow muted", "approved by "), subjects(r.Approve, r.Escalation.Approve.IdentityProviders),
			below(r.Self), piece.Each(r.Others, func(text *string) h.Node { return below(*text) }),
			h.If(len(r.Both) > 0, h.Group{h.Br(), piece.Span("pill warn", h.Text("in both: "), piece.Join(", ", r.Both, func(p *string) h.Node { return h.Text(principalWords(*p)) }))})),
		piece.Td("num", held))
}

// subjects are those who may do something, and the identity providers that they must come from.
func subjects(tabs []piece.Tab, providers *[]string) h.Node {
	return h.Group{
		piece.Join(", ", tabs, (*piece.Tab).Link), h.If(len(tabs) == 0, h.Text("no subject")),
		h.Iff(providers != nil, func() h.Node { return below("from " + strings.Join(*providers, ", ")) }),
	}
}

// sessionMarks are how the states of sessions look, with the word for several sessions.
var sessionMarks = []struct {
	state string
	mark  piece.Mark
	many  string
}{
	{console.SessionHolds, piece.Mark{Class: "allow", Icon: "check", Word: "holds now"}, "hold now"},
	{console.SessionBegins, piece.Mark{Class: "rate", Icon: "clock", Word: "begins later"}, "begin later"},
	{console.SessionRefused, piece.Mark{Class: "warn", Icon: "cross", Word: "not valid"}, "not valid"},
	{console.SessionEnded, piece.Mark{Class: "none", Icon: "minus", Word: "ended"}, "ended"},
}

// emergency is the view of sessions and escalations.
func emergency(ctx context.Context, q *question) (frame, error) {
	asked := console.SessionsQuery{
		User:    q.value("user"),
		Cluster: q.value("cluster"),
		State:   q.value("state"),
		After:   q.value("after"),
	}
	found, err := q.Sessions(ctx, q.caller, asked)
	if err != nil {
		return frame{}, err
	}
	c := sessionsContent{
		User:     asked.User,
		Cluster:  asked.Cluster,
		Filtered: asked.User+asked.Cluster+asked.State != "",
		Total:    found.Total,
		EndSoon:  found.EndSoon,
		At:       instant(found.At),
		States:   []piece.Option{{Word: "any", Selected: asked.State == ""}},
	}
	for _, s := range sessionMarks {
		c.States = append(c.States, piece.Option{Value: s.state, Word: s.mark.Word, Selected: s.state == asked.State})
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
	c.pages(q, sessionsPath, found.After)
	c.More = max(0, len(found.Escalations)-maxEscalations)
	for i := range found.Escalations[:len(found.Escalations)-c.More] {
		c.Escalations = append(c.Escalations, rowOfEscalation(&found.Escalations[i]))
	}
	return frame{
		Title:   "Sessions",
		Lead:    "Emergency access: who holds what until when, and who could get it.",
		Live:    "revision",
		Content: &c,
	}, nil
}

func rowOfSession(s *console.Session, now time.Time) sessionRow {
	row := sessionRow{Session: *s, Time: why(s.Why), More: max(0, len(s.Users)-maxListed)}
	for _, m := range sessionMarks {
		if m.state == s.State {
			row.Badge = m.mark
		}
	}
	for _, user := range s.Users[:len(s.Users)-row.More] {
		row.Holders = append(row.Holders, piece.Tab{Name: accountName(user), Href: subjectHref(tables.User(user))})
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
		return strings.Join(list[:maxListed], ", ") + " and " + piece.Number(n) + " more"
	}
	return strings.Join(list, ", ")
}

func rowOfEscalation(e *console.Escalation) escalationRow {
	row := escalationRow{Escalation: *e, On: listed(e.Clusters, "no cluster"), Self: selfWords(e.SelfApproval, e.Domains)}
	add := func(to *[]piece.Tab, kind string, names []string) {
		for _, name := range names {
			*to = append(*to, piece.Tab{Name: kind + " " + name, Href: subjectHref(kind + ":" + name)})
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
	out := &ending{Holds: piece.Plural(d.Sessions, "session") + " and " + piece.Plural(d.DebugSessions, "debug session") + " hold now"}
	switch {
	case d.EndSoon == 1:
		out.EndSoon = "1 document or session in force ends"
	case d.EndSoon > 1:
		out.EndSoon = piece.Number(d.EndSoon) + " documents and sessions in force end"
	}
	if d.Next != nil {
		out.Next = d.Next.UTC().Format(timeForm)
	}
	return out
}

// age is a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
