package verify_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/assertion"
)

// pointWorld makes random documents, classes and requests of one point.
type pointWorld struct {
	point     string
	documents func(w writer) []string
	class     func(w writer) object
	request   func(w writer) object
	// isIn reports whether a request is in a class, by reading the class alone.
	isIn func(c *assertion.Class, r object, decision object, named func(string) bool) bool
}

func documentOf(kind string, o object) string {
	o["kind"] = kind
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

var monitoring = pointWorld{
	point: "visibility",
	documents: func(w writer) []string {
		var out []string
		for i := range 4 {
			var rules []any
			for range w.IntN(3) {
				selector := w.choose(object{"matchNames": []any{w.Pick("prod-1", "dev-1")}}, object{"matchPattern": w.Pick("^prod-", "1$", "dev", "(?i)^DEV", "^(?i)k$", "^[ -~]*$", "[^a-z0-9-]")}, object{"matchLabels": object{"env": w.Pick("prod", "dev")}})
				rule := object{"selector": selector}
				if w.IntN(3) == 0 {
					rule["permissions"] = object{"view": w.IntN(3) > 0, "viewMetrics": w.IntN(2) == 0}
				}
				if w.IntN(2) == 0 {
					rule["resources"] = []any{object{"type": w.Pick("pods", "pvc", "namespaces"), "visibility": w.Pick("all", "none", "filtered"),
						"filters": object{"names": object{"allowed": []any{w.Pick("a*", "web")}, "denied": []any{w.Pick("*x", "web")}}}}}
				}
				rules = append(rules, rule)
			}
			subjects := object{"users": []any{w.Pick("u0", "u1", "system:serviceaccount:ns:bot")}, "groups": []any{w.Pick("g0", "g1", "g2")}}
			out = append(out, documentOf("MonitorAccessPolicy", object{"apiVersion": "clusterpulse.io/v1alpha1", "metadata": object{"name": fmt.Sprint("p", i), "namespace": "ops"},
				"spec": object{"identity": object{"subjects": subjects, "priority": w.IntN(3)}, "access": object{"effect": w.Pick("Allow", "Allow", "Deny")},
					"scope": object{"clusters": object{"default": w.Pick("none", "none", "all"), "rules": rules}}}}))
		}
		return out
	},
	class: func(w writer) object {
		out := object{}
		if w.IntN(2) == 0 {
			out["holds"] = w.holds()
		}
		if w.IntN(2) == 0 {
			out["cluster"] = w.value("prod-1", "dev-1", "lab")
		}
		if w.IntN(4) == 0 {
			out["clusterLabels"] = w.choose(object{"env": "prod"}, object{"env": object{"not": "dev"}}, object{"env": object{"exists": true}})
		}
		if w.IntN(3) == 0 {
			out["action"] = w.Pick("view", "viewMetrics")
		}
		if w.IntN(3) == 0 {
			out["type"] = w.choose("pods", "pvc", "", object{"not": "nodes"})
		}
		return out
	},
	request: func(w writer) object {
		r := object{"user": w.Pick("u0", "u1", "else", "system:serviceaccount:ns:bot"), "groups": []string{w.Pick("g0", "g1", "g2")}, "action": w.Pick("view", "viewMetrics"), "type": w.Pick("", "pods", "nodes", "pvc", "other"),
			"cluster": object{"name": w.Pick("prod-1", "prod-2", "dev-1", "lab", "zzz", "Dev-2", "k", "K", "\u212a", "é"), "labels": map[string]string{w.Pick("env", "x"): w.Pick("prod", "dev", "qa")}}}
		if w.IntN(4) == 0 {
			r["serviceAccount"] = object{"namespace": "ns", "name": "bot"}
		}
		if w.IntN(3) == 0 {
			r["items"] = []any{object{"name": w.Pick("a", "ax", "web", "c"), "namespace": w.Pick("a", "web", "k")}}
		}
		return r
	},
	isIn: func(c *assertion.Class, r, _ object, named func(string) bool) bool {
		text := func(key string) string { value, _ := r[key].(string); return value }
		cluster := r["cluster"].(object)
		name, _ := cluster["name"].(string)
		labels, _ := cluster["labels"].(map[string]string)
		principals := held(r)
		if account, _ := r["serviceAccount"].(object); account != nil {
			principals = append(principals, fmt.Sprintf("user:system:serviceaccount:%s:%s", account["namespace"], account["name"]))
		}
		isStandard := slices.Contains(statement.StandardTypes, text("type"))
		return slices.ContainsFunc(principals, func(p string) bool { return strings.HasPrefix(p, "user:") }) && c.Texts["cluster"].Fits(name) && c.Labels["clusterLabels"].Fits(labels) &&
			c.Texts["action"].Fits(text("action")) && (c.Texts["type"] != nil || isStandard) && c.Texts["type"].Fits(text("type")) && c.Holds.Fits(principals, named)
	},
}

var traffic = pointWorld{
	point: "gateway",
	documents: func(w writer) []string {
		out := []string{documentOf("Gateway", object{"apiVersion": "gateway.networking.k8s.io/v1", "metadata": object{"name": "edge", "namespace": "net"},
			"spec": object{"gatewayClassName": "any", "listeners": []any{object{"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": object{"namespaces": object{"from": "All"}}}}}})}
		for i := range 2 {
			var rules []any
			for j := range 1 + w.IntN(3) {
				match := object{"path": object{"type": w.Pick("Exact", "PathPrefix"), "value": w.Pick("/a", "/a/b", "/", "/c")}}
				if w.IntN(4) == 0 {
					match["path"] = object{"type": "RegularExpression", "value": w.Pick("(?i)/A", "/[^b]*", "/a.*|/c", "/[ -~]*")}
				}
				if w.IntN(3) == 0 {
					match["method"] = w.Pick("GET", "POST")
				}
				if w.IntN(3) == 0 {
					match["headers"] = []any{w.choose(object{"name": "X-Team", "value": w.Pick("a", "b")}, object{"name": "X-Team", "type": "RegularExpression", "value": w.Pick("(?i)B", "[^a]")})}
				}
				rules = append(rules, object{"name": fmt.Sprint("r", j), "matches": []any{match}})
			}
			name := fmt.Sprint("route", i)
			out = append(out, documentOf("HTTPRoute", object{"apiVersion": "gateway.networking.k8s.io/v1", "metadata": object{"name": name, "namespace": "ns"},
				"spec": object{"parentRefs": []any{object{"name": "edge", "namespace": "net"}}, "hostnames": []any{w.Pick("a.example", "*.example", "b.example")}, "rules": rules}}))
			if w.IntN(3) > 0 {
				authentication := object{"sso": object{"jwt": object{"issuerUrl": "https://sso.example"}}}
				if w.IntN(3) == 0 {
					authentication["all"] = object{"anonymous": object{}}
				}
				spec := object{"targetRef": object{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": name}, "rules": object{"authentication": authentication}}
				if w.IntN(3) == 0 {
					spec["rules"].(object)["authorization"] = object{"x": object{"patternMatching": object{"patterns": []any{
						w.choose(object{"selector": "auth.identity.sub", "operator": "eq", "value": "alice"}, object{"selector": "auth.identity.sub", "operator": "matches", "value": w.Pick("(?i)^ALICE$", "[^a-z]")}, object{"predicate": "request.headers['x-team'] == 'a'"})}}}}
				}
				out = append(out, documentOf("AuthPolicy", object{"apiVersion": "kuadrant.io/v1", "metadata": object{"name": name, "namespace": "ns"}, "spec": spec}))
			}
		}
		return out
	},
	class: func(w writer) object {
		out := object{}
		if w.IntN(2) == 0 {
			out["identity"] = w.Pick("absent", "present")
		}
		if w.IntN(3) == 0 {
			out["host"] = w.choose("a.example", object{"like": "*.example"}, object{"not": "b.example"})
		}
		if w.IntN(3) == 0 {
			out["path"] = w.choose("/a", object{"prefix": "/a"}, object{"not": object{"like": "/*"}})
		}
		if w.IntN(4) == 0 {
			out["method"] = w.choose("GET", object{"not": "POST"})
		}
		if w.IntN(4) == 0 {
			out["headers"] = w.choose(object{"x-team": "a"}, object{"x-team": object{"not": "b"}}, object{"x-team": object{"exists": false}})
		}
		if w.IntN(4) == 0 {
			out["route"] = w.choose("HTTPRoute/ns/route0", "HTTPRoute/ns/route1#r0", object{"not": "HTTPRoute/ns/route0"})
		}
		return out
	},
	request: func(w writer) object {
		headers := map[string]string{}
		if w.IntN(2) == 0 {
			headers["x-team"] = w.Pick("a", "b", "c", "B")
		}
		r := object{"gateway": object{"namespace": "net", "name": "edge"}, "request": object{"host": w.Pick("a.example", "b.example", "c.example", "B.example", "other"), "method": w.Pick("GET", "POST", "PUT"),
			"path": w.Pick("/a", "/a/b", "/a/b/c", "/", "/c", "/d", "/A", "/é"), "headers": headers}}
		if w.IntN(2) == 0 {
			r["auth"] = object{"identity": object{"sub": w.Pick("alice", "bob", "Alice")}}
		}
		return r
	},
	isIn: func(c *assertion.Class, r, decision object, _ func(string) bool) bool {
		request := r["request"].(object)
		headers, _ := request["headers"].(map[string]string)
		if headers == nil {
			headers = map[string]string{}
		}
		target, _ := decision["target"].(object)
		route, _ := target["route"].(string)
		object, _, _ := strings.Cut(route, "#")
		fitsRoute := c.Texts["route"] == nil
		if v := c.Texts["route"]; v != nil && route != "" {
			fitsRoute = v.Fits(route) || v.Fits(object)
			if len(v.Not) > 0 {
				fitsRoute = !slices.Contains(v.Not[0].Texts, object)
			}
		}
		identity := "absent"
		if r["auth"] != nil {
			identity = "present"
		}
		return fitsRoute && c.Texts["identity"].Fits(identity) && c.Texts["host"].Fits(request["host"].(string)) && c.Texts["path"].Fits(request["path"].(string)) &&
			c.Texts["method"].Fits(request["method"].(string)) && c.Labels["headers"].Fits(headers)
	},
}

// assertionsAt returns a document with random assertions of a point.
func (w writer) assertionsAt(p *pointWorld, n int) []byte {
	var list []any
	for i := range n {
		a := object{"name": fmt.Sprint("a", i), "of": p.class(w), w.Pick("never", "always"): w.Pick("allowed", "denied")}
		if p.point == "visibility" && w.IntN(4) == 0 {
			delete(a, "always")
			delete(a, "never")
			a[w.Pick("never", "always")] = "shown"
			a["of"].(object)["type"] = w.Pick("pods", "namespaces")
		}
		if w.IntN(3) == 0 {
			a["unless"] = p.class(w)
		}
		list = append(list, a)
	}
	text, err := json.Marshal(object{"apiVersion": "writ.dev/v1", "kind": "Assertions", "metadata": object{"name": "d"}, "spec": object{"point": p.point, "assertions": list}})
	if err != nil {
		panic(err)
	}
	return text
}

// untrue returns why a verdict at the point is not true, empty if it is.
func (p *pointWorld) untrue(t *testing.T, side *diff.Side, a *assertion.Assertion, got *verify.Result, requests []object, tried *int) string {
	t.Helper()
	names := side.World.Named()
	named := func(principal string) bool { return names[principal] }
	ask := func(r object) (in, broken bool) {
		v, err := side.Judge(t.Context(), p.point, statement.Encode(r))
		if err != nil {
			t.Fatalf("%v: %s", err, revisions.Text(r))
		}
		var decision object
		if err := json.Unmarshal(v.Decision, &decision); err != nil {
			t.Fatal(err)
		}
		one := func(list []*assertion.Class) bool {
			return slices.ContainsFunc(list, func(c *assertion.Class) bool { return p.isIn(c, r, decision, named) })
		}
		if (a.Word == "shown") != (r["items"] != nil) || !one(a.Of) || one(a.Unless) {
			return false, false
		}
		outcome, _, _ := strings.Cut(v.Outcome, " ")
		is := map[string][]string{"allowed": {"allow", "partial"}, "denied": {"deny"}, "shown": {"shown"}}[a.Word]
		return true, slices.Contains(is, outcome) == (a.Form == assertion.Never)
	}
	switch got.Verdict {
	case verify.Fails:
		if in, broken := ask(got.Witness.Requests[0].Request); !in || !broken {
			return fmt.Sprintf("the witness %s is in the class: %t, breaks it: %t", revisions.Text(got.Witness.Requests[0].Request), in, broken)
		}
	case verify.Unknown:
		if !slices.Equal(got.Why, []string{"gateway"}) {
			return fmt.Sprint(got.Why)
		}
	case verify.Vacuous: // a statement about words that nothing knows is not proven
	default:
		for _, r := range requests {
			in, broken := ask(r)
			if in {
				*tried++
			}
			if broken {
				return revisions.Text(r) + " breaks it"
			}
		}
	}
	return ""
}

// Verdicts at the points visibility and gateway are true, with the engine as the judge, and
// those of a prover that leaves out what is excluded are found not to be.
func TestVerdictsAtOtherPoints(t *testing.T) {
	for _, p := range []pointWorld{monitoring, traffic} {
		t.Run(p.point, func(t *testing.T) {
			verdicts := make(map[string]int)
			tried, spoilt := 0, 0
			for n := range 3 * worlds() {
				w := writer{revisions.Random{Rand: rand.New(rand.NewPCG(*seed+uint64(n), 9))}}
				documents := p.documents(w)
				side := revisions.Of(t, documents)
				text := w.assertionsAt(&p, 16)
				list := decoded(t, text)
				var requests []object
				for range 300 {
					requests = append(requests, p.request(w))
				}
				report := run(t, side, list)
				other := slices.Clone(list)
				for i := range other {
					other[i].Unless = nil
				}
				wrong := run(t, side, other)
				for i := range list {
					got := &report.Assertions[i]
					verdicts[got.Verdict]++
					if why := p.untrue(t, side, &list[i], got, requests, &tried); why != "" {
						t.Fatalf("seed %d: %s is %s (%s): %s\n%s\n%s", *seed+uint64(n), list[i].ID(), got.Verdict, got.Text, why, text, strings.Join(documents, "\n"))
					}
					ignored := 0
					if p.untrue(t, side, &list[i], &wrong.Assertions[i], requests, &ignored) != "" {
						spoilt++
					}
				}
			}
			if verdicts[verify.Holds] < worlds() || verdicts[verify.Fails] < 3*worlds() || tried < 60*worlds() || spoilt == 0 {
				t.Errorf("%v, %d requests, %d found of a spoilt prover: the test proves too little", verdicts, tried, spoilt)
			}
			t.Logf("%v, %d requests of what holds", verdicts, tried)
		})
	}
}
