package page

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// askContent is what the view Ask shows.
type askContent struct {
	Points []tab
	Form   *asked
	// Action is the address of the form, Self is true for a caller who may ask about
	// itself alone, and Error is what is wrong with the request as a whole.
	Action, Error string
	Self          bool
	At            string
	Example       string
	Answer        *answer
}

// answer is a decision with its reasons.
type answer struct {
	*console.Explanation
	Badge    mark
	Decisive *source
	Binding  *source
	Scores   []score
	Steps    []rung
	Nearest  []link
	WhatIf   []link
	Carry    []carried
	IsAccess bool
	// Subjects lead to the bindings of the subjects of the request.
	Subjects  []tab
	NoExcerpt string
}

// link is a row that leads to a request.
type link struct {
	Text, Href string
	Badge      mark
	Because    string
	Source     string
}

// rung is a step of evaluation.
type rung struct {
	console.Step
	Class, State string
	Decides      bool
	Rules        []rungRule
	More         int // rules that are left out
}

// maxRules bounds the rules of a rung.
const maxRules = 100

// rungRule is a rule that matched. Its badge says what it does; it has no word for a
// policy that was considered and did not decide.
type rungRule struct {
	console.Matched
	Badge mark
	// RoleHref is the address of the role; empty for callers who may not see it.
	RoleHref string
}

// carried is a text to take along.
type carried struct{ ID, Name, Note, Text string }

// ask returns the view of a point.
func (p *page) ask(form *pointForm) content {
	return func(ctx context.Context, q *question) (frame, error) {
		self := !q.caller.SeesAll
		if self {
			if another(q) {
				return frame{}, console.ErrForbidden
			}
			q.query.Set("user", q.caller.User)
			q.query.Set("groups", strings.Join(q.caller.Groups, ","))
		}
		c := askContent{Form: form.read(q.query, p.JSON), Action: form.path, Self: self, At: q.value("at")}
		for _, f := range []*pointForm{accessForm, visibilityForm, gatewayForm} {
			c.Points = append(c.Points, tab{Name: strings.ToUpper(f.point[:1]) + f.point[1:], Href: f.path, Current: f == form})
		}
		c.Form.setSelf(self)
		if form == gatewayForm && !self {
			if err := c.Form.complete(q); err != nil {
				return frame{}, err
			}
		}
		shown := frame{Title: "Ask", Lead: "Who may do what, and which line decides it.", Live: "revision"}
		asks := c.Form.request != nil && asksMore(q.query)
		if c.Form.wrong {
			shown.Status = http.StatusBadRequest
		}
		if asks {
			if err := c.answer(ctx, q, form); err != nil {
				return frame{}, err
			}
			if c.Answer == nil {
				shown.Status = http.StatusBadRequest
			}
		}
		if form == accessForm && !self && c.Form.request == nil && !c.Form.wrong {
			c.Example = exampleOf(q)
		}
		shown.Content = c
		return shown, nil
	}
}

// asksMore reports whether a query has more than a subject. The view of a subject links to the
// form with the subject alone: nothing was asked yet, so nothing is missing either.
func asksMore(query url.Values) bool {
	for key := range query {
		if key != "user" && key != "groups" {
			return true
		}
	}
	return false
}

// exampleOf is the address of a question about a user of the documents; empty without one.
func exampleOf(q *question) string {
	users, err := q.Names(q.caller, "user", "")
	if err != nil || len(users.Names) == 0 {
		return ""
	}
	return askHref("access", encode(map[string]any{"user": users.Names[0], "verb": "get", "resource": "pods"}))
}

// another reports whether a request is about another subject than the caller.
func another(q *question) bool {
	user, groups := q.value("user"), q.value("groups")
	return user != "" && user != q.caller.User || groups != "" && groups != strings.Join(q.caller.Groups, ",")
}

// setSelf marks the fields of the subject as set and not asked.
func (a *asked) setSelf(self bool) {
	for i := range a.Inputs {
		in := &a.Inputs[i]
		if self { // names of others are not completed
			in.ReadOnly, in.Names = in.Key == "user" || in.Key == "groups" || in.Key == "subject", ""
		}
	}
}

// maxOptions bounds the options of a field.
const maxOptions = 100

// complete fills in what the documents have for the fields of the gateway form.
func (a *asked) complete(q *question) error {
	t, err := q.Topology(q.caller, "")
	if isReason(err, console.NotReady) {
		return nil
	}
	if err != nil {
		return err
	}
	options := map[string][]string{"gateway": t.Gateways, "method": {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}}
	for i := range t.Nodes {
		if key := []string{"", "listener", "route", "rule"}[min(t.Nodes[i].Column, 3)]; key != "" {
			options[key] = append(options[key], t.Nodes[i].Name)
		}
	}
	for i := range a.Inputs {
		found := options[a.Inputs[i].Key]
		slices.Sort(found)
		found = slices.Compact(found)
		a.Inputs[i].Options = found[:min(len(found), maxOptions)]
	}
	return nil
}

// answer explains the request of the form. An invalid request has a message, at its field
// or at the form, and no answer.
func (c *askContent) answer(ctx context.Context, q *question, form *pointForm) error {
	var at time.Time
	if c.At != "" {
		var err error
		if at, err = console.ParseTime(c.At); err != nil {
			c.Error = "at " + err.Error()
			return nil //nolint:nilerr // it is shown at the form
		}
	}
	explained, err := q.Explain(ctx, q.caller, form.point, c.Form.request, at)
	if isReason(err, console.Invalid) {
		var refused *console.Error
		errors.As(err, &refused)
		c.Error = c.Form.refuse(form, refused)
		return nil
	}
	if err != nil {
		return err
	}
	c.Answer = newAnswer(explained, q, form, c.Form.request)
	return nil
}

func isReason(err error, reason console.Reason) bool {
	var refused *console.Error
	return errors.As(err, &refused) && refused.Reason == reason
}

func newAnswer(e *console.Explanation, q *question, form *pointForm, request json.RawMessage) *answer {
	a := &answer{Explanation: e, Badge: badge(e.Outcome), IsAccess: form.point == "access", NoExcerpt: e.Note}
	for i := range e.Excerpts {
		shown := excerptOf(&e.Excerpts[i], e.Outcome)
		if i == 0 {
			a.Decisive = &shown
		} else {
			a.Binding = &shown
		}
	}
	for i := range e.PodSecurity {
		a.Scores = append(a.Scores, scoreOf(&e.PodSecurity[i]))
	}
	for _, s := range e.Steps {
		a.Steps = append(a.Steps, rungOf(s, e.Outcome, form.point, q.caller.SeesAll))
	}
	for _, n := range e.Nearest {
		a.Nearest = append(a.Nearest, link{Text: n.Text, Href: askHref(form.point, n.Request), Because: named(n.Matched.Kind, n.Matched.Namespace, n.Matched.Name), Source: n.Matched.Place()})
	}
	for _, w := range e.WhatIf {
		a.WhatIf = append(a.WhatIf, whatIfOf(form.point, &w))
	}
	if a.IsAccess {
		a.Subjects = subjectsOf(request, q.caller)
	}
	a.Carry = carry(q, form.point, request, e, q.value("at"))
	return a
}

// stateWords are the words for the states of steps and policies.
var stateWords = map[string]string{console.Decides: "decides", console.Late: "comes too late", console.NoMatch: "no match", console.NotAsked: "not asked"}

// rungOf is a step with its state in words.
func rungOf(s console.Step, outcome, point string, seesAll bool) rung {
	r := rung{Step: s, Class: "past", State: stateWords[s.State]}
	switch s.State {
	case console.NoMatch:
		if point == "gateway" {
			r.State = "in force, did not decide" // all policies that are not denied permit
		}
	case console.Decides:
		r.Class, r.Decides = badge(outcome).Class, true
	case console.Late:
		r.Class = "late"
	}
	r.More = max(0, len(s.Matched)-maxRules)
	for i := range s.Matched[:len(s.Matched)-r.More] {
		rule := rungRule{Matched: s.Matched[i]}
		if seesAll {
			rule.RoleHref = matchedRoleHref(&rule.Matched)
		}
		switch {
		case point == "access", rule.Effect == console.Deny:
			rule.Badge = effect(&rule.Matched)
		case r.Decides:
			rule.Badge = badge(outcome)
		}
		r.Rules = append(r.Rules, rule)
	}
	return r
}

func whatIfOf(point string, w *console.WhatIf) link {
	l := link{Text: w.Text, Href: askHref(point, w.Request), Badge: badge(w.Outcome), Because: w.Reason}
	if w.At != "" {
		l.Href += "&at=" + url.QueryEscape(w.At)
	}
	if len(w.Matched) > 0 {
		l.Because, l.Source = named(w.Matched[0].Kind, w.Matched[0].Namespace, w.Matched[0].Name), w.Matched[0].Place()
	}
	return l
}
