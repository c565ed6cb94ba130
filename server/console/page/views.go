package page

import (
	"context"
	"net/http"

	"github.com/writ-policy/writ/server/console"
)

// views are those of the navigation, in its order.
var views = []tab{
	{Name: "Overview", Href: "/page/", Icon: "overview", Key: "o"},
	{Name: "Ask", Href: "/page/ask", Icon: "ask", Key: "a"},
	{Name: "Who can", Href: "/page/who-can", Icon: "matrix", Key: "w"},
	{Name: "Sessions", Href: sessionsPath, Icon: "clock", Key: "e"},
	{Name: "Risks", Href: risksPath, Icon: "warning", Key: "r"},
	{Name: "Documents", Href: "/page/documents", Icon: "document", Key: "d"},
	{Name: "Inheritance", Href: "/page/inheritance", Icon: "tree", Key: "i"},
	{Name: "Assertions", Href: assertionsPath, Icon: "proof", Key: "s"},
	{Name: "Changes", Href: "/page/changes", Icon: "changes", Key: "c"},
	{Name: "Log", Href: "/page/log", Icon: "log", Key: "l"},
}

// mux returns the routes of the page.
func (p *page) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, v := range []struct {
		path, file string
		everybody  bool
		show       content
	}{
		{"/page/{$}", "overview.html", true, overview},
		{"/page/ask", "ask.html", true, p.ask(accessForm)},
		{"/page/ask/visibility", "ask.html", true, p.ask(visibilityForm)},
		{"/page/ask/gateway", "ask.html", true, p.ask(gatewayForm)},
		{whoCanPath, "who_can.html", true, p.whoCan},
		{subjectPath, "subject.html", true, subject},
		{rolePath, "role.html", false, role},
		{sessionsPath, "sessions.html", false, emergency},
		{risksPath, "risks.html", false, risks},
		{"/page/documents", "documents.html", false, documents},
		{"/page/documents/{path...}", "document.html", false, document},
		{changesPath, "changes.html", false, changes},
		{proposalPath, "proposal.html", false, proposal},
		{inheritancePath, "inheritance.html", false, inheritance},
		{assertionsPath, "assertions.html", false, p.assertions},
		{"/page/log", "log.html", false, decisionLog},
	} {
		mux.Handle("GET "+v.path, p.view(v.file, v.everybody, v.show))
	}
	mux.Handle("POST "+proposalPath, p.viewWithin("proposal.html", false, p.proposals, proposalTime, propose))
	mux.Handle("POST "+assertionsPath, p.viewWithin("assertions.html", false, p.proposals, proposalTime, p.tryAssertion))
	mux.HandleFunc("GET "+assetPath+"{name}", p.asset)
	mux.HandleFunc("GET /page/sign-in", p.signInPage)
	mux.HandleFunc("POST /page/sign-in", p.signIn)
	mux.HandleFunc("POST /page/sign-out", p.signOut)
	mux.Handle("GET /page", http.RedirectHandler("/page/", http.StatusFound))
	mux.Handle("GET /page/", p.view("", true, func(context.Context, *question) (frame, error) {
		return frame{}, console.Errorf(console.NotFound, "the page has no such view")
	}))
	return mux
}
