package page

import (
	"net/http"
	"strings"
	"testing"
)

// An assertion is tried by the form, in each way to write it. Its mistakes are shown.
func TestTryAnAssertion(t *testing.T) {
	one := "{name: a, never: allowed, of: {verb: get}}"
	const body = `{"assertions":[{"name":"a","never":"allowed","of":{"verb":"get"}}]}`
	for name, row := range map[string]struct {
		text, token, want, verified string
		status                      int
	}{
		"an assertion":    {one, "auditor", "group dev may get secrets in prod-eu", body, http.StatusOK},
		"a list":          {"- " + one, "auditor", "only platform reads &lt;production&gt; secrets", body, http.StatusOK},
		"a spec":          {"assertions: [" + one + "]", "auditor", "Ask", body, http.StatusOK},
		"a document":      {"kind: Assertions\nspec: {assertions: [" + one + "]}", "auditor", "Ask", body, http.StatusOK},
		"a mistake":       {"{name: a, never: granted}", "auditor", "/assertions/0/never: &lt;granted&gt; is not a word.", "", http.StatusBadRequest},
		"not YAML":        {"{", "auditor", `role="alert"`, "", http.StatusBadRequest},
		"nothing":         {"", "auditor", "Write an assertion.", "", http.StatusBadRequest},
		"another caller":  {one, "developer", "auditors", "", http.StatusForbidden},
		"without a token": {one, "none", "Token", "", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Caller = byToken
			console := record(t)
			o.Console = console
			sent, contentType := form(t, map[string]string{"text": row.text}, nil)
			w := send(New(o), http.MethodPost, assertionsPath, sent, "Content-Type", contentType, "Authorization", "Bearer "+row.token)
			if w.Code != row.status || !strings.Contains(w.Body.String(), row.want) {
				t.Errorf("got %d %s, want %d and %s", w.Code, w.Body, row.status, row.want)
			}
			if row.verified != "" && console.verified != row.verified {
				t.Errorf("got %s, want %s", console.verified, row.verified)
			}
			if row.status != http.StatusUnauthorized {
				checkForm(t, name, w.Body.String())
			}
		})
	}
}
