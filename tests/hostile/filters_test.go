package hostile

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle/random"
)

const (
	accessFilterPath     = "/v1/filters/access"
	visibilityFilterPath = "/v1/filters/visibility"
)

var filterAttack = &attack{
	target: "FuzzFilter",
	routes: []string{"POST " + accessFilterPath, "POST " + visibilityFilterPath},
	draw: func(d random.Source, s *site, route string) *request {
		_, path, _ := strings.Cut(route, " ")
		drawn := s.drawAccess(d)
		for drawn.Path != "" {
			drawn = s.drawAccess(d)
		}
		asked := strict([]byte(drawn.JSON()))
		delete(asked, "name")
		delete(asked, "namespace")
		body := map[string]any{"request": asked, "target": d.One([]string{"ucast+all", "sql+postgresql", "sql+mysql", "sql+sqlite", "cel", "kubernetes"})}
		if path == visibilityFilterPath {
			body["request"] = map[string]any{"user": drawn.User, "groups": texts(drawn.Groups), "cluster": map[string]any{"name": "c"}, "type": "pods"}
		}
		return post(d, path, written(body))
	},
	judge: judgeFilter,
}

// FuzzFilter asks under which condition rows are allowed or visible.
func FuzzFilter(f *testing.F) { filterAttack.fuzz(f) }

// judgeFilter compares filters that hold for every row or for none with what the oracle
// decides of some rows. No document of these sites is about visibility.
func judgeFilter(x *exchange) string {
	kind, _ := x.decoded()["kind"].(string)
	if x.sent.URL.Path == visibilityFilterPath {
		if kind != "never" {
			return "rows are visible by documents that say nothing of it: " + kind
		}
		return ""
	}
	body := strict(x.body)
	asked, _ := body["request"].(map[string]any)
	if body["open"] != nil || kind == "conditional" {
		return ""
	}
	for _, namespace := range []string{"", "hammer", "anvil", "prod-1"} {
		for _, name := range []string{"", "a", "web-1"} {
			asked["namespace"], asked["name"] = namespace, name
			if r, ok := accessOf(asked); ok && x.site.allows(r) != (kind == "always") {
				return "the filter is " + kind + ", and the oracle decides otherwise: " + written(asked)
			}
		}
	}
	return ""
}
