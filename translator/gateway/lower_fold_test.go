package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// policyOf is a policy in short: blocks "bare", "defaults" or "overrides", with
// "merge" behind them where they are not atomic, then names of rules, and "unset" with
// names. Parts end with ";". A rule "x=7" has a limit of 7, "when" and "patterns.p" stand
// for themselves. "if EXPRESSION" at the end of a part is a merge condition.
func policyOf(name, text string) *inherited {
	d := &document.InheritedPolicy{Header: syntax.Header{Kind: tables.KindRateLimitPolicy, Namespace: "n", Name: name}}
	d.Target = document.Target{Kind: tables.KindHTTPRoute, Name: syntax.Text{Value: "route"}}
	for part := range strings.SplitSeq(text, ";") {
		part, condition, _ := strings.Cut(part, " if ")
		words := strings.Fields(part)
		if words[0] == "unset" {
			for _, key := range words[1:] {
				d.Unset = append(d.Unset, syntax.Text{Value: keyOf(key)})
			}
			continue
		}
		b := document.Block{Name: words[0]}
		for _, word := range words[1:] {
			key, limit, _ := strings.Cut(word, "=")
			if key == "merge" {
				b.Merge = true
				continue
			}
			value := map[string]any{"by": name}
			if limit != "" {
				value["limit"] = json.Number(limit)
			}
			b.Rules = append(b.Rules, document.InheritedRule{Key: keyOf(key), Value: value})
		}
		if condition != "" {
			b.When = &syntax.Text{Value: condition}
		}
		d.Blocks = append(d.Blocks, b)
	}
	return newInherited(resolvedPolicy{Document: d, Section: whole})
}

func keyOf(name string) string {
	if isEmpty(name) {
		return name
	}
	return "limits." + name
}

// Sets of policies, highest first, by what comes of them: "x:a" is a rule x from
// policy a, "x:a default b" a loss of it to b.
func TestFold(t *testing.T) {
	rows := []struct {
		name     string
		policies []string // a, b, c, from the highest
		rules    string
		lost     string
	}{
		{"nothing", nil, "", ""},
		{"one", []string{"bare x"}, "x:a", ""},
		{"an override alone", []string{"overrides x"}, "x:a", ""},

		{"an atomic default above a rule", []string{"defaults x y", "bare x"}, "x:b", "x:a atomic-default b; y:a atomic-default b"},
		{"bare is an atomic default", []string{"bare y", "bare x"}, "x:b", "y:a atomic-default b"},
		{"an atomic default above nothing but unset", []string{"defaults x y", "unset x"}, "y:a", "x:a unset b"},
		{"an atomic default above an override", []string{"defaults y", "overrides merge x"}, "x:b", "y:a atomic-default b"},
		{"a merged default", []string{"defaults merge x y", "bare x"}, "x:b y:a", "x:a default b"},
		{"a merged default in between", []string{"defaults merge x y", "defaults merge y z", "bare z"}, "x:a y:b z:c", "y:a default b; z:b default c"},
		{"an atomic default loses to all sources", []string{"bare v", "defaults merge x", "bare y"}, "x:b y:c", "v:a atomic-default b,c"},

		{"an atomic override", []string{"overrides x", "bare x y"}, "x:a", "x:b atomic-override a; y:b atomic-override a"},
		{"a merged override", []string{"overrides merge x", "bare x y"}, "x:a y:b", "x:b override a"},
		{"an equal value is replaced too", []string{"overrides merge x=1", "bare x=1"}, "x:a", "x:b override a"},
		{"the highest override wins", []string{"overrides merge x", "overrides merge x", "bare x"}, "x:a", "x:b override a; x:c override b"},
		{"an atomic override of an atomic override", []string{"overrides z", "overrides y", "bare x"}, "z:a", "y:b atomic-override a; x:c atomic-override b"},

		{"defaults and overrides of one policy", []string{"defaults merge x y; overrides merge y z", "bare x"}, "x:b y:a z:a", "x:a default b; y:a override a"},
		{"atomic overrides drop the policy's own defaults", []string{"defaults x; overrides y"}, "y:a", "x:a atomic-override a"},

		{"unset of a default", []string{"defaults merge x y", "bare z; unset x"}, "y:a z:b", "x:a unset b"},
		{"unset of an atomic default that is out", []string{"defaults x y", "bare z; unset x"}, "z:b", "x:a unset b; y:a atomic-default b"},
		{"unset of everything", []string{"defaults x", "unset x"}, "", "x:a unset b"},
		{"unset of an override", []string{"overrides merge x", "bare z; unset x"}, "x:a z:b", ""},
		{"unset of one's own rule", []string{"bare x; unset x"}, "x:a", ""},
		{"unset of a lower rule", []string{"overrides merge z; unset x", "bare x"}, "x:b z:a", ""},
		{"unset holds for every level above", []string{"defaults merge x", "defaults merge x", "unset x"}, "", "x:a unset c; x:b unset c"},
		{"two unset one", []string{"defaults merge x", "unset x", "unset x"}, "", "x:a unset b,c"},
		{"an atomic override wipes unset", []string{"defaults merge x", "overrides y", "unset x"}, "x:a y:b", ""},
		{"no unset without a say", []string{"defaults merge x", "bare y; unset x", "bare z"}, "x:a z:c", "y:b atomic-default c"},
		{"a say by a merged default", []string{"defaults merge x", "defaults merge z; unset x", "bare z"}, "z:c", "x:a unset b; z:b default c"},
		{"no say by a condition", []string{"defaults merge x", "overrides merge y; unset x", "bare z"}, "y:b z:c", "x:a unset b"},
		{"no say where the condition does not hold", []string{"defaults merge x", "overrides merge y if false; unset x", "bare z"}, "x:a z:c", "y:b condition "},

		{"patterns and conditions do not count as rules", []string{"defaults x", "bare v patterns.p; unset v", "defaults w; unset v"}, "w:c", "x:a atomic-default c; v:b unset c; patterns.p:b atomic-default c"},
		{"what only holds patterns is empty", []string{"defaults x", "defaults v patterns.p", "unset v"}, "x:a", "v:b unset c"},
		{"a merged condition for lower rules", []string{"defaults merge when", "bare x"}, "when:a x:b", ""},

		{"a constraint that is met", []string{"overrides merge x=5 if spec.limits.x.limit > 5", "bare x=3"}, "x:b", "x:a condition "},
		{"a constraint that is violated", []string{"overrides merge x=5 if spec.limits.x.limit > 5", "bare x=9"}, "x:a", "x:b override a"},
		{"a constraint of nothing", []string{"overrides merge x=5 if spec.limits.x.limit > 5"}, "", "x:a condition "},
		{"a condition sees the policy's own defaults", []string{"defaults x=9; overrides merge x=5 if spec.limits.x.limit > 5"}, "x:a", "x:a override a"},
		{"a condition of a default", []string{"defaults merge y if 'x' in spec.limits", "bare x"}, "x:b y:a", ""},
		{"a condition on the state, not on one policy", []string{"overrides merge z if 'y' in spec.limits", "defaults merge y", "bare x"}, "x:c y:b z:a", ""},
		{"the name is the lowest's", []string{"overrides merge z if self.metadata.name == 'c' && spec.targetRef.name == 'route'", "defaults merge y", "bare x"}, "x:c y:b z:a", ""},
		{"no lower policy has no name", []string{"overrides merge z if self.metadata.name == '' && self.spec == {}"}, "z:a", ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var policies []*inherited
			for i, text := range row.policies {
				policies = append(policies, policyOf(string(rune('a'+i)), text))
			}
			f := foldPolicies(tables.KindRateLimitPolicy, policies)
			short := func(locator string) string { return locator[strings.LastIndex(locator, "/")+1:] }
			rule := func(key, locator string) string { return strings.TrimPrefix(key, "limits.") + ":" + short(locator) }
			var rules, lost []string
			for _, r := range f.effective.Rules {
				rules = append(rules, rule(r.Key, r.Policy))
			}
			slices.Sort(rules)
			for _, r := range f.effective.Replaced {
				by := make([]string, len(r.By))
				for i := range r.By {
					by[i] = short(r.By[i])
				}
				lost = append(lost, fmt.Sprintf("%s %s %s", rule(r.Rule, r.Policy), r.How, strings.Join(by, ",")))
			}
			if got := strings.Join(rules, " "); got != row.rules {
				t.Errorf("rules: got %q, want %q", got, row.rules)
			}
			if got := strings.Join(lost, "; "); got != row.lost {
				t.Errorf("lost: got %q, want %q", got, row.lost)
			}
			if len(f.failures) > 0 {
				t.Errorf("got failures %v, want none", f.failures)
			}
		})
	}
}

// A condition that fails is kept for a diagnostic, and its block does nothing.
func TestFoldKeepsFailures(t *testing.T) {
	f := foldPolicies(tables.KindRateLimitPolicy, []*inherited{policyOf("a", "overrides merge x if spec.limits.y.limit > 'a'"), policyOf("b", "bare y=1")})
	if len(f.failures) != 1 || len(f.effective.Rules) != 1 {
		t.Errorf("got %d failures and %d rules, want one of each", len(f.failures), len(f.effective.Rules))
	}
}

func TestNest(t *testing.T) {
	spec := make(map[string]any)
	for i, key := range []string{"rules.authentication.a.b", "rules.response.unauthorized", "rules.response.success.headers.x.y", "patterns.p", "when", "limits.l"} {
		tables.Nest(spec, key, i)
	}
	got, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"limits":{"l":5},"patterns":{"p":3},"rules":{"authentication":{"a.b":0},"response":{"success":{"headers":{"x.y":2}},"unauthorized":1}},"when":4}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Routes times rules times listeners can be more than fit into memory.
func TestPathsAreBounded(t *testing.T) {
	gateway := &document.Gateway{Header: syntax.Header{Kind: tables.KindGateway, Name: "g", At: diag.Position{File: "g.yaml", Line: 2}}}
	route := &document.Route{Header: syntax.Header{Kind: tables.KindHTTPRoute, Name: "r"}}
	r := resolvedRoute{Document: route}
	for i := range 1100 {
		gateway.Listeners = append(gateway.Listeners, document.Listener{Name: syntax.Text{Value: fmt.Sprint(i)}})
		route.Rules = append(route.Rules, document.RouteRule{Name: fmt.Sprint(i)})
		r.Listeners = append(r.Listeners, attachment{Gateway: gateway, Listener: i})
	}
	_, list := lower(&resolution{Gateways: []*document.Gateway{gateway}, Routes: []resolvedRoute{r}})
	if len(list) != 1 || list[0].Code != diag.PathLimit || list[0].File != "g.yaml" {
		t.Errorf("got %v, want one %s in g.yaml", list, diag.PathLimit)
	}
}

// So can listeners times hostnames, of a single rule.
func TestHostnamesOfPathsAreBounded(t *testing.T) {
	gateway := &document.Gateway{Header: syntax.Header{Kind: tables.KindGateway, Name: "g", At: diag.Position{File: "g.yaml", Line: 2}}}
	route := &document.Route{Header: syntax.Header{Kind: tables.KindHTTPRoute, Name: "r"}, Rules: []document.RouteRule{{Matches: make([]document.RouteMatch, 1)}}}
	r := resolvedRoute{Document: route}
	for i := range 1500 {
		gateway.Listeners = append(gateway.Listeners, document.Listener{Name: syntax.Text{Value: fmt.Sprint(i)}})
		route.Hostnames = append(route.Hostnames, fmt.Sprintf("h%d.example.com", i))
		r.Listeners = append(r.Listeners, attachment{Gateway: gateway, Listener: i})
	}
	_, list := lower(&resolution{Gateways: []*document.Gateway{gateway}, Routes: []resolvedRoute{r}})
	if len(list) != 1 || list[0].Code != diag.PathLimit {
		t.Errorf("got %v, want one %s", list, diag.PathLimit)
	}
}
