package page

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
	"github.com/writ-policy/writ/translator/tables"
)

// The views of a subject and of a role are parts of that of the matrices.
const (
	subjectPath = whoCanPath + "/subject"
	rolePath    = whoCanPath + "/role"
)

var subjectForm = &pointForm{path: subjectPath, fields: []fieldForm{
	{key: "subject", label: "Subject", names: "subject", hint: "user:NAME or group:NAME"},
}}

var roleForm = &pointForm{path: rolePath, fields: []fieldForm{
	{key: "role", label: "Role", names: "role", hint: "NAME of a ClusterRole, or NAMESPACE/NAME"},
}}

// holding is what the views of a subject and of a role have in common.
type holding struct {
	Tabs []piece.Tab
	Form *asked
	Self bool
	pager
}

// subjectContent is what documents bind to a subject.
type subjectContent struct {
	holding
	*console.Subject
	// What, Ask, Log and Sessions lead to other views about the subject.
	What, Ask, Log, Sessions string
}

// roleContent is a role and who holds it.
type roleContent struct {
	holding
	*console.Role
	MoreRules int
	// Missing is the role that was asked for, if it does not exist.
	Missing string
}

func (c *subjectContent) html() h.Node {
	content := piece.Div("card empty", h.H2(h.Text("Name a user or a group")),
		h.P(h.Text("Its bindings stand here, with their roles and lines. "), piece.A(whoCanPath+"?resource=secrets", h.Text("Who can read secrets")), h.Text(" has some to begin with.")))
	if c.Subject != nil {
		content = c.found()
	}
	return h.Group{
		piece.Tabs("Question", c.Tabs),
		piece.Div("stack", h.Iff(!c.Self, func() h.Node {
			return piece.Ask(subjectPath, "card line top-aligned one", "Question", c.Form.shown(), piece.Submit("Show"))
		}), content),
	}
}

// found is what the documents bind to the subject.
func (c *subjectContent) found() h.Node {
	button := func(href, name string) h.Node { return h.If(href != "", piece.Button(href, name)) }
	return h.Group{
		piece.P("line", button(c.What, "What it can do"), button(c.Ask, "Ask for it"), button(c.Log, "Its decisions"), button(c.Sessions, "Its sessions")),
		piece.Titled("bindings", piece.Heading("Bindings", piece.Plural(c.Total, "binding")), c.bound(), h.Iff(len(c.Groups) > 0, c.groups)),
		h.If(len(c.Policies) > 0, piece.Titled("policies", h.Text("Visibility policies that name it"),
			h.Table(h.Class("stacked"), piece.LabelledBy("policies"), piece.Head(piece.Columns("Policy", "Effect", "Through", "Where")), h.TBody(piece.Each(c.Policies, func(p *console.NamingPolicy) h.Node {
				through := h.Text(principalWords(p.Subject))
				if p.Subject == c.Subject.Subject {
					through = directly()
				}
				return h.Tr(
					piece.RowHead(h.Text(tables.Title(p.Kind, p.Namespace, p.Name))),
					h.Td(h.Text(p.Effect)),
					h.Td(through),
					piece.Td("small where", c.place(p.Source)),
				)
			}))))),
	}
}

// bound is the bindings, or why none is shown.
func (c *subjectContent) bound() h.Node {
	switch {
	case len(c.Bindings) > 0:
		return h.Group{
			h.Table(h.Class("stacked held"), h.Aria("label", "Bindings"),
				piece.Head(piece.Columns("Role", "Permits", "In", "Through", "Binding")),
				h.TBody(piece.Each(c.Bindings, c.binding))),
			c.links(),
		}
	case c.Self:
		return piece.P("empty", h.Text("No binding names you or one of your groups. Ask those who write the documents for one."))
	}
	return piece.P("empty", h.Text("No binding names "+principalWords(c.Subject.Subject)+". A name is compared exactly: "),
		piece.A(whoCanPath+"?resource=pods&all=1", h.Text("all subjects")), h.Text(" are in Who can."))
}

// binding is a row. A caller who asks about itself may not see roles, groups and documents.
func (c *subjectContent) binding(b *console.Held) h.Node {
	role, through := h.Text(tables.Title(b.Role.Kind, b.Role.Namespace, b.Role.Name)), h.Text(principalWords(b.Subject))
	if !c.Self {
		role, through = piece.A(roleHref(b.Role.Family, b.Role.Namespace, b.Role.Name), role), piece.A(subjectHref(b.Subject), through)
	}
	if b.Subject == c.Subject.Subject {
		through = directly()
	}
	permits := piece.Note("muted", "no rule")
	if b.Role.Text != "" {
		permits = h.Text(b.Role.Text)
	}
	return h.Tr(piece.RowHead(role), piece.Td("what small", permits, h.If(b.Role.Rules > 3, h.Group{h.Text(" "), piece.Note("muted", "and more, "+piece.Plural(b.Role.Rules, "rule"))})),
		h.Td(within(&b.BindingOf)),
		h.Td(through),
		piece.Td("small by", h.Text(tables.Title(b.Kind, b.Namespace, b.Name)), h.Br(), c.place(b.Source)))
}

func directly() h.Node { return piece.Note("muted", "directly") }

// place is where something is written, with a link for those who may follow it.
func (c *subjectContent) place(source string) h.Node {
	if c.Self {
		return h.Text(source)
	}
	return piece.Place(source)
}

// groups are those whose bindings the list has too.
func (c *subjectContent) groups() h.Node {
	list := strings.Join(c.Groups, ", ") + "."
	if c.Self {
		return piece.P("small muted", h.Text("With your groups: "+list))
	}
	return piece.P("small muted", h.Text("With the groups that every API server adds to this name: "+list+" The documents do not know which further groups a user is in: "),
		piece.A(c.Ask, h.Text("ask")), h.Text(" with them."))
}

// within is where a binding holds, and until when.
func within(b *console.BindingOf) h.Node {
	in := h.Group{h.Text("every namespace")}
	if b.In != "" {
		in = h.Group{piece.Note("narrow muted", "in "), h.Text(b.In)}
	}
	return append(in, h.If(b.Until != "", h.Group{h.Text(" "), piece.Note("small muted", "until "+b.Until)}))
}

func (c *roleContent) html() h.Node {
	content := piece.Div("card empty", h.H2(h.Text("Name a role")), h.P(h.Text("Its rules stand here, and who holds it where. "), piece.A("/page/documents", h.Text("Documents")), h.Text(" lists the rules of all roles.")))
	switch {
	case c.Role != nil:
		content = c.found()
	case c.Missing != "":
		content = piece.Div("card empty", h.H2(h.Text("No role is called "+c.Missing)),
			h.P(h.Text("A role of a namespace is written NAMESPACE/NAME. "), piece.A("/page/documents", h.Text("Documents")), h.Text(" lists the rules of all roles.")))
	}
	return h.Group{
		piece.Tabs("Question", c.Tabs),
		piece.Div("stack", piece.Ask(rolePath, "card line top-aligned one", "Question", c.Form.shown(), piece.Submit("Show")), content),
	}
}

// found is the rules of the role, and who holds it.
func (c *roleContent) found() h.Node {
	rules := piece.P("empty", h.Text("The role has no rules: who holds it may do nothing by it."))
	holders := piece.P("empty", h.Text("No binding refers to this role. Bind it to a subject, or remove it."))
	if len(c.Rules) > 0 {
		rules = h.Group{
			h.Table(h.Class("stacked rules"), h.Aria("label", "Rules"),
				piece.Head(piece.Columns("Verbs", "On", "Line"), piece.NumberColumn("Decided")),
				h.TBody(piece.Each(c.Rules, roleRule))),
			h.If(c.MoreRules > 0, piece.P("muted", h.Text("and "+piece.Plural(c.MoreRules, "rule")+" more, in its document."))),
		}
	}
	if len(c.Holders) > 0 {
		holders = h.Group{
			h.Table(h.Class("stacked"), h.Aria("label", "Who holds it"), piece.Head(piece.Columns("Subject", "In", "Binding", "Line")), h.TBody(piece.Each(c.Holders, func(b *console.BindingOf) h.Node {
				return h.Tr(
					piece.RowHead(piece.A(subjectHref(b.Subject), h.Text(principalWords(b.Subject)))),
					h.Td(within(b)),
					h.Td(h.Text(tables.Title(b.Kind, b.Namespace, b.Name))),
					piece.Td("small where", piece.Place(b.Source)),
				)
			}))),
			c.links(),
		}
	}
	return h.Group{
		piece.Titled("rules", h.Group{h.Text("Rules "), piece.Span("small muted", h.Text(c.Kind+" "), piece.Place(c.Source))}, rules),
		piece.Titled("holders", piece.Heading("Who holds it", piece.Plural(c.Total, "subject")), holders),
	}
}

func roleRule(r *console.RoleRule) h.Node {
	on := h.Group{h.Text(strings.Join(r.Paths, ", "))}
	if len(r.Paths) == 0 {
		on = h.Group{h.Text(strings.Join(r.Resources, ", "))}
		if of := groupWords(r.APIGroups); of != "" {
			on = append(on, h.Text(" "), piece.Note("muted", "of "+of))
		}
	}
	return h.Tr(piece.RowHead(h.If(r.Effect == "Deny", h.Group{piece.Note("pill deny", "denies"), h.Text(" ")}), h.Text(strings.Join(r.Verbs, ", "))),
		piece.Td("what", on, h.If(r.Condition != "", below(r.Condition))), piece.Td("small where", piece.Place(r.Source)), piece.Td("num", decided(r.Decided)))
}

// maxRoleRules bounds the rules of a role that are shown.
const maxRoleRules = 200

// questionTabs are the tabs of the questions who and what, as far as a caller may ask them.
func questionTabs(q *question, current string) []piece.Tab {
	tabs := []piece.Tab{{Name: "Who can", Href: whoCanPath}, {Name: "What can", Href: whatCanPath}, {Name: "Subject", Href: subjectPath}, {Name: "Role", Href: rolePath}}
	if !q.caller.SeesAll {
		tabs = tabs[1:3]
	}
	for i := range tabs {
		tabs[i].Current = tabs[i].Name == current
	}
	return tabs
}

func newHolding(q *question, form *pointForm, current string) holding {
	h := holding{Tabs: questionTabs(q, current), Form: form.read(q.query, nil), Self: !q.caller.SeesAll}
	h.Form.setSelf(h.Self)
	return h
}

// subject is the view of a subject. A caller who is not an auditor sees itself.
func subject(_ context.Context, q *question) (frame, error) {
	if !q.caller.SeesAll && q.value("subject") == "" {
		q.query.Set("subject", q.caller.User)
	}
	c := subjectContent{holding: newHolding(q, subjectForm, "Subject")}
	shown := frame{Title: "Subject", Lead: "What the documents bind to a user or a group.", Live: "revision", Content: &c}
	name := q.value("subject")
	if name == "" {
		return shown, nil
	}
	found, err := q.Subject(q.caller, name, 0, q.value("after"))
	if err != nil {
		return frame{}, err
	}
	c.Subject = found
	c.pages(q, subjectPath, found.After)
	shown.Title, shown.Lead = accountName(found.Name), "A "+found.Kind+", and what the documents bind to it."
	c.What = whoCanPath + "?" + url.Values{"of": {"what"}, "subject": {found.Subject}}.Encode()
	user, groups := found.Name, found.Groups
	if tables.ParseSubject(found.Subject).IsGroup {
		user, groups = "", []string{found.Name}
	}
	c.Ask = askHref("access", jsontext.Encode(map[string]any{"user": user, "groups": elements.NotNil(groups)}))
	if user != "" && q.caller.SeesAll {
		c.Log = "/page/log?" + url.Values{"user": {user}}.Encode()
		c.Sessions = sessionsPath + "?" + url.Values{"user": {user}}.Encode()
	}
	return shown, nil
}

// role is the view of a role.
func role(_ context.Context, q *question) (frame, error) {
	c := roleContent{holding: newHolding(q, roleForm, "Role")}
	shown := frame{Title: "Role", Lead: "What a role permits, and who holds it where.", Live: "revision", Content: &c}
	asked := q.value("role")
	if asked == "" {
		return shown, nil
	}
	namespace, name, isNamespaced := strings.Cut(asked, "/")
	if !isNamespaced {
		namespace, name = "", asked
	}
	found, err := q.Role(q.caller, console.RoleQuery{Family: q.value("family"), Namespace: namespace, Name: name, After: q.value("after")})
	if isReason(err, console.NotFound) {
		c.Missing, shown.Status = asked, http.StatusNotFound
		return shown, nil
	}
	if err != nil {
		return frame{}, err
	}
	c.Role = found
	c.pages(q, rolePath, found.After)
	if c.MoreRules = len(found.Rules) - maxRoleRules; c.MoreRules > 0 {
		few := *found
		few.Rules = found.Rules[:maxRoleRules]
		c.Role = &few
	}
	shown.Title = asked
	shown.Lead = "A " + found.Kind + ", what it permits, and who holds it where."
	return shown, nil
}

// subjectHref is the address of the view of a principal, user:NAME or group:NAME.
func subjectHref(principal string) string {
	return subjectPath + "?" + url.Values{"subject": {principal}}.Encode()
}

// roleHref is the address of the view of a role. An empty family is the one that has it.
func roleHref(family, namespace, name string) string {
	query := url.Values{"role": {tables.FullName(namespace, name)}}
	if family != "" {
		query.Set("family", family)
	}
	return rolePath + "?" + query.Encode()
}

// matchedRoleHref is the address of the view of the role that a rule stands in, or that its
// binding applies; empty for a rule of another document.
func matchedRoleHref(m *console.Matched) string {
	switch {
	case m.Role == nil:
		return ""
	case strings.HasPrefix(m.APIVersion, "writ.dev/"):
		return roleHref("origin", m.Role.Namespace, m.Role.Name)
	}
	return roleHref("", m.Role.Namespace, m.Role.Name)
}

// maxSubjects is how many subjects of a request have a link.
const maxSubjects = 4

// subjectsOf are links to the bindings of the user and the groups of a request. A caller who
// is not an auditor has one to its own.
func subjectsOf(request json.RawMessage, c console.Caller) []piece.Tab {
	a := aboutOf(request)
	if !c.SeesAll {
		return []piece.Tab{{Name: "Your bindings", Href: subjectPath}}
	}
	var tabs []piece.Tab
	if a.User != "" {
		tabs = append(tabs, piece.Tab{Name: "Bindings of " + a.User, Href: subjectHref(tables.User(a.User))})
	}
	for _, group := range a.Groups {
		tabs = append(tabs, piece.Tab{Name: "of group " + group, Href: subjectHref(tables.Group(group))})
	}
	return tabs[:min(len(tabs), maxSubjects)]
}

// accountName is NAMESPACE/NAME of a service account, and the name of any other user or group.
func accountName(user string) string {
	if account, ok := strings.CutPrefix(user, tables.AccountPrefix); ok {
		return strings.Replace(account, ":", "/", 1)
	}
	return user
}

// principalWords is a principal in words: user NAME, group NAME or service account NS/NAME.
func principalWords(principal string) string {
	if user, ok := strings.CutPrefix(principal, tables.UserPrefix); ok && accountName(user) != user {
		return "service account " + accountName(user)
	}
	return strings.Replace(principal, ":", " ", 1)
}

// groupWords are API groups, with a name for the core group; empty for the core group alone.
func groupWords(groups []string) string {
	if len(groups) == 1 && groups[0] == "" {
		return ""
	}
	words := make([]string, len(groups))
	for i, group := range groups {
		if words[i] = group; group == "" {
			words[i] = "core"
		}
	}
	return strings.Join(words, ", ")
}
