package page

import (
	"context"
	"errors"
	"net/http"

	"github.com/writ-policy/writ/server/view"
)

// failure is why a view is not shown, in words for its reader. The zero value means that it is shown.
type failure struct {
	status      int
	title, text string
}

var (
	notFound  = failure{http.StatusNotFound, "Not found", "The page has no such view."}
	forbidden = failure{http.StatusForbidden, "Not permitted", "Only members of a group of --auditors may see this. Ask is for everybody."}
	slow      = failure{http.StatusServiceUnavailable, "Too slow", "The view took longer than a second. Ask for less, or try again."}
)

// failureOf is the failure of an error of a Viewer.
func failureOf(err error, s *view.Status) failure {
	var refused *view.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return slow
	case !errors.As(err, &refused):
		return failure{http.StatusInternalServerError, "An error of the server", "The view cannot be shown."}
	}
	switch refused.Reason {
	case view.Internal:
		return failure{http.StatusInternalServerError, "An error of the server", refused.Message}
	case view.Invalid:
		return failure{http.StatusBadRequest, "Not a question", refused.Message}
	case view.Forbidden:
		return forbidden
	case view.NotFound:
		return failure{http.StatusNotFound, "Not found", refused.Message}
	case view.NotReady:
		return notReady(s)
	case view.Busy, view.Pending:
		return failure{http.StatusServiceUnavailable, "Busy", refused.Message}
	}
	return failure{http.StatusInternalServerError, "An error of the server", refused.Message}
}

// notReady is the failure of every view while no revision is served.
func notReady(s *view.Status) failure {
	text := "No revision is served yet."
	if s.LastError != "" {
		text = "No revision is served: " + s.LastError
	}
	return failure{http.StatusServiceUnavailable, "Not ready", text}
}

// failed is the content of the view of a failure.
type failed struct {
	Title, Text string
	// Bare is true if the frame has no heading.
	Bare bool
}

// fail shows a failure. A caller who is not known sees no navigation.
func (p *page) fail(w http.ResponseWriter, r *http.Request, caller view.Caller, f failure) {
	isKnown := caller.SeesAll || caller.User != ""
	shown := frame{Title: f.title, Bare: true, Content: failed{f.title, f.text, !isKnown}}
	if isKnown {
		shown = p.frame(r, p.Console.Now().Status(caller), caller, shown)
	}
	p.templates.write(w, r, f.status, "failure.html", shown)
}
