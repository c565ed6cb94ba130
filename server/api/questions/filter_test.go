package questions_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestFilters wants a condition from every caller who is authenticated, about anybody.
func TestFilters(t *testing.T) {
	for _, row := range []struct {
		name, point, token, body string
		status                   int
		want                     string // in the body
	}{
		{"about another user", "access", "t-a", `{"request":{"user":"b","verb":"get","resource":"pods"},"target":"sql+sqlite"}`, 200, `"kind":"always"`},
		{"of a namespace", "access", "t-a", `{"request":{"user":"x","verb":"get","resource":"pods"},"target":"kubernetes"}`, 200, `"requests":[],"residual":null`},
		{"nothing is visible", "visibility", "t-a", `{"request":{"user":"b","type":"pods"},"target":"ucast+all"}`, 200, `"value":[]`},
		{"when it ends", "access", "t-a", `{"request":{"user":"c","verb":"get","resource":"secrets"},"target":"cel"}`, 200, `"until":`},
		{"without credentials", "access", "", `{"request":{"user":"b","verb":"get","resource":"pods"},"target":"sql+sqlite"}`, 401, "the server can authenticate"},
		{"an unknown target", "access", "t-a", `{"request":{"user":"b","verb":"get","resource":"pods"},"target":"sql"}`, 400, `"field":"target"`},
		{"an open attribute", "access", "t-a", `{"request":{"user":"b","verb":"get","resource":"pods","name":"x"},"target":"cel"}`, 400, `"field":"request.name"`},
		{"malformed columns", "visibility", "t-a", `{"request":{"user":"b","type":"pods"},"target":"cel","columns":{"labels":"x"}}`, 400, `"field":"columns.labels"`},
		{"an item", "visibility", "t-a", `{"request":{"user":"b","type":"pods","items":[]},"target":"cel"}`, 400, `"code":"invalid_request"`},
		{"a pattern that no database can say", "access", "t-a", `{"request":{"user":"b","verb":"get","resource":"configmaps"},"target":"sql+sqlite","columns":{"namespaceLabels":null},"open":["name"]}`, 422, `"code":"untranslatable","message":"pattern \"db[^a]\" (all.yaml:`},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/filters/"+row.point, strings.NewReader(row.body))
			r.Header.Set("Content-Type", "application/json")
			if row.token != "" {
				r.Header.Set("Authorization", "Bearer "+row.token)
			}
			w := httptest.NewRecorder()
			open(t, 0).ServeHTTP(w, r)
			if w.Code != row.status || !strings.Contains(w.Body.String(), row.want) || !json.Valid(w.Body.Bytes()) {
				t.Errorf("got %d %s, want %d with %s", w.Code, w.Body, row.status, row.want)
			}
		})
	}
}
