package page

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
	"github.com/writ-policy/writ/translator/tables"
)

// logContent is what the log shows.
type logContent struct {
	Outcomes                  []piece.Option
	User, Resource, Namespace string
	Point, Endpoint           string
	Follow                    bool
	Filtered                  bool
	Entries                   []entry
	Dropped                   uint64
	Size                      int
	Next, First               string
}

// entry is a recorded decision in words.
type entry struct {
	console.Entry
	Badge, NowBadge piece.Mark
	Who, What, In   string
	By, Source      string
	// Until is when the decision ends, empty if it does not, and Via names the session through
	// which it was made.
	Until, Via string
	Ask        string // empty for a request that has no form, or was not recorded
	// Subject is the address of who asked; empty for a request without a user or group.
	Subject string
}

func (c *logContent) html() h.Node {
	return piece.Div("stack",
		piece.Ask("/page/log", "card line", "Filter", piece.Select("field", "outcome", "Outcome", c.Outcomes),
			words("user", "User", c.User), words("resource", "Resource", c.Resource), words("namespace", "Namespace", c.Namespace),
			h.If(c.Point != "", piece.Kept("point", c.Point)), h.If(c.Endpoint != "", piece.Kept("endpoint", c.Endpoint)),
			piece.Check("follow", "Follow", c.Follow), h.Button(h.Text("Filter"))),
		c.listed())
}

// listed is the decisions, or why none is shown.
func (c *logContent) listed() h.Node {
	empty := func(children ...h.Node) h.Node { return piece.P("card empty", children...) }
	switch {
	case len(c.Entries) > 0:
	case c.Size == 0:
		return empty(h.Text("The log is off: the server keeps no decisions (--page-log 0)."))
	case c.Filtered:
		return empty(h.Text("Nothing fits this filter. "), piece.A("/page/log", h.Text("Show all")))
	default:
		return empty(h.Text("No decisions yet. "), piece.A("/page/ask", h.Text("Ask")), h.Text(" for one, or send one to an endpoint."))
	}
	dropped := ""
	if c.Dropped > 0 {
		dropped = piece.Number(c.Dropped) + " decisions were not recorded, because too many were made at a time."
	}
	return h.Group{
		h.Div(piece.Region("scroll", "Decisions, scrolls"), h.Table(h.Class("wide stacked log"), h.Aria("label", "Decisions"),
			piece.Head(piece.Columns("Time", "Outcome", "Who", "What", "Decided by"), piece.NumberColumn("µs"), piece.Columns("Cached"), piece.HiddenColumn("Ask")),
			h.TBody(piece.Each(c.Entries, (*entry).html)))),
		piece.Div("pages", piece.Note("muted small", dropped), piece.Pages(c.First, "", c.Next)),
	}
}

func (e *entry) html() h.Node {
	who, by, cached := h.Text(e.Who), piece.Note("muted", "no rule"), "no"
	if e.Subject != "" {
		who = piece.A(e.Subject, who)
	}
	if e.By != "" {
		by = h.Group{h.Text(e.By + " "), h.Br()}
	}
	if e.Cached {
		cached = "yes"
	}
	return h.Tr(piece.Td("nowrap mono", piece.Time(e.Time, piece.Clock, false)),
		piece.Td("nowrap", e.Badge.Pill(), h.If(e.NowBadge.Word != "", h.Group{h.Br(), piece.Note("small", "now"), h.Text(" "), e.NowBadge.Pill()})),
		piece.RowHead(who), piece.Td("what", h.Text(e.What), e.namespace()),
		piece.Td("small by", by, piece.Place(e.Source), h.If(e.Via != "", h.Group{h.Text(" "), piece.A(sessionsPath, h.Text("via session "+e.Via))}),
			h.If(e.Until != "", h.Group{h.Text(" "), piece.Note("nowrap muted", "until "+instant(e.Until))})),
		piece.Td("num nowrap", h.Text(piece.Number(e.Microseconds)), piece.Note("narrow", " µs")), h.Td(piece.Note("narrow", "cached: "), h.Text(cached)),
		piece.Td("nowrap", h.If(e.Ask != "", piece.A(e.Ask, h.Text("Ask again"))),
			h.If(e.Ask != "" && e.WithoutPod, h.Group{h.Br(), piece.Note("muted small", "without its pod")})))
}

// namespace is the one of the request, if it has one.
func (e *entry) namespace() h.Node {
	return h.If(e.In != "", h.Group{h.Text(" "), piece.Note("muted", "in "+e.In)})
}

// decisionLog is the view of recorded decisions.
func decisionLog(ctx context.Context, q *question) (frame, error) {
	c := logContent{
		User: q.value("user"), Resource: q.value("resource"), Namespace: q.value("namespace"),
		Point: q.value("point"), Endpoint: q.value("endpoint"), Follow: q.value("follow") != "",
	}
	outcome := q.value("outcome")
	for _, value := range []string{"", console.Allow, console.Deny, console.None, console.Failed} {
		word := "any"
		if value != "" {
			word = piece.Badge(value).Word
		}
		c.Outcomes = append(c.Outcomes, piece.Option{Value: value, Word: word, Selected: value == outcome})
	}
	before, err := parseBefore(q.value("before"))
	if err != nil {
		return frame{}, err
	}
	log, err := q.Log(ctx, q.caller, console.LogQuery{
		Outcome: outcome, User: c.User, Resource: c.Resource, Namespace: c.Namespace, Point: c.Point, Endpoint: c.Endpoint, Before: before,
	})
	if err != nil {
		return frame{}, err
	}
	c.Filtered = outcome+c.User+c.Resource+c.Namespace+c.Point+c.Endpoint != ""
	c.Entries, c.Dropped, c.Size = entriesOf(log.Decisions), log.Dropped, log.Size
	if log.After != 0 {
		c.Next = withValue("/page/log", q.query, "before", strconv.FormatUint(log.After, 10))
	}
	if before != 0 {
		c.First = withValue("/page/log", q.query, "before", "")
	}
	lead := "The last " + piece.Number(log.Size) + " decisions of this process, in memory. Nothing is stored."
	live := ""
	if c.Follow {
		live = "decisions"
	}
	return frame{Title: "Decision log", Lead: lead, Live: live, Content: &c}, nil
}

func parseBefore(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	before, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, console.Errorf(console.Invalid, "before must be the number of a decision")
	}
	return before, nil
}

// withValue is the address with one value of the query changed; empty values are left out.
func withValue(path string, query url.Values, name, value string) string {
	changed := url.Values{}
	for key, values := range query {
		if key != name && len(values) > 0 && values[0] != "" {
			changed.Set(key, values[0])
		}
	}
	if value != "" {
		changed.Set(name, value)
	}
	if len(changed) == 0 {
		return path
	}
	return path + "?" + changed.Encode()
}

func entriesOf(decisions []console.Entry) []entry {
	entries := make([]entry, 0, len(decisions))
	for i := range decisions {
		d := &decisions[i]
		e := entry{
			Entry: *d,
			Badge: piece.Badge(d.Outcome),
			Who:   who(d.Request),
			What:  what(d.Request),
			In:    aboutOf(d.Request).Namespace,
		}
		if string(d.Request) != "null" { // it was too long to be recorded
			e.Ask = askHref(d.Point, d.Request)
		}
		if e.Badge == piece.Badge(console.Allow) && isPartial(d.Decision) {
			e.Badge = piece.Badge(console.Partial)
		}
		if d.Now != "" && d.Now != d.Outcome {
			e.NowBadge = piece.Badge(d.Now)
		}
		if a := aboutOf(d.Request); d.Point == "access" && a.User != "" {
			e.Subject = subjectHref(tables.User(a.User))
		} else if d.Point == "access" && len(a.Groups) == 1 {
			e.Subject = subjectHref(tables.Group(a.Groups[0]))
		}
		if m := decidedBy(d.Decision); m != nil {
			e.By, e.Source, e.Until = tables.Title(m.Kind, m.Namespace, m.Name), m.Place(), m.Until
			e.Via = lastSession(m.Via)
		}
		entries = append(entries, e)
	}
	return entries
}

// lastSession returns the name of the session with the latest end, as reasons name it: the
// first by name of several, and one without an end before all others. It is empty without one.
func lastSession(via []console.Via) (name string) {
	var latest time.Time
	for _, v := range via {
		at, err := console.ParseTime(v.Until)
		if v.Until == "" || err != nil {
			return v.Name
		}
		if name == "" || at.After(latest) {
			name, latest = v.Name, at
		}
	}
	return name
}

// isPartial reports whether a decision at the visibility point permits a part.
func isPartial(decision json.RawMessage) bool {
	var d struct {
		Decision string `json:"decision"`
	}
	return json.Unmarshal(decision, &d) == nil && d.Decision == console.Partial
}

// decidedBy is the first rule that matched, else what decided without one; nil for neither.
func decidedBy(decision json.RawMessage) *console.Matched {
	var d struct {
		Matched  []console.Matched `json:"matched"`
		Deciding []console.Matched `json:"decidedBy"`
	}
	if err := json.Unmarshal(decision, &d); err != nil {
		return nil
	}
	deciding := append(d.Matched, d.Deciding...)
	if len(deciding) == 0 {
		return nil
	}
	return &deciding[0]
}

// about is what the words for a request are made of.
type about struct {
	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	Verb        string   `json:"verb"`
	Resource    string   `json:"resource"`
	Subresource string   `json:"subresource"`
	Namespace   string   `json:"namespace"`
	Name        string   `json:"name"`
	Path        string   `json:"path"`
	Type        string   `json:"type"`
	// Cluster is a name, or an object with one at the visibility point.
	Cluster json.RawMessage `json:"cluster"`
	Request struct {
		Host   string `json:"host"`
		Method string `json:"method"`
		Path   string `json:"path"`
	} `json:"request"`
	Auth struct {
		Identity json.RawMessage `json:"identity"`
	} `json:"auth"`
}

func aboutOf(request json.RawMessage) about {
	var a about
	if err := json.Unmarshal(request, &a); err != nil {
		// A member of another type is left out; the others are read all the same.
		return a
	}
	return a
}

// who is the subject of a request.
func who(request json.RawMessage) string {
	a := aboutOf(request)
	switch {
	case a.User != "":
		return a.User
	case len(a.Groups) > 0:
		return strings.Join(a.Groups, ", ")
	case len(a.Auth.Identity) > 0:
		var identity struct {
			Sub string `json:"sub"`
		}
		if json.Unmarshal(a.Auth.Identity, &identity) == nil && identity.Sub != "" {
			return identity.Sub
		}
	}
	return "anonymous"
}

// what is what a request is for.
func what(request json.RawMessage) string {
	a := aboutOf(request)
	switch {
	case a.Request.Host != "" || a.Request.Path != "":
		return strings.TrimSpace(a.Request.Method + " " + a.Request.Host + a.Request.Path)
	case a.Verb == "":
		return strings.TrimSpace("view " + a.viewed())
	case a.Path != "":
		return a.Verb + " " + a.Path
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return strings.TrimSpace(a.Verb + " " + resource + " " + a.Name)
}

// viewed is what a request at the visibility point is for.
func (a *about) viewed() string {
	var cluster struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(a.Cluster, &cluster) != nil || cluster.Name == "" {
		return a.Type
	}
	if a.Type == "" {
		return "cluster " + cluster.Name
	}
	return a.Type + " of " + cluster.Name
}
