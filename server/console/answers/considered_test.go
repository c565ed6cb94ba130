package answers

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

const monitoring = `== views.yaml
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: all, namespace: dash}
spec:
  identity: {priority: 10, subjects: {users: [ada]}}
  access: {effect: Allow}
  scope: {clusters: {rules: [{selector: {matchNames: [west]}, permissions: {view: true}}]}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: later, namespace: dash}
spec:
  identity: {priority: 20, subjects: {groups: [dev]}}
  access: {effect: Allow}
  scope: {clusters: {rules: [{selector: {matchNames: [east, west]}, permissions: {view: true}}]}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: vault, namespace: dash}
spec:
  identity: {priority: 900, subjects: {groups: [dev]}}
  access: {effect: Deny}
  scope: {clusters: {rules: [{selector: {matchNames: [vault]}}]}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: others, namespace: dash}
spec:
  identity: {priority: 1, subjects: {users: [zoe]}}
  access: {effect: Allow}
  scope: {clusters: {rules: [{selector: {matchPattern: ".*"}, permissions: {view: true}}]}}
`

const routePolicies = `---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: reading, namespace: net}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: books, sectionName: read}
  defaults:
    strategy: merge
    rules: {authorization: {no: {patternMatching: {patterns: [{predicate: "true"}]}}}}
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: writing, namespace: net}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: books, sectionName: write}
  defaults:
    strategy: merge
    rules: {authorization: {never: {patternMatching: {patterns: [{predicate: "false"}]}}}}
`

// The policies that were considered are listed in the order of evaluation, those too that
// do not match.
func TestConsidered(t *testing.T) {
	s := newSite(t, monitoring+gateways+routePolicies)
	for name, row := range map[string]struct{ point, request, want string }{
		"the first one": {decision.Visibility, `{"user":"ada","groups":["dev"],"cluster":{"name":"west"}}`, "dash/vault none, dash/all decides, dash/later notAsked"},
		"a later one":   {decision.Visibility, `{"user":"ada","groups":["dev"],"cluster":{"name":"east"}}`, "dash/vault none, dash/all none, dash/later decides"},
		"a denial":      {decision.Visibility, `{"user":"ada","groups":["dev"],"cluster":{"name":"vault"}}`, "dash/vault decides, dash/all notAsked, dash/later notAsked"},
		"no match":      {decision.Visibility, `{"user":"ada","cluster":{"name":"north"}}`, "dash/all none"},
		"no policy":     {decision.Visibility, `{"user":"bob","cluster":{"name":"west"}}`, ""},
		"a route's":     {decision.Gateway, `{"request":{"host":"books.example.com","method":"GET","path":"/books/1"}}`, "net/closed notAsked, net/reading decides"},
		"both":          {decision.Gateway, `{"request":{"host":"books.example.com","method":"PUT","path":"/7"}}`, "net/closed late, net/writing decides"},
		"no route":      {decision.Gateway, `{"request":{"host":"other.example.org","method":"PUT","path":"/7"}}`, "net/edge decides"},
	} {
		var got []string
		steps := s.explain(row.point, row.request).Steps
		if steps == nil {
			t.Errorf("%s: the steps are null and not an empty list", name)
		}
		for i, step := range steps {
			if _, name, _ := strings.Cut(step.Title, " "); step.Step == i+1 && (step.Source != "" || len(step.Matched) > 0) {
				got = append(got, name+" "+step.State)
			}
		}
		if got := strings.Join(got, ", "); got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}

// The explanation of a denial without a rule that denies shows the lines that decided.
func TestDenialWithoutARule(t *testing.T) {
	s := newSite(t, gateways+`---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: keys, namespace: net}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: books}
  overrides:
    strategy: atomic
    rules:
      authentication:
        key: {apiKey: {selector: {matchLabels: {app: books}}}}
`)
	for request, want := range map[string]struct{ outcome, title, line string }{
		`{"request":{"host":"books.example.com","method":"GET","path":"/books/1"}}`: {console.Deny, "AuthPolicy net/keys", "key: {apiKey:"},
		`{"request":{"host":"other.example.org","method":"GET","path":"/"}}`:        {console.None, "Gateway net/edge", "kind: Gateway"},
	} {
		e := s.explain(decision.Gateway, request)
		i := slices.IndexFunc(e.Steps, func(s console.Step) bool { return s.State == console.Decides })
		if e.Outcome != want.outcome || i < 0 || e.Steps[i].Title != want.title {
			t.Errorf("%s: got %s by %+v, want %s by %s", request, e.Outcome, e.Steps, want.outcome, want.title)
		}
		if len(e.Excerpts) != 1 || !strings.Contains(e.Excerpts[0].Lines[e.Excerpts[0].Mark[0]-e.Excerpts[0].From], want.line) {
			t.Errorf("%s: got the excerpts %+v, want the line of %q", request, e.Excerpts, want.line)
		}
	}
}

const filtered = `== views.yaml
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: pods, namespace: dash}
spec:
  identity: {subjects: {users: [ada]}}
  access: {effect: Allow}
  scope:
    clusters:
      rules:
        - selector: {matchNames: [west]}
          permissions: {view: true}
          resources:
            - {type: namespaces, filters: {names: {allowed: [shop, team], denied: [team]}}}
            - {type: pods, filters: {names: {allowed: [web], denied: ["tmp*"]}, labels: {app: shop}}}
            - {type: operators, visibility: none}
        - selector: {matchNames: [north]}
          permissions: {view: true}
          resources:
            nodes: {filters: {hideMasters: true, hideByLabels: {gpu: "yes"}, labelSelector: {zone: a}}}
`

// The explanation names the policy and the criterion that hide each item.
func TestHiddenItems(t *testing.T) {
	s := newSite(t, filtered)
	const begin = `{"user":"ada","cluster":{"name":"west"},"type":`
	for name, row := range map[string]struct{ request, want string }{
		"pods": {begin + `"pods","items":[{"name":"web","namespace":"shop"},{"name":"tmp-1","namespace":"shop"},{"name":"db","namespace":"shop"},` +
			`{"name":"db","namespace":"shop","labels":{"app":"shop"}},{"name":"web","namespace":"other"},{"name":"web","namespace":"team"},{"name":"web"}]}`,
			"|pods: names.denied|pods: names.allowed||namespaces: names.allowed|namespaces: names.denied|namespaces: namespaces: the item has none"},
		"nodes": {`{"user":"ada","cluster":{"name":"north"},"type":"nodes","items":[{"name":"a","labels":{"node-role.kubernetes.io/master":""}},{"name":"b","labels":{"gpu":"yes"}},{"name":"c"},{"name":"d","labels":{"zone":"a"}}]}`,
			"nodes: hideMasters|nodes: hideByLabels|nodes: labels|"},
		"operators": {begin + `"operators","items":[{"name":"a","fields":{"available_in_namespaces":["*"]}}]}`, "operators: visibility: none"},
		"a denial":  {`{"user":"ada","cluster":{"name":"east"},"type":"pods","items":[{"name":"web"}]}`, "the request is denied: No matching policies found"},
		"a cluster": {`{"user":"ada","cluster":{"name":"west"},"items":[{"name":"web"}]}`, "the rule shows no item of the type"},
		"no items":  {`{"user":"ada","cluster":{"name":"west"},"type":"pods"}`, ""},
	} {
		var got []string
		for _, item := range s.explain(decision.Visibility, row.request).Items {
			got = append(got, item.HiddenBy)
			if byPolicy := item.Policy == "MonitorAccessPolicy dash/pods" && item.Source != ""; item.Shown != (item.HiddenBy == "") || byPolicy != (!item.Shown && name != "a denial") {
				t.Errorf("%s: %+v", name, item)
			}
		}
		if got := strings.Join(got, "|"); got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}
