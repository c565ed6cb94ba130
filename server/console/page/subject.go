package page

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/writ-policy/writ/server/console"
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
	Tabs []tab
	Form *asked
	Self bool
	// First and Next lead to other pages.
	First, Next string
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

// maxRoleRules bounds the rules of a role that are shown.
const maxRoleRules = 200

// questionTabs are the tabs of the questions who and what, as far as a caller may ask them.
func questionTabs(q *question, current string) []tab {
	tabs := []tab{{Name: "Who can", Href: whoCanPath}, {Name: "What can", Href: whatCanPath}, {Name: "Subject", Href: subjectPath}, {Name: "Role", Href: rolePath}}
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

// pages fills in the links to other pages of a list.
func (h *holding) pages(q *question, path, next string) {
	if q.value("after") != "" {
		h.First = withValue(path, q.query, "after", "")
	}
	if next != "" {
		h.Next = withValue(path, q.query, "after", next)
	}
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
	c.Ask = askHref("access", encode(map[string]any{"user": user, "groups": anyOf(groups)}))
	if user != "" && q.caller.SeesAll {
		c.Log = "/page/log?" + url.Values{"user": {user}}.Encode()
		c.Sessions = sessionsPath + "?" + url.Values{"user": {user}}.Encode()
	}
	return shown, nil
}

func anyOf(list []string) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
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
	query := url.Values{"role": {strings.TrimPrefix(namespace+"/"+name, "/")}}
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
func subjectsOf(request json.RawMessage, c console.Caller) []tab {
	a := aboutOf(request)
	if !c.SeesAll {
		return []tab{{Name: "Your bindings", Href: subjectPath}}
	}
	var tabs []tab
	if a.User != "" {
		tabs = append(tabs, tab{Name: "Bindings of " + a.User, Href: subjectHref(tables.User(a.User))})
	}
	for _, group := range a.Groups {
		tabs = append(tabs, tab{Name: "of group " + group, Href: subjectHref(tables.Group(group))})
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
