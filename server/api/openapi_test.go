package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/metrics"
	described "github.com/writ-policy/writ/tests/openapi"
)

// The document of each listener is valid, and has the routes of the listener with a
// summary and a role.
func TestDocumentsHaveTheRoutes(t *testing.T) {
	_, o := endpoints(&fake{}, func(o *Options) {
		o.Poke, o.PokeSecret = func() {}, func() []byte { return nil }
		o.Console = closedConsole(o)
	})
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
