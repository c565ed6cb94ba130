package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// question is a request for a view, and who may answer it.
type question struct {
	console.Viewer
	caller console.Caller
	query  url.Values
	// path is the rest of the path, such as the name of a file.
	path string
	// base is the scheme and host of the endpoints for decisions.
	base      string
	evalFlags []string
	// posted is the form of a POST; nil for a GET.
	posted *multipart.Form
	now    time.Time
}

// value is a value of the query, without blanks around it.
func (q *question) value(name string) string { return strings.TrimSpace(q.query.Get(name)) }

// content returns what a view shows: the frame without what all views have.
type content func(ctx context.Context, q *question) (frame, error)

// view answers requests for a view. Callers that are not auditors see it only if it is
// for everybody; what they see then is decided by the Viewer.
func (p *page) view(everybody bool, show content) http.HandlerFunc {
	return p.viewWithin(everybody, p.places, viewTime, show)
}

// viewWithin is view with other places and another time.
func (p *page) viewWithin(everybody bool, places chan struct{}, within time.Duration, show content) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		caller, err := p.Caller(r)
		switch {
		case errors.Is(err, ErrUnavailable):
			p.fail(w, r, caller, failure{status: http.StatusServiceUnavailable, title: "Not available", text: "Credentials cannot be checked at the moment. Try again later.", next: tryAgain})
			return
		case err != nil:
			p.showSignIn(w, r, http.StatusUnauthorized, signInForm{To: r.URL.RequestURI()})
			return
		case !everybody && !caller.SeesAll:
			p.fail(w, r, caller, forbidden)
			return
		}
		if short := withoutEmpty(r.URL); short != "" {
			http.Redirect(w, r, short, http.StatusFound)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), within)
		defer cancel()
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			w.Header().Set("Retry-After", "1")
			p.fail(w, r, caller, slow)
			return
		}
		q := &question{
			Viewer: p.Console.Now(), caller: caller, query: r.URL.Query(), path: r.PathValue("path"), base: p.Endpoints(r.Host), evalFlags: p.EvalFlags, now: p.Now(),
		}
		if r.Method == http.MethodPost {
			r.Body = http.MaxBytesReader(w, r.Body, maxProposal)
			if err := r.ParseMultipartForm(maxProposal); err != nil {
				p.fail(w, r, caller, failure{status: http.StatusBadRequest, title: "The form cannot be read", text: "Documents of a form may have 4 MiB together. POST /v1/diff takes more.", next: piece.Tab{Name: "Back", Href: r.URL.Path}})
				return
			}
			q.posted = r.MultipartForm
		}
		shown, err := show(ctx, q)
		if err != nil {
			p.fail(w, r, caller, failureOf(err, q.Status(caller)))
			return
		}
		shown.Status = cmp.Or(shown.Status, http.StatusOK)
		p.write(w, r, shown.Status, p.frame(r, q.Status(caller), caller, shown))
	}
}

// withoutEmpty is the address without empty values of the query, which forms send. It is
// empty for an address that has no such values.
func withoutEmpty(u *url.URL) string {
	hasEmpty := false
	for _, values := range u.Query() {
		hasEmpty = hasEmpty || slices.Contains(values, "")
	}
	if !hasEmpty {
		return ""
	}
	return withValue(u.EscapedPath(), u.Query(), "", "")
}

// carry is the question for a shell and for a test. The lines hold no token. at is when the
// request is decided; empty means now.
func carry(q *question, point string, request json.RawMessage, e *console.Explanation, at string) []carried {
	curl := "curl -s " + shell(q.base+"/v1/decisions/"+point) + " -H 'Content-Type: application/json' -d " + shell(string(request))
	if q.caller.User != "" {
		curl += ` -H "Authorization: Bearer $WRIT_TOKEN"`
	}
	eval := "printf '%s\\n' " + shell(string(request)) + " | writ eval " + evalFlags(q) + " --point " + point
	note := "asks this server"
	if at != "" {
		note = "asks this server, at the present time"
		eval += " --now " + shell(at)
	} else {
		at = q.now.UTC().Format(time.RFC3339)
	}
	return []carried{
		{"carry-curl", "curl", note, curl},
		{"carry-eval", "eval", "asks the documents", eval},
		{"carry-test", "DecisionTest", "a test beside the documents", decisionTest(point, request, e, at)},
	}
}

// evalFlags are the arguments of writ eval. A caller who may not know where the documents
// come from names the directory.
func evalFlags(q *question) string {
	words := q.evalFlags
	if !q.caller.SeesAll {
		words = []string{"--policies", "policies"}
	}
	quoted := make([]string, 0, len(words))
	for _, word := range words {
		if strings.Trim(word, plainLetters) != "" {
			word = shell(word)
		}
		quoted = append(quoted, word)
	}
	return strings.Join(quoted, " ")
}

// plainLetters need no quotes in a shell.
const plainLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./="

// shell quotes a text for a POSIX shell.
func shell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// decisionTest is a test that expects the decision, at the time of the question: a decision
// may depend on it. JSON is YAML.
func decisionTest(point string, request json.RawMessage, e *console.Explanation, at string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(e.Decision, &members); err != nil {
		return ""
	}
	expected := map[string]json.RawMessage{"allowed": members["allowed"], "denied": members["denied"]}
	if point == "visibility" {
		expected = map[string]json.RawMessage{"decision": members["decision"]}
	}
	return "apiVersion: writ.dev/v1\nkind: DecisionTest\nmetadata: {name: asked}\nspec:\n  point: " + point + "\n  now: " + string(jsontext.Encode(at)) +
		"\n  cases:\n    - name: " + string(jsontext.Encode(caseName(request))) +
		"\n      request: " + string(request) + "\n      expect: " + string(jsontext.Encode(expected)) + "\n"
}

// caseName says in short what a request asks for.
func caseName(request json.RawMessage) string {
	return strings.TrimSpace(who(request) + " " + what(request))
}
