package page

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/view"
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
	view.Entry
	Badge, NowBadge mark
	Who, What, In   string
	By, Source      string
	Ask             string
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
	for _, o := range []option{{"", "any", false}, {view.Allow, "Allowed", false}, {view.Deny, "Denied", false}, {view.None, "Not allowed", false}, {view.Failed, "Error", false}} {
		o.Selected = o.Value == outcome
		c.Outcomes = append(c.Outcomes, o)
	}
	before, err := parseBefore(q.value("before"))
	if err != nil {
		return frame{}, err
	}
	log, err := q.Log(ctx, q.caller, view.LogQuery{
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
		return 0, view.Errorf(view.Invalid, "before must be the number of a decision")
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

func entriesOf(decisions []view.Entry) []entry {
	entries := make([]entry, 0, len(decisions))
	for i := range decisions {
		d := &decisions[i]
		e := entry{Entry: *d, Badge: badge(d.Outcome), Who: who(d.Request), What: what(d.Request), In: namespaceOf(d.Request), Ask: askHref(d.Point, d.Request)}
		if d.Now != "" && d.Now != d.Outcome {
			e.NowBadge = badge(d.Now)
		}
		if a := aboutOf(d.Request); d.Point == "access" && a.User != "" {
			e.Subject = subjectHref("user:" + a.User)
		} else if d.Point == "access" && len(a.Groups) == 1 {
			e.Subject = subjectHref("group:" + a.Groups[0])
		}
		e.By, e.Source = decidedBy(d.Decision)
		entries = append(entries, e)
	}
	return entries
}

// decidedBy is the first rule that matched, else what decided without one, and the line that
// a person edits.
func decidedBy(decision json.RawMessage) (by, source string) {
	var d struct {
		Matched  []view.Matched `json:"matched"`
		Deciding []view.Matched `json:"decidedBy"`
	}
	if err := json.Unmarshal(decision, &d); err != nil {
		return "", ""
	}
	deciding := append(d.Matched, d.Deciding...)
	if len(deciding) == 0 {
		return "", ""
	}
	m := &deciding[0]
	return named(m.Kind, m.Namespace, m.Name), m.Place()
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
	Request     struct {
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
		return strings.TrimSpace("view " + a.Type)
	case a.Path != "":
		return a.Verb + " " + a.Path
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return strings.TrimSpace(a.Verb + " " + resource + " " + a.Name)
}

// namespaceOf returns the namespace of a request, empty for a request without one.
func namespaceOf(request json.RawMessage) string { return aboutOf(request).Namespace }
