package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/api/openapi"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/metrics"
	described "github.com/writ-policy/writ/tests/openapi"
)

// The document of each listener is valid, and has the routes of the listener with a
// summary and a role.
func TestDocumentsHaveTheRoutes(t *testing.T) {
	_, o := endpoints(&fake{}, func(o *Options) { o.Poke, o.PokeSecret = func() {}, func() []byte { return nil } })
	admin := AdminOptions{RevisionStore: &keeping{}, Metrics: metrics.New(), Rule: auth.Rule{Authenticator: tokens(t, "t,olga,1,ops\n"), Operators: []string{"ops"}}}
	for name, h := range map[string]http.Handler{"callers": New(o), "metrics": NewMetrics(o), "operators": NewAdmin(admin)} {
		document, err := described.Read(h, "Bearer t")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want []string
		for _, route := range h.(*gin.Engine).Routes() {
			if route.Method != http.MethodHead {
				want = append(want, route.Method+" "+templateOf(route.Path))
			}
		}
		got := document.Operations()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func templateOf(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if name := strings.TrimLeft(part, ":*"); name != part {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// Each operation states what it does and in which group, has an id of its own, and the
// parameters of its path.
func TestOperationsAreDescribed(t *testing.T) {
	_, o := endpoints(&fake{}, nil)
	w := httptest.NewRecorder()
	New(o).ServeHTTP(w, httptest.NewRequest(http.MethodGet, openapi.Path, nil))
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string
			Summary     string
			Tags        []string
			Parameters  []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil || len(document.Paths) < 20 {
		t.Fatalf("%v: %d paths", err, len(document.Paths))
	}
	ids := make(map[string]bool)
	for path, item := range document.Paths {
		for method, operation := range item {
			if !strings.HasSuffix(operation.Summary, ".") || len(operation.Tags) != 1 || operation.Tags[0] == "" {
				t.Errorf("%s %s: got %+v", method, path, operation)
			}
			template := path
			for _, p := range operation.Parameters {
				if p.In == "path" && strings.Contains(template, "{"+p.Name+"}") {
					template = strings.Replace(template, "{"+p.Name+"}", "", 1)
				} else if p.In == "path" {
					t.Errorf("%s %s: the path has no parameter %s", method, path, p.Name)
				}
			}
			if strings.Contains(template, "{") {
				t.Errorf("%s %s: the parameters are not those of the path: %+v", method, path, operation.Parameters)
			}
			if ids[operation.OperationID] {
				t.Errorf("two operations have the id %s", operation.OperationID)
			}
			ids[operation.OperationID] = true
		}
	}
}
