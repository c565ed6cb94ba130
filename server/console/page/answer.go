package page

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
	"github.com/writ-policy/writ/translator/tables"
)

// answer is a decision with its reasons.
type answer struct {
	*console.Explanation
	Badge    piece.Mark
	Decisive *piece.Source
	Binding  *piece.Source
	Scores   []score
	Steps    []rung
	Nearest  []link
	WhatIf   []link
	Carry    []carried
	IsAccess bool
	// Subjects lead to the bindings of the subjects of the request.
	Subjects  []piece.Tab
	NoExcerpt string
}

// link is a row that leads to a request.
type link struct {
	Text, Href string
	Badge      piece.Mark
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
	Badge piece.Mark
	// RoleHref is the address of the role; empty for callers who may not see it.
	RoleHref string
}

// carried is a text to take along.
type carried struct{ ID, Name, Note, Text string }

func (a *answer) html() h.Node {
	return h.Group{
		a.outcome(),
		h.Iff(a.Binding != nil, func() h.Node { return a.Binding.HTML("Binding") }),
		h.Iff(a.Decisive != nil, func() h.Node { return a.Decisive.HTML("Decisive rule") }),
		h.If(a.NoExcerpt != "", piece.P("muted small", h.Text(sentence(a.NoExcerpt)))),
		piece.Each(a.Scores, (*score).html),
		a.ladder(),
		h.If(len(a.Items) > 0, piece.Card("Items", piece.H2("items", h.Text("Items")),
			table("Items", piece.Columns("Item", "Shown", "Hidden by", "Policy"), piece.Each(a.Items, itemRow)))),
		h.If(len(a.Warnings) > 0, piece.Titled("warnings", h.Text("Warnings"), h.Ul(piece.Each(a.Warnings, listItem)))),
		h.If(len(a.Nearest) > 0, piece.Card("Nearest", piece.H2("nearest", piece.Heading("Nearest", "allow rules that lack one thing")),
			table("Nearest", piece.Columns("Would allow", "Rule", "Where"), piece.Each(a.Nearest, func(l *link) h.Node {
				return h.Tr(piece.RowHead(piece.A(l.Href, h.Text(l.Text))), h.Td(h.Text(l.Because)), piece.Td("small where", piece.Place(l.Source)))
			})))),
		h.If(len(a.WhatIf) > 0, piece.Card("What if", piece.H2("what-if", piece.Heading("What if", "the same question, one thing changed")),
			table("What if", piece.Columns("Change", "Answer", "Because of"), piece.Each(a.WhatIf, func(l *link) h.Node {
				return h.Tr(piece.RowHead(piece.A(l.Href, h.Text(l.Text))), h.Td(l.Badge.Pill()), piece.Td("small", h.Text(l.Because)))
			})))),
		a.carry(),
	}
}

// table is a table of an answer.
func table(label string, columns h.Group, rows h.Node) h.Node {
	return h.Table(h.Class("stacked"), h.Aria("label", label), piece.Head(columns), h.TBody(rows))
}

func listItem(text *string) h.Node { return h.Li(h.Text(*text)) }

func (a *answer) outcome() h.Node {
	cached := "not cached"
	if a.Cached {
		cached = "cached"
	}
	return piece.Div("outcome "+a.Badge.Class, piece.Icon(a.Badge.Icon), h.Strong(h.Role("status"), h.Aria("label", "Outcome"), h.Text(a.Badge.Word)),
		piece.Span("aside", h.Text("revision "), h.Code(h.Text(piece.Short(a.Revision))), h.Br(), h.Text(micro(a.Microseconds)+", "+cached)), h.P(h.Text(a.Reason)))
}

func itemRow(i *console.Item) h.Node {
	shown := "no"
	if i.Shown {
		shown = "yes"
	}
	return h.Tr(
		piece.RowHead(h.Text(tables.FullName(i.Namespace, i.Name))),
		h.Td(h.Text(shown)),
		piece.Td("small", h.Text(i.HiddenBy)),
		piece.Td("small where", h.Text(i.Policy), h.If(i.Source != "", h.Group{h.Text(" "), piece.Place(i.Source)})))
}

// ladder is the steps of evaluation with what matched.
func (a *answer) ladder() h.Node {
	title, class := "Policies considered", "ladder"
	if a.IsAccess {
		title = "Evaluation ladder"
	}
	if len(a.Steps) > 0 && a.Steps[0].Step.Step == 0 {
		class += " zero"
	}
	steps := h.Ol(h.Class(class), piece.LabelledBy("ladder"), piece.Each(a.Steps, (*rung).html))
	if len(a.Steps) == 0 {
		steps = piece.P("muted", h.Text("No policy was considered."))
	}
	return h.Section(h.Class("card"), piece.LabelledBy("ladder"), h.H2(h.Span(h.ID("ladder"), h.Text(title)),
		h.If(len(a.Subjects) > 0, h.Group{h.Text(" "), piece.Span("small", piece.Join(", ", a.Subjects, (*piece.Tab).Link))})), steps)
}

func (r *rung) html() h.Node {
	state := piece.Note("muted small", r.State)
	if r.Decides {
		state = h.Span(piece.Note("pill "+r.Class, r.State))
	}
	return h.Li(h.Class(r.Class), h.If(r.Decides, h.Aria("current", "step")),
		h.Div(piece.Note("name", r.Title), h.If(r.Source != "", h.Group{h.Text(" "), piece.Span("small", piece.Place(r.Source))}),
			h.If(r.Why != "", piece.P("small muted", h.Text(r.Why))),
			piece.Each(r.Rules, (*rungRule).html),
			h.If(r.More > 0, piece.P("rule muted", h.Text("and "+piece.Plural(r.More, "rule")+" more"))),
			piece.Each(r.Dated, datedRule),
			h.If(len(r.Policies) > 0, r.policies())),
		state)
}

func (r *rungRule) html() h.Node {
	return piece.P("rule", h.If(r.Badge.Word != "", r.Badge.Pill()), bindingOf(&r.Matched),
		piece.Span("muted", h.Iff(r.Role != nil, r.through), ruleAt(&r.Matched)),
		via(r.Via, func(v *console.Via) h.Node { return piece.A(sessionsPath+"?state=holds", h.Text("session "+v.Name)) }),
		h.If(r.Until != "", piece.Note("pill warn", "until "+instant(r.Until))))
}

// through is the role that has the rule.
func (r *rungRule) through() h.Node {
	name := h.Text(tables.Title(r.Role.Kind, r.Role.Namespace, r.Role.Name))
	if r.RoleHref != "" {
		name = piece.A(r.RoleHref, name)
	}
	return h.Group{h.Text("through "), name}
}

// bindingOf names the document that matched, with its place if the rule has another.
func bindingOf(m *console.Matched) h.Node {
	return h.Span(
		h.Text(tables.Title(m.Kind, m.Namespace, m.Name)),
		h.If(m.Place() != m.Source, h.Group{h.Text(" "), piece.Place(m.Place())}),
	)
}

// ruleAt is the rule that matched and its place.
func ruleAt(m *console.Matched) h.Node {
	words := rule(m.Rule)
	return h.Group{h.If(words != "", h.Text(" "+words)), h.Text(" "), piece.Place(m.Source)}
}

// via names the sessions through which a rule matches.
func via(sessions []console.Via, show func(*console.Via) h.Node) h.Node {
	return h.If(len(sessions) > 0, h.Span(h.Text("via "), piece.Join(", ", sessions, show)))
}

// datedRule is a rule that matches at another time.
func datedRule(d *console.Dated) h.Node {
	return piece.P("rule", bindingOf(&d.Matched), piece.Span("muted", h.Text(rule(d.Rule)+" "), piece.Place(d.Source)),
		via(d.Via, func(v *console.Via) h.Node { return h.Text("session " + v.Name) }), piece.Note("pill", why(d.Why)))
}

// policies lists the deny policies that were considered.
func (r *rung) policies() h.Node {
	const title = "Deny policies by precedence"
	return h.Details(h.Summary(h.Class("small"), h.Text(title)), h.Ol(h.Class("small"), h.Aria("label", title),
		piece.Each(r.Policies, func(p *console.StepPolicy) h.Node {
			state := stateWords[p.State]
			if p.Why != "" {
				state += ": " + why(p.Why)
			}
			return h.Li(h.Text(strconv.Itoa(p.Precedence)+" "+p.Name+" "), piece.Place(p.Source), h.Text(" "), piece.Note("muted", state))
		}),
		h.If(r.MorePolicies > 0, h.Li(h.Class("muted"), h.Textf("and %d more", r.MorePolicies)))))
}

// carry is the question for a shell and for a test.
func (a *answer) carry() h.Node {
	return piece.Titled("carry", h.Text("Take it with you"),
		piece.P("line scripted", piece.Each(a.Carry, func(c *carried) h.Node { return piece.CopyButton(c.ID, c.Name) })),
		piece.Div("stack", piece.Each(a.Carry, func(c *carried) h.Node {
			return h.Details(h.If(c == &a.Carry[0], opened), h.Summary(h.Text(c.Name+" "), piece.Note("muted small", c.Note)), piece.Copied(c.ID, c.Name, c.Text))
		})))
}

func newAnswer(e *console.Explanation, q *question, form *pointForm, request json.RawMessage) *answer {
	a := &answer{Explanation: e, Badge: piece.Badge(e.Outcome), IsAccess: form.point == "access", NoExcerpt: e.Note}
	for i := range e.Excerpts {
		shown := piece.ExcerptOf(&e.Excerpts[i], e.Outcome)
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
		a.Nearest = append(a.Nearest, link{
			Text:    n.Text,
			Href:    askHref(form.point, n.Request),
			Because: tables.Title(n.Matched.Kind, n.Matched.Namespace, n.Matched.Name),
			Source:  n.Matched.Place(),
		})
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
		r.Class, r.Decides = piece.Badge(outcome).Class, true
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
			rule.Badge = piece.Badge(outcome)
		}
		r.Rules = append(r.Rules, rule)
	}
	return r
}

func whatIfOf(point string, w *console.WhatIf) link {
	l := link{Text: w.Text, Href: askHref(point, w.Request), Badge: piece.Badge(w.Outcome), Because: w.Reason}
	if w.At != "" {
		l.Href += "&at=" + url.QueryEscape(w.At)
	}
	if len(w.Matched) > 0 {
		l.Because, l.Source = tables.Title(w.Matched[0].Kind, w.Matched[0].Namespace, w.Matched[0].Name), w.Matched[0].Place()
	}
	return l
}

// micro writes microseconds, with a decimal below ten.
func micro(us float64) string { return piece.Number(us) + " µs" }

// rule is the number of a rule, or its key, in words.
func rule(index any) string {
	switch v := index.(type) {
	case string:
		return v
	case nil:
		return ""
	case float64:
		return ruleIndex(int(v))
	case int:
		return ruleIndex(v)
	case json.Number:
		n, _ := v.Int64() // -1 for what is not a number is never sent
		return ruleIndex(int(n))
	}
	return fmt.Sprint(index)
}

func ruleIndex(n int) string {
	if n < 0 {
		return ""
	}
	return "rule\u00a0" + strconv.Itoa(n)
}

// effect is the badge of what a rule does.
func effect(m *console.Matched) piece.Mark {
	if m.Effect == "deny" || m.Kind == "DenyPolicy" {
		return piece.Mark{Class: "deny", Icon: "cross", Word: "denies"}
	}
	return piece.Mark{Class: "allow", Icon: "check", Word: "allows"}
}
