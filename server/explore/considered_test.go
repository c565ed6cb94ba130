package explore

import (
	"strings"
	"testing"

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
		"no route":      {decision.Gateway, `{"request":{"host":"other.example.org","method":"PUT","path":"/7"}}`, ""},
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
