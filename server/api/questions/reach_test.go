package questions_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReach(t *testing.T) {
	h := open(t, 1<<20)
	get := func(h http.Handler, token, query string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/reach"+query, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	const account = "user:system:serviceaccount:lab:default"
	for name, row := range map[string]struct {
		token, query string
		status       int
		part         string
	}{
		"a path":                        {"t-auditor", "?from=user:maker&to=" + account, 200, `"edge":"workload-create"`},
		"what it leaves out":            {"t-auditor", "?from=user:maker&to=" + account, 200, "Policies and PolicyBindings of writ.dev"},
		"its line":                      {"t-auditor", "?from=user:maker&to=" + account, 200, `"cuts":[{"kind":"RoleBinding"`},
		"of a class":                    {"t-auditor", "?from=user:maker&to=" + account + "&class=certain&paths=2", 200, `"class":"certain"`},
		"no path":                       {"t-auditor", "?from=user:a&to=" + account, 200, `"paths":[]`},
		"without subject and target":    {"t-auditor", "", 200, `"paths":[]`},
		"principals held together":      {"t-auditor", "?from=user:x,user:maker&to=" + account, 200, `"paths":[`},
		"for others":                    {"t-a", "?from=user:a", 403, ""},
		"a subject without a kind":      {"t-auditor", "?from=maker", 400, `"field":"from"`},
		"a target without a kind":       {"t-auditor", "?to=maker", 400, `"field":"to"`},
		"an unknown role":               {"t-auditor", "?to=ROLE:none", 400, `"field":"to"`},
		"an empty target":               {"t-auditor", "?to=", 400, `"field":"to"`},
		"an unknown class":              {"t-auditor", "?class=sure", 400, `"field":"class"`},
		"too many paths":                {"t-auditor", "?paths=11", 400, `"field":"paths"`},
		"an unknown parameter":          {"t-auditor", "?form=x", 400, `"field":"form"`},
		"a parameter twice":             {"t-auditor", "?class=certain&class=possible", 400, `"field":"class"`},
		"a malformed query":             {"t-auditor", "?%zz", 400, ""},
		"many principals":               {"t-auditor", "?from=" + strings.Repeat("group:g,", 101) + "user:a", 400, `"field":"from"`},
		"administrators of a namespace": {"t-auditor", "?from=user:maker&namespace=lab&cluster=prod-1", 200, `"revision":`},
	} {
		t.Run(name, func(t *testing.T) {
			if status, text := get(h, row.token, row.query); status != row.status || !strings.Contains(text, row.part) {
				t.Errorf("got %d %s, want %d with %q", status, text, row.status, row.part)
			}
		})
	}
	if status, text := get(open(t, 100), "t-auditor", "?from=user:maker&to="+account); status != 413 || !strings.Contains(text, "--max-answer") {
		t.Errorf("got %d %s, want 413", status, text)
	}
}
