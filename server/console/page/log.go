package page

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/tables"
)

// logContent is what the log shows.
type logContent struct {
	Outcomes                  []option
	User, Resource, Namespace string
	Point, Endpoint           string
	Follow                    bool
	Filtered                  bool
	Entries                   []entry
	Dropped                   uint64
	Size                      int
	Next, First               string
}

// option is one of a list.
type option struct {
	Value, Word string
	Selected    bool
}

// entry is a recorded decision in words.
type entry struct {
	console.Entry
	Badge, NowBadge mark
	Who, What, In   string
	By, Source      string
	// Until is when the decision ends, empty if it does not, and Via names the session through
	// which it was made.
	Until, Via string
	Ask        string
	// Subject is the address of who asked; empty for a request without a user or group.
	Subject string
}

// decisionLog is the view of recorded decisions.
func decisionLog(ctx context.Context, q *question) (frame, error) {
	c := logContent{
		User: q.value("user"), Resource: q.value("resource"), Namespace: q.value("namespace"),
		Point: q.value("point"), Endpoint: q.value("endpoint"), Follow: q.value("follow") != "",
	}
	outcome := q.value("outcome")
	for _, o := range []option{{"", "any", false}, {console.Allow, "Allowed", false}, {console.Deny, "Denied", false}, {console.None, "Not allowed", false}, {console.Failed, "Error", false}} {
		o.Selected = o.Value == outcome
		c.Outcomes = append(c.Outcomes, o)
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
	lead := "The last " + number(log.Size) + " decisions of this process, in memory. Nothing is stored."
	live := ""
	if c.Follow {
		live = "decisions"
	}
	return frame{Title: "Decision log", Lead: lead, Live: live, Content: c}, nil
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
		e := entry{Entry: *d, Badge: badge(d.Outcome), Who: who(d.Request), What: what(d.Request), In: namespaceOf(d.Request), Ask: askHref(d.Point, d.Request)}
		if e.Badge == badge(console.Allow) && isPartial(d.Decision) {
			e.Badge = badge(console.Partial)
		}
		if d.Now != "" && d.Now != d.Outcome {
			e.NowBadge = badge(d.Now)
		}
		if a := aboutOf(d.Request); d.Point == "access" && a.User != "" {
			e.Subject = subjectHref(tables.User(a.User))
		} else if d.Point == "access" && len(a.Groups) == 1 {
			e.Subject = subjectHref(tables.Group(a.Groups[0]))
		}
		if m := decidedBy(d.Decision); m != nil {
			e.By, e.Source, e.Until = named(m.Kind, m.Namespace, m.Name), m.Place(), m.Until
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

// namespaceOf returns the namespace of a request, empty for a request without one.
func namespaceOf(request json.RawMessage) string { return aboutOf(request).Namespace }
