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

const compilePath = "/v1/compile"

// compileAttack asks for the same conditions as clients of OPA do.
var compileAttack = &attack{
	target: "FuzzCompile",
	routes: []string{"POST " + compilePath + "/*path"},
	draw: func(d random.Source, s *site, _ string) *request {
		drawn := s.drawAccess(d)
		for drawn.Path != "" {
			drawn = s.drawAccess(d)
		}
		asked := strict([]byte(drawn.JSON()))
		delete(asked, "name")
		delete(asked, "namespace")
		path := compilePath + "/writ/access/decision/allowed"
		if d.Once(3) {
			path = compilePath + "/writ/visibility/decision/visible"
			asked = map[string]any{"user": drawn.User, "groups": texts(drawn.Groups), "cluster": map[string]any{"name": "c"}, "type": "pods"}
		}
		r := post(d, path, written(map[string]any{"input": asked, "options": map[string]any{"explicit": true}}))
		r.set("Accept", "application/vnd.opa."+d.One([]string{"ucast.all", "sql.postgresql", "sql.mysql", "sql.sqlite"})+"+json")
		return r
	},
	judge: func(x *exchange) string {
		body, answer := strict(x.body), x.decoded()
		asked, _ := body["input"].(map[string]any)
		isVisible := strings.Contains(x.sent.URL.Path, "visibility")
		if isVisible && body["unknowns"] == nil && answer["result"] != nil && !strings.Contains(written(answer), "1 = 0") && !strings.Contains(written(answer), `"value":[]`) {
			return "rows are visible by documents that say nothing of it"
		}
		return x.judgeKind(asked, isVisible, body["unknowns"] == nil)
	},
}

// FuzzCompile asks for conditions in OPA's form.
func FuzzCompile(f *testing.F) { compileAttack.fuzz(f) }

// judgeFilter compares filters that hold for every row or for none with what the oracle
// decides of some rows. No document of these sites is about visibility.
func judgeFilter(x *exchange) string {
	body := strict(x.body)
	asked, _ := body["request"].(map[string]any)
	return x.judgeKind(asked, x.sent.URL.Path == visibilityFilterPath, body["open"] == nil)
}

// judgeKind is judgeFilter for a request of a body; isUsual states that the usual members are
// open.
func (x *exchange) judgeKind(asked map[string]any, isVisibility, isUsual bool) string {
	kind, _ := x.decoded()["kind"].(string)
	switch {
	case isVisibility && kind != "never":
		return "rows are visible by documents that say nothing of it: " + kind
	case isVisibility || !isUsual || kind == "conditional":
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
