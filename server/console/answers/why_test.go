package answers

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/tests/gate"
)

// whyPolicy returns a policy of the visibility point that names eve.
func whyPolicy(name, effect, scope, rest string) string {
	return fmt.Sprintf(`== %s.yaml
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: %s, namespace: ops}
spec:
  identity: {subjects: {users: [eve]}, priority: %d}
  access: {effect: %s, enabled: %t}
  scope: {clusters: {default: none, rules: [{selector: {%s}, permissions: {view: true}}]}}
%s`, name, name, 10+len(name), effect, !strings.Contains(rest, "disabled"), scope, strings.ReplaceAll(rest, "disabled", ""))
}

// Each policy that cannot decide states why, by validity or by selector.
func TestVisibilityStepsStateWhy(t *testing.T) {
	const period = "  lifecycle: {validity: {%s: %q}}\n"
	s := newSite(t, whyPolicy("a", "Allow", "matchNames: [east]", "disabled")+
		whyPolicy("bb", "Allow", "matchNames: [east]", fmt.Sprintf(period, "notBefore", "2026-11-23T00:00:00Z"))+
		whyPolicy("ccc", "Allow", "matchNames: [east]", fmt.Sprintf(period, "notAfter", "2026-11-21T00:00:00Z"))+
		whyPolicy("dddd", "Allow", "matchNames: [east]", fmt.Sprintf(period, "notAfter", "tomorrow"))+
		whyPolicy("eeeee", "Allow", "matchLabels: {env: prod}", ""))
	got := make(map[string]string)
	for _, step := range s.explain(decision.Visibility, `{"user":"eve","cluster":{"name":"east"},"type":""}`).Steps {
		got[step.Title] = step.Why
	}
	for name, want := range map[string]string{
		"a": "disabled: enabled is false", "bb": "not yet valid: begins 2026-11-23T00:00:00Z", "ccc": "expired: ended 2026-11-21T00:00:00Z",
		"dddd": `malformed: notBefore "", notAfter "tomorrow"`, "eeeee": "no selector matches the cluster: rule 0: matchLabels {env: prod}",
	} {
		if why := got["MonitorAccessPolicy ops/"+name]; why != want {
			t.Errorf("%s: got %q, want %q", name, why, want)
		}
	}
}

// A policy that states why it cannot decide is not among those that matched, each one that
// was asked and did not match states why, and the decision is the same without it.
func TestVisibilityStepsAgreeWithTheDecision(t *testing.T) {
	const request = `{"user":"eve","cluster":{"name":"east","labels":{"env":"prod"}},"type":""}`
	scopes := []string{"matchNames: [east]", "matchNames: [west]", "matchPattern: ^ea", "matchLabels: {env: prod}", "matchLabels: {env: test}"}
	rests := []string{"", "", "disabled", "  lifecycle: {validity: {notBefore: \"2026-11-23T00:00:00Z\"}}\n", "  lifecycle: {validity: {notAfter: \"2026-11-21T00:00:00Z\"}}\n"}
	for seed := range uint64(gate.Worlds(15)) {
		r := rand.New(rand.NewPCG(seed, 2))
		documents := make(map[string]string)
		all := ""
		for i := range 2 + r.IntN(4) {
			name := strings.Repeat("p", i+1)
			documents["MonitorAccessPolicy ops/"+name] = whyPolicy(name, []string{"Allow", "Allow", "Deny"}[r.IntN(3)], scopes[r.IntN(len(scopes))], rests[r.IntN(len(rests))])
			all += documents["MonitorAccessPolicy ops/"+name]
		}
		e := newSite(t, all).explain(decision.Visibility, request)
		for _, step := range e.Steps {
			switch {
			case step.Why != "" && (len(step.Matched) > 0 || step.State == console.Decides):
				t.Errorf("seed %d: %s matches, and states why not: %s", seed, step.Title, step.Why)
			case step.Why == "" && step.State == console.NoMatch:
				t.Errorf("seed %d: %s does not match and does not state why", seed, step.Title)
			case step.Why != "":
				without := newSite(t, ownDocuments+strings.Replace(all, documents[step.Title], "", 1)).explain(decision.Visibility, request)
				if string(without.Decision) != string(e.Decision) {
					t.Errorf("seed %d: without %s (%s): got %s, want %s", seed, step.Title, step.Why, without.Decision, e.Decision)
				}
			}
		}
	}
}
