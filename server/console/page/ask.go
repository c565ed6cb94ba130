package page

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// askContent is what the view Ask shows.
type askContent struct {
	Points []piece.Tab
	Form   *asked
	// Action is the address of the form, Self is true for a caller who may ask about
	// itself alone, and Error is what is wrong with the request as a whole.
	Action, Error string
	Self          bool
	At            string
	Example       string
	Answer        *answer
}

func (c *askContent) html() h.Node {
	folded := "Other facts"
	if c.Action == accessForm.path {
		folded = "Pod and other facts"
	}
	return h.Group{
		piece.Tabs("Point", c.Points),
		piece.Div("grid ask",
			piece.Ask(c.Action+"#answer", "card rows", "Request", c.Form.shown(),
				h.If(len(c.Form.Folded) > 0, h.Details(h.If(c.Form.Open, opened), h.Summary(h.Text(folded)), piece.Div("stack", c.Form.folded()))),
				h.If(c.At != "", h.Group{piece.Kept("at", c.At), piece.P("small muted", h.Text("At "+c.At))}),
				refusal(c.Error),
				piece.Div("line", piece.Submit("Ask"), piece.Button(c.Action, "Clear"))),
			h.Section(h.Class("stack answer"), h.ID("answer"), h.Aria("label", "Answer"), c.answered())),
	}
}

// answered is the answer, or how to get one.
func (c *askContent) answered() h.Node {
	if c.Answer != nil {
		return c.Answer.html()
	}
	title, from := "Ask whether a user may do something", h.Node(h.Group{piece.A(whoCanPath, h.Text("Who can")), h.Text(" or in the "), piece.A("/page/log", h.Text("log"))})
	if c.Self {
		title, from = "Ask whether you may do something", h.Text("the documentation")
	}
	return piece.Div("card empty", h.H2(h.Text(title)), h.P(h.Text("The answer names the line that decided, and every rule that matched.")),
		h.P(h.Text("Fill in the request and press Ask, or find one in "), from, h.Text("."),
			h.If(c.Example != "", h.Group{h.Text(" Or try "), piece.A(c.Example, h.Text("an example")), h.Text(".")})))
}

// opened opens what is shown on demand.
var opened = h.Flag("open")

// refusal is what is wrong with a form as a whole.
func refusal(text string) h.Node {
	return h.If(text != "", piece.P("error", h.Role("alert"), h.Text(text)))
}

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
			c.Points = append(c.Points, piece.Tab{Name: strings.ToUpper(f.point[:1]) + f.point[1:], Href: f.path, Current: f == form})
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
		shown.Content = &c
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
	return askHref("access", jsontext.Encode(map[string]any{"user": users.Names[0], "verb": "get", "resource": "pods"}))
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
