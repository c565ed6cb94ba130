package effective

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// hierarchy is a gateway with two listeners and another gateway, a route on the three
// of them and one on none.
const hierarchy = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: net}
spec:
  gatewayClassName: any
  listeners:
    - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
    - {name: https, port: 443, protocol: HTTPS, allowedRoutes: {namespaces: {from: All}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: inner, namespace: net}
spec:
  gatewayClassName: any
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: api, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: net}, {name: inner, namespace: net}]
  rules: [{name: read}, {}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: alone, namespace: shop}
spec: {}
`

// limits is a RateLimitPolicy with one limit; block is "" for a bare one.
func limits(namespace, name, target, block, limit string) string {
	rule := fmt.Sprintf("limits: {%s: {rates: [{limit: 1, window: 1m}]}}", limit)
	if block != "" {
		rule = block + ": {strategy: merge, " + rule + "}"
	}
	return fmt.Sprintf(`---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {name: %s, namespace: %s}
spec: {targetRef: {group: gateway.networking.k8s.io, %s}, %s}
`, name, namespace, target, rule)
}

func translated(t *testing.T, texts ...string) *tables.Gateway {
	t.Helper()
	content := []byte(hierarchy + strings.Join(texts, ""))
	result, list := translator.New(translator.Options{}).Translate(t.Context(), source.Snapshot{
		Files: []source.File{source.NewFile("a.yaml", content)},
	})
	if result == nil {
		t.Fatal(list)
	}
	return tables.Of[*tables.Gateway](result.Tables)
}

func sample(t *testing.T) *tables.Gateway {
	return translated(t,
		limits("net", "edge", "kind: Gateway, name: edge", "defaults", "g"),
		limits("net", "tls", "kind: Gateway, name: edge, sectionName: https", "overrides", "s"),
		limits("shop", "read", "kind: HTTPRoute, name: api, sectionName: read", "", "r"),
	)
}

func TestFind(t *testing.T) {
	const api = "HTTPRoute/shop/api"
	rows := []struct {
		name  string
		query Query
		want  []string // by variant: rules > paths
	}{
		{"a route through all", Query{Target: api}, []string{
			"limits.g limits.r > edge#http:read",
			"limits.g > edge#http:rule-2",
			"limits.g limits.r limits.s > edge#https:read",
			"limits.g limits.s > edge#https:rule-2",
			"limits.r > inner#http:read",
			" > inner#http:rule-2",
		}},
		{"a rule", Query{Target: api + "#rule-2"}, []string{"limits.g > edge#http:rule-2", "limits.g limits.s > edge#https:rule-2", " > inner#http:rule-2"}},
		{"via a gateway", Query{Target: api + "#rule-2", Via: "Gateway/net/edge"}, []string{"limits.g > edge#http:rule-2", "limits.g limits.s > edge#https:rule-2"}},
		{"via a listener", Query{Target: api + "#rule-2", Via: "Gateway/net/edge#https"}, []string{"limits.g limits.s > edge#https:rule-2"}},
		{"another kind", Query{Kind: "AuthPolicy", Target: api}, []string{" > edge#http:read edge#http:rule-2 edge#https:read edge#https:rule-2 inner#http:read inner#http:rule-2"}},
		{"no path", Query{Target: "HTTPRoute/shop/alone"}, []string{" > "}},
		{"a gateway", Query{Target: "Gateway/net/edge"}, []string{"limits.g > Gateway/net/edge"}},
		{"a listener", Query{Target: "Gateway/net/edge#https"}, []string{"limits.g limits.s > Gateway/net/edge#https"}},
	}
	g := sample(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.query.Kind == "" {
				row.query.Kind = "RateLimitPolicy"
			}
			found, err := Find(g, row.query)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range found.Each() {
				var rules, paths []string
				for key := range v.Rules {
					rules = append(rules, key)
				}
				slices.Sort(rules)
				for _, path := range v.Paths {
					paths = append(paths, strings.NewReplacer("Gateway/net/edge#http > ", "edge#http:", "Gateway/net/edge#https > ", "edge#https:",
						"Gateway/net/inner#http > ", "inner#http:", "HTTPRoute/shop/api#", "").Replace(path))
				}
				got = append(got, strings.Join(rules, " ")+" > "+strings.Join(paths, " "))
				if len(v.Sources) != len(v.Rules) {
					t.Errorf("got %d sources of %d rules", len(v.Sources), len(v.Rules))
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %q\nwant %q", got, row.want)
			}
			if one := len(got) == 1; one != (found.Rules != nil) || one != (found.Variants == nil) {
				t.Errorf("got rules %v at the top with %d variants", found.Rules, len(found.Variants))
			}
		})
	}
}

// A target by the condition that says which policies affect it.
func TestAffected(t *testing.T) {
	const some = "The following sections of the object are affected by RateLimitPolicy "
	rows := []struct {
		name, kind, target, via string
		want                    string
	}{
		{"a route", "", "HTTPRoute/shop/api", "", "Affected: The object is affected by RateLimitPolicy net/edge, net/tls; t" + some[1:] + "shop/read: rules.0"},
		{"a route through what has less", "", "HTTPRoute/shop/api", "Gateway/net/inner", "PartiallyAffected: " + some + "shop/read: rules.0"},
		{"a rule", "", "HTTPRoute/shop/api#read", "Gateway/net/inner", "Affected: The object is affected by RateLimitPolicy shop/read"},
		{"another rule", "", "HTTPRoute/shop/api#rule-2", "Gateway/net/inner", "Unaffected: The object is not affected by any RateLimitPolicy"},
		{"a gateway", "", "Gateway/net/edge", "", "Affected: The object is affected by RateLimitPolicy net/edge; t" + some[1:] + "net/tls: listeners.1"},
		{"a listener", "", "Gateway/net/edge#https", "", "Affected: The object is affected by RateLimitPolicy net/edge, net/tls"},
		{"a gateway with policies below alone", "", "Gateway/net/inner", "", "Unaffected: The object is not affected by any RateLimitPolicy"},
		{"another kind", "AuthPolicy", "HTTPRoute/shop/api", "", "Unaffected: The object is not affected by any AuthPolicy"},
		{"no path", "", "HTTPRoute/shop/alone", "", "Unaffected: The object is not affected by any RateLimitPolicy"},
	}
	g := sample(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			kind := row.kind
			if kind == "" {
				kind = "RateLimitPolicy"
			}
			found, err := Find(g, Query{kind, row.target, row.via})
			if err != nil {
				t.Fatal(err)
			}
			c := found.Conditions[0]
			status := "True"
			if c.Reason == "Unaffected" {
				status = "False"
			}
			if len(found.Conditions) != 1 || c.Type != "kuadrant.io/"+kind+"Affected" || c.Status != status {
				t.Errorf("got %v", found.Conditions)
			}
			if got := c.Reason + ": " + c.Message; got != row.want {
				t.Errorf("got %q\nwant %q", got, row.want)
			}
		})
	}
}

// What is untargeted beneath a gateway, and whose conditions are shown.
func TestFindGateway(t *testing.T) {
	g := sample(t)
	rows := []struct{ target, untargeted, policies string }{
		{"Gateway/net/edge", "HTTPRoute/shop/api#rule-2", "RateLimitPolicy/net/edge RateLimitPolicy/net/tls"},
		{"Gateway/net/edge#http", "HTTPRoute/shop/api#rule-2", "RateLimitPolicy/net/edge"},
		{"Gateway/net/inner", "HTTPRoute/shop/api#rule-2", ""},
	}
	for _, row := range rows {
		found, err := Find(g, Query{Kind: "RateLimitPolicy", Target: row.target})
		if err != nil {
			t.Fatal(err)
		}
		var policies []string
		for locator := range found.PolicyConditions {
			policies = append(policies, locator)
		}
		slices.Sort(policies)
		if got := strings.Join(found.Untargeted, " "); got != row.untargeted {
			t.Errorf("%s: untargeted: got %q, want %q", row.target, got, row.untargeted)
		}
		if got := strings.Join(policies, " "); got != row.policies {
			t.Errorf("%s: policies: got %q, want %q", row.target, got, row.policies)
		}
	}
}

// Questions without an answer, and whether they are well formed.
func TestErrors(t *testing.T) {
	g := sample(t)
	find := func(kind, target, via string) error {
		_, err := Find(g, Query{kind, target, via})
		return err
	}
	reach := func(kind, rule string) error { _, err := FindReach(g, kind, rule); return err }
	replaced := func(kind, policy string) error { _, err := FindReplaced(g, kind, policy); return err }
	all := func(kind string) error { _, err := All(g, kind); return err }
	const kind, api = "RateLimitPolicy", "HTTPRoute/shop/api"
	rows := []struct {
		name    string
		err     error
		unknown bool
		want    string
	}{
		{"kind", find("Policy", api, ""), false, `kind "Policy" is not known`},
		{"no kind", find("", api, ""), false, `kind "" is not known`},
		{"target without a namespace", find(kind, "HTTPRoute/api", ""), false, "not of the form"},
		{"target of another kind", find(kind, "Service/shop/api", ""), false, `not "Service"`},
		{"an empty section", find(kind, api+"#", ""), false, "not of the form"},
		{"an empty name", find(kind, "HTTPRoute/shop/", ""), false, "not of the form"},
		{"no such route", find(kind, "HTTPRoute/net/api", ""), true, "HTTPRoute net/api not found"},
		{"no such rule", find(kind, api+"#rule-1", ""), true, `has no rule "rule-1"`},
		{"no such gateway", find(kind, "Gateway/shop/edge", ""), true, "Gateway shop/edge not found"},
		{"no such listener", find(kind, "Gateway/net/edge#tcp", ""), true, `has no listener "tcp"`},
		{"via nothing", find(kind, api, "Gateway/net/nowhere"), true, "Gateway net/nowhere not found"},
		{"via a route", find(kind, api, api), false, "paths go through a Gateway"},
		{"via for a gateway", find(kind, "Gateway/net/edge", "Gateway/net/edge"), false, "cannot narrow down"},
		{"a route whose name is close", find(kind, "HTTPRoute/shop/aip", ""), true, `HTTPRoute shop/aip not found; did you mean "HTTPRoute/shop/api"?`},
		{"a route in another namespace", find(kind, "HTTPRoute/production/api", ""), true, `not found; did you mean "HTTPRoute/shop/api"?`},
		{"a gateway whose name is close", find(kind, "Gateway/net/egde#tcp", ""), true, `Gateway net/egde not found; did you mean "Gateway/net/edge"?`},
		{"a kind in another case", find(kind, "HttpRoute/shop/api", ""), false, `not "HttpRoute"; did you mean "HTTPRoute"?`},
		{"a kind of policies that is close", find("RateLimitPolice", api, ""), false, `did you mean "RateLimitPolicy"?`},
		{"a rule that is close", find(kind, api+"#raed", ""), true, `has no rule "raed"; did you mean "read"?`},
		{"a listener that is close", find(kind, "Gateway/net/edge#htps", ""), true, `has no listener "htps"; did you mean "https"?`},
		{"a policy that is close", replaced(kind, "net/egde"), true, `RateLimitPolicy net/egde not found; did you mean "net/edge"?`},
		{"reach of a kind", reach("x", "when"), false, "is not known"},
		{"reach of nothing", reach(kind, ""), false, "is empty"},
		{"replaced of a kind", replaced("x", ""), false, "is not known"},
		{"replaced of a name", replaced(kind, "edge"), false, "not of the form NAMESPACE/NAME"},
		{"replaced of an unknown policy", replaced(kind, "net/missing"), true, "RateLimitPolicy net/missing not found"},
		{"replaced of another kind's", replaced("AuthPolicy", "net/edge"), true, "AuthPolicy net/edge not found"},
		{"all of a kind", all("x"), false, "is not known"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var asked *Error
			if !errors.As(row.err, &asked) || !strings.Contains(asked.Message, row.want) || asked.Unknown != row.unknown {
				t.Errorf("got %v, want %q, unknown %t", row.err, row.want, row.unknown)
			}
		})
	}
}

// Where a rule is in force and what lost, over all paths.
func TestDiscover(t *testing.T) {
	g := translated(t,
		limits("net", "edge", "kind: Gateway, name: edge", "overrides", "x"),
		limits("shop", "api", "kind: HTTPRoute, name: api, sectionName: read", "", "x"),
	)
	reach, err := FindReach(g, "RateLimitPolicy", "limits.x")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range reach.Reach {
		got = append(got, r.Path+" "+r.Source)
	}
	want := []string{
		"Gateway/net/edge#http > HTTPRoute/shop/api#read RateLimitPolicy/net/edge",
		"Gateway/net/edge#http > HTTPRoute/shop/api#rule-2 RateLimitPolicy/net/edge",
		"Gateway/net/edge#https > HTTPRoute/shop/api#read RateLimitPolicy/net/edge",
		"Gateway/net/edge#https > HTTPRoute/shop/api#rule-2 RateLimitPolicy/net/edge",
		"Gateway/net/inner#http > HTTPRoute/shop/api#read RateLimitPolicy/shop/api",
	}
	if !slices.Equal(got, want) {
		t.Errorf("reach: got %q\nwant %q", got, want)
	}
	if nowhere, err := FindReach(g, "AuthPolicy", "limits.x"); err != nil || nowhere.Reach == nil || len(nowhere.Reach) > 0 {
		t.Errorf("reach of another kind: got %v, %v, want an empty list", nowhere, err)
	}
	note := `no path has a rule "limits.y" of RateLimitPolicy, in force or replaced; did you mean "limits.x"?`
	if nowhere, err := FindReach(g, "RateLimitPolicy", "limits.y"); err != nil || nowhere.Note != note || reach.Note != "" {
		t.Errorf("reach of an unknown rule: got %v, %v, want the note %s", nowhere, err, note)
	}
	for policy, want := range map[string]int{"": 2, "shop/api": 2, "net/edge": 0} {
		list, err := FindReplaced(g, "RateLimitPolicy", policy)
		if err != nil || list == nil || len(list) != want {
			t.Errorf("replaced of %q: got %v, %v, want %d", policy, list, err, want)
		}
		for _, r := range list {
			if r.Policy != "RateLimitPolicy/shop/api" || r.How != "override" || !slices.Equal(r.By, []string{"RateLimitPolicy/net/edge"}) || !strings.HasPrefix(r.Place, "a.yaml:") {
				t.Errorf("got %+v", r)
			}
		}
	}
}

// Each of all is what Find answers for that rule through that listener.
func TestAll(t *testing.T) {
	g := sample(t)
	all, err := All(g, "RateLimitPolicy")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for got := range all {
		n++
		via, target, _ := strings.Cut(got.Paths[0], " > ")
		want, err := Find(g, Query{"RateLimitPolicy", target, via})
		if err != nil {
			t.Fatal(err)
		}
		if first, second := text(t, got), text(t, want); first != second {
			t.Errorf("%s: got %s\nwant %s", got.Paths[0], first, second)
		}
	}
	if n != len(g.Paths) || n == 0 {
		t.Errorf("got %d, want one for each of %d paths", n, len(g.Paths))
	}
	for range all {
		break // stops without a panic
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Tables that went through JSON, as in a bundle, give the same answers, with keys in
// order.
func TestAnswersFromABundle(t *testing.T) {
	g := sample(t)
	var read tables.Gateway
	if err := json.Unmarshal([]byte(text(t, g)), &read); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"HTTPRoute/shop/api", "HTTPRoute/shop/alone", "Gateway/net/edge"} {
		q := Query{Kind: "RateLimitPolicy", Target: target}
		want, err := Find(g, q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Find(&read, q)
		if err != nil {
			t.Fatal(err)
		}
		if first, second := text(t, got), text(t, want); first != second {
			t.Errorf("%s: got %s\nwant %s", target, first, second)
		}
		var sorted any
		if err := json.Unmarshal([]byte(text(t, want)), &sorted); err != nil {
			t.Fatal(err)
		}
		if first, second := text(t, want), text(t, sorted); first != second {
			t.Errorf("%s: keys: got %s\nwant %s", target, first, second)
		}
	}
	if _, err := Find(nil, Query{Kind: "AuthPolicy", Target: "Gateway/net/edge"}); err == nil {
		t.Error("of no tables: got an answer, want none")
	}
}
