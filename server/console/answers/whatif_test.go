package answers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/settings"
)

const points = `== night.yaml
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: night, namespace: ops}
spec:
  identity: {subjects: {groups: [dev]}, priority: 1}
  access: {effect: Allow, enabled: true}
  scope:
    clusters:
      default: none
      rules: [{selector: {matchNames: [east]}, permissions: {view: true}}]
  lifecycle: {validity: {notBefore: "2026-11-22T18:00:00Z", notAfter: "2026-11-23T06:00:00Z"}}
== edge.yaml
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: net}
spec:
  gatewayClassName: istio
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: net}]
  rules: [{matches: [{path: {type: PathPrefix, value: /}}]}]
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: shop, namespace: shop}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}
  rules:
    authentication: {key: {apiKey: {selector: {matchLabels: {app: edge}}}}}
    authorization: {read: {patternMatching: {patterns: [{selector: request.method, operator: eq, value: GET}]}}}
`

// asked are the texts of what-ifs of a request with their outcomes.
func (s *site) asked(point, request string) []string {
	s.t.Helper()
	var list []string
	for _, w := range s.explain(point, request).WhatIf {
		list = append(list, w.Text+": "+w.Outcome)
		found, _ := decision.FindPoint(point)
		q, err := found.Decode(w.Request, s.explorer.o.ClusterLabels)
		if err != nil {
			s.t.Fatalf("%s: %s: %v", w.Text, w.Request, err)
		}
		at := now
		if w.At != "" {
			if at, err = time.Parse(time.RFC3339, w.At); err != nil {
				s.t.Fatal(err)
			}
		}
		answer, refused := q.Decide(s.t.Context(), s.active.At(at))
		if refused != nil || factsOf(point, answer, answer.Settle()).Outcome != w.Outcome {
			s.t.Errorf("%s: got %s, %v, want the decision on %s", w.Text, w.Outcome, refused, w.Request)
		}
	}
	return list
}

// Each point has what can change its decisions.
func TestWhatIfOfEachPoint(t *testing.T) {
	s := newSite(t, points)
	for _, row := range []struct{ point, request, want string }{
		{decision.Visibility, `{"user":"eve","groups":["dev","ops"],"cluster":{"name":"east","labels":{"a":"b"}},"type":""}`,
			"the labels of the cluster are not known: deny, the cluster has no labels: deny, in cluster west: deny, " +
				"a second before night begins: deny, a second after night begins: allow, without group dev: deny, without group ops: deny"},
		{decision.Gateway, `{"request":{"host":"a","method":"POST","path":"/"},"auth":{"identity":{"sub":"eve","groups":["x","y"]}}}`,
			"without an identity: deny, the method is GET: allow, without group x: deny, without group y: deny"},
		{decision.Gateway, `{"request":{"host":"a","method":"GET","path":"/"}}`, ""},
	} {
		if got := strings.Join(s.asked(row.point, row.request), ", "); got != row.want {
			t.Errorf("%s: got %s, want %s", row.request, got, row.want)
		}
	}
}

// A policy whose end no clock reaches, which is how some write that it has none, has no time at
// which that would matter.
func TestWhatIfOfAnEndThatNoClockReaches(t *testing.T) {
	s := newSite(t, strings.Replace(labelsDocuments, "subjects: {users: [eve]}}", "subjects: {users: [eve]}}\n  lifecycle: {validity: {notAfter: \"9999-12-31T23:59:59Z\"}}", 1))
	got := s.asked(decision.Visibility, `{"user":"eve","cluster":{"name":"west","labels":{}},"type":"nodes"}`)
	if len(got) == 0 || strings.Contains(strings.Join(got, ", "), "second") {
		t.Errorf("got %q, want changes, and none of the time", got)
	}
}

// A fact that a warning names is asked with a value that the rule matches and one that it
// does not.
func TestWhatIfOfUnknownFacts(t *testing.T) {
	s := newSite(t, policies+`== namespaces.yaml
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: gold-only}
spec:
  precedence: 1
  rules:
    - {verbs: [patch], apiGroups: [""], resources: [pods], namespaces: {selectorTerms: [{matchLabels: {tier: gold}}]}}
`)
	got := s.asked(decision.Access, requests["labels not known"].request)
	want := []string{
		"the object has no labels: allow", `with labels that RoleBinding shop/editors rule 1 matches: {"protected":""}: deny`,
		`with labels that RoleBinding shop/editors rule 1 does not match: {}: allow`,
	}
	for _, text := range want {
		if !slices.Contains(got, text) {
			t.Errorf("got %q, want %s among them", got, text)
		}
	}
	got = s.asked(decision.Access, `{"user":"eve","verb":"patch","resource":"pods","namespace":"shop"}`)
	if all := strings.Join(got, ", "); !strings.Contains(all, `namespace labels that DenyPolicy gold-only rule 0 matches: {"tier":"gold"}: deny`) || !strings.Contains(all, "does not match: {}: none") {
		t.Errorf("got %s, want both values of the labels of the namespace", all)
	}
}

// The bound holds for a subject of many groups, and the other changes come first.
func TestWhatIfOfManyGroups(t *testing.T) {
	s := newSite(t, policies)
	groups := `"g0"`
	for i := range 1000 {
		groups += fmt.Sprintf(`,"g%d"`, i+1)
	}
	got := s.asked(decision.Access, `{"user":"ada","groups":[`+groups+`],"verb":"list","resource":"pods","namespace":"shop"}`)
	if len(got) != maxWhatIf || got[0] != "the object has no labels: allow" || !slices.Contains(got, "the verb is get: allow") || !slices.Contains(got, "without group g0: allow") {
		t.Errorf("got %q", got)
	}
}

// The first step lists the deny policies in the order of evaluation.
func TestDenyPoliciesOfTheLadder(t *testing.T) {
	s := newSite(t, policies)
	for name, want := range map[string]string{
		"a deny policy": "no-secrets 10 decides, strict-pods 20 notAsked", "a pod that is scored": "no-secrets 10 none, strict-pods 20 decides",
		"a grant": "no-secrets 10 none, strict-pods 20 none",
	} {
		step := s.explain(decision.Access, requests[name].request).Steps[0]
		var got []string
		for _, p := range step.Policies {
			got = append(got, fmt.Sprintf("%s %d %s", p.Name, p.Precedence, p.State))
			if !strings.HasPrefix(p.Source, "deny.yaml:") {
				t.Errorf("got %+v, want its place", p)
			}
		}
		if strings.Join(got, ", ") != want || step.MorePolicies != 0 {
			t.Errorf("%s: got %v, want %s", name, got, want)
		}
	}
	ada := console.Caller{User: "ada"}
	e, err := s.explorer.Now().Explain(t.Context(), ada, decision.Access, []byte(`{"verb":"get","resource":"pods"}`), time.Time{})
	if err != nil || e.Steps[0].Policies != nil {
		t.Errorf("got %v, %v, want no list for a caller who is not an auditor", e.Steps, err)
	}
	var many strings.Builder
	for i := range maxPolicies + 10 {
		fmt.Fprintf(&many, "== p%d.yaml\napiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: DenyPolicy\nmetadata: {name: p%02d}\nspec:\n  precedence: %d\n"+
			"  rules: [{verbs: [v%d], apiGroups: [\"\"], resources: [pods]}]\n", i, i, i, i)
	}
	long := newSite(t, many.String())
	step := long.explain(decision.Access, fmt.Sprintf(`{"user":"ada","verb":"v%d","resource":"pods"}`, maxPolicies+5)).Steps[0]
	if len(step.Policies) != maxPolicies || step.MorePolicies != 10 || step.Policies[maxPolicies-1].State != console.Decides {
		t.Errorf("got %d policies and %d more, the last %+v, want it to decide", len(step.Policies), step.MorePolicies, step.Policies[len(step.Policies)-1])
	}
}

// A request that lacks the groups of every API server has a row with them where they matter.
func TestWhatIfOfImpliedGroups(t *testing.T) {
	const bound = `== bind.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: everybody, namespace: shop}
subjects: [{kind: Group, name: "system:authenticated"}]
roleRef: {kind: Role, name: reader, apiGroup: rbac.authorization.k8s.io}
`
	s := newSite(t, bound)
	const request = `{"user":"bob","verb":"get","resource":"pods","namespace":"shop"}`
	if got := s.asked("access", request); !slices.Contains(got, asAuthenticated+": allow") {
		t.Errorf("got %q", got)
	}
	e := s.explain("access", request)
	if e.Outcome != console.None || len(e.Nearest) != 1 || e.Nearest[0].Text != asAuthenticated || e.Nearest[0].Matched.Name != "everybody" {
		t.Errorf("got %s, nearest %s", e.Outcome, text(t, e.Nearest))
	}
	if got := s.asked("access", `{"user":"bob","verb":"get","resource":"pods","namespace":"other"}`); slices.Contains(got, asAuthenticated+": none") {
		t.Errorf("no binding in the namespace: got %q", got)
	}
	s.changes = translator.New(translator.Options{Settings: settings.Settings{settings.ImpliedGroups: {Text: settings.Kubernetes}}})
	if err := s.load(bound); err != nil {
		t.Fatal(err)
	}
	e = s.explain("access", request)
	if e.Outcome != console.Allow || !strings.Contains(string(e.Request), `"groups":["system:authenticated"]`) || !strings.Contains(string(e.Decision), `"impliedGroups"`) {
		t.Errorf("got %s for %s: %s", e.Outcome, e.Request, e.Decision)
	}
}
