package page

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// failure is why a view is not shown: a sentence for its reader, and what to do. The zero
// value means that it is shown.
type failure struct {
	status      int
	title, text string
	next        piece.Tab // what to do; without a name it is the start of the view
}

var (
	notFound  = failure{status: http.StatusNotFound, title: "Not found", text: "The page has no such view."}
	forbidden = failure{status: http.StatusForbidden, title: "Not permitted", text: "Only members of a group of --auditors may see this. Everybody may ask about themselves.", next: piece.Tab{Name: "Ask", Href: "/page/ask"}}
	slow      = failure{status: http.StatusServiceUnavailable, title: "Too slow", text: "The view took longer than a second. Ask for less, or try again.", next: tryAgain}
	tryAgain  = piece.Tab{Name: "Try again"}
)

// failureOf is the failure of an error of a Viewer.
func failureOf(err error, s *console.Status) failure {
	var refused *console.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return slow
	case !errors.As(err, &refused):
		return failure{status: http.StatusInternalServerError, title: "An error of the server", text: "The view cannot be shown. The log of the server has the cause.", next: tryAgain}
	}
	text := sentence(refused.Message)
	switch refused.Reason {
	case console.Invalid, console.Mistaken:
		return failure{status: http.StatusBadRequest, title: "Invalid request", text: text}
	case console.Forbidden:
		return forbidden
	case console.NotFound:
		return failure{status: http.StatusNotFound, title: "Not found", text: text}
	case console.NotReady:
		return failure{status: http.StatusServiceUnavailable, title: "Not ready", text: notReady(s), next: tryAgain}
	case console.Busy, console.Pending:
		return failure{status: http.StatusServiceUnavailable, title: "Busy", text: text, next: tryAgain}
	case console.Internal:
	}
	return failure{status: http.StatusInternalServerError, title: "An error of the server", text: text, next: tryAgain}
}

// notReady says why no revision is served; empty if one is.
func notReady(s *console.Status) string {
	switch {
	case s.Revision != "":
		return ""
	case s.LastError != "":
		return "No revision is served: " + strings.TrimSuffix(s.LastError, ".") + "."
	}
	return "No revision is served yet."
}

// sentence is a message with a capital letter and a full stop.
func sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(message[size:], ".") + "."
}

// failed is the content of the view of a failure.
type failed struct {
	Title, Text string
	Next        piece.Tab
	// Bare is true if the frame has no heading.
	Bare bool
}

func (f *failed) html() h.Node {
	class := "card empty"
	if f.Bare {
		class += " sign"
	}
	return h.Section(h.Class(class), h.Aria("label", f.Title), h.If(f.Bare, h.H1(h.Text(f.Title))), h.P(h.Text(f.Text)), h.P(piece.Button(f.Next.Href, f.Next.Name)))
}

// fail shows a failure. A caller who is not known sees no navigation.
func (p *page) fail(w http.ResponseWriter, r *http.Request, caller console.Caller, f failure) {
	isKnown := caller.SeesAll || caller.User != ""
	if !isKnown && f.next == tryAgain {
		f.next.Href = views[0].Href // the address that was asked for may name a document
	}
	shown := frame{Title: f.title, Bare: true, Plain: f.status == http.StatusMisdirectedRequest, IsFailure: true, Content: &failed{f.title, f.text, nextOf(r, f.next), !isKnown}}
	if isKnown {
		shown = p.frame(r, p.Console.Now().Status(caller), caller, shown)
	}
	p.write(w, r, f.status, shown)
}

// nextOf is what a reader may do: the same again, or the start of the view.
func nextOf(r *http.Request, next piece.Tab) piece.Tab {
	switch {
	case next == tryAgain:
		next.Href = r.URL.RequestURI()
		return next
	case next.Href != "":
		return next
	}
	for _, v := range views[1:] {
		if strings.HasPrefix(r.URL.Path, v.Href) && r.URL.RequestURI() != v.Href {
			return piece.Tab{Name: v.Name, Href: v.Href}
		}
	}
	return views[0]
}
