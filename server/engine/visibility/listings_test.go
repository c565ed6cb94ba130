package visibility

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// everyPolicy has a policy for each state, source and effect.
const everyPolicy = `
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: late-deny, namespace: b}
spec:
  identity: {subjects: {groups: [dev], serviceAccounts: [{namespace: ci, name: bot}]}, priority: 900}
  access: {effect: Deny}
  scope: {clusters: {default: none, rules: [{selector: {matchNames: [gone]}}]}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: window, namespace: b}
spec:
  identity: {subjects: {users: [alice], groups: [dev]}}
  access: {effect: Allow}
  scope: {clusters: {default: deny, rules: [{selector: {matchLabels: {env: lab}}}]}}
  lifecycle: {validity: {notBefore: "2026-01-01T00:00:00Z", notAfter: "2026-01-31T00:00:00Z"}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: off, namespace: a}
spec:
  identity: {subjects: {groups: [ops]}}
  access: {effect: Allow, enabled: false}
  scope: {clusters: {default: all}}
  lifecycle: {validity: {notBefore: soon}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: broken, namespace: a}
spec:
  identity: {subjects: {groups: [ops, dev]}}
  access: {effect: Allow}
  scope: {clusters: {default: all}}
  lifecycle: {validity: {notAfter: "2026-13-01"}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: types, namespace: c}
spec:
  identity: {subjects: {users: ["system:serviceaccount:ci:own"], groups: [dev], serviceAccounts: [{namespace: ci, name: bot}]}, priority: 5}
  access: {effect: Allow}
  scope:
    clusters:
      rules:
        - selector: {matchNames: [prod, stage, prod]}
          permissions: {view: true, viewMetrics: true}
          resources:
            - {type: volume, aggregations: {exclude: [size]}}
            - {type: pods, visibility: all}
        - selector: {matchNames: [part]}
          permissions: {viewMetrics: true, view: true}
          resources: [{type: pods, visibility: none}, {type: hidden, visibility: none}, {type: volume}, {type: blind}]
        - selector: {matchNames: [numbers]}
          permissions: {viewMetrics: true}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: volumes, namespace: z}
spec:
  source: {apiVersion: v1, kind: PersistentVolumeClaim}
  fields: [{name: size, path: .size}, {name: class, path: .class}]
  computed: [{name: free, expression: size}]
  aggregations: [{name: total, function: count}, {name: size, function: sum, field: size}, {name: avg, function: avg, field: size}]
  rbac: {resourceTypeName: volume}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: hidden, namespace: z}
spec:
  source: {apiVersion: v1, kind: Secret, scope: Cluster}
  fields: [{name: size, path: .size}]
  rbac: {resourceTypeName: hidden}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: unnamed, namespace: z}
spec:
  source: {apiVersion: v1, kind: Secret}
  fields: [{name: size, path: .size}]
`

func TestPolicies(t *testing.T) {
	var now time.Time
	e := newPolicies(t, everyPolicy, Options{Now: func() time.Time { return now }})
	for _, row := range []struct {
		name, now string
		who       decision.Principal
		want      string // name, source, state
	}{
		{"no principal", "2026-01-10T00:00:00Z", decision.Principal{Groups: []string{"dev"}}, ""},
		{"a stranger", "2026-01-10T00:00:00Z", decision.Principal{User: "bob", Groups: []string{"DEV", ""}}, ""},
		{"a user", "2026-01-10T00:00:00Z", decision.Principal{User: "alice"}, "window user Active"},
		{"denials first, then by priority, namespace, name", "2026-01-10T00:00:00Z", decision.Principal{User: "bob", Groups: []string{"dev", "ops"}},
			"late-deny group:dev Active; types group:dev Active; broken group:dev Error; off group:ops Inactive; window group:dev Active"},
		{"the user before groups, groups as the caller has them", "2026-01-10T00:00:00Z", decision.Principal{User: "alice", Groups: []string{"ops", "dev"}},
			"late-deny group:dev Active; types group:dev Active; broken group:ops Error; off group:ops Inactive; window user Active"},
		{"before it begins", "2025-12-31T23:59:59.999Z", decision.Principal{User: "alice"}, "window user Inactive"},
		{"at its first instant", "2026-01-01T00:00:00Z", decision.Principal{User: "alice"}, "window user Active"},
		{"at its last instant", "2026-01-31T00:00:00Z", decision.Principal{User: "alice"}, "window user Active"},
		{"just after", "2026-01-31T00:00:00.001Z", decision.Principal{User: "alice"}, "window user Expired"},
		{"a service account", "2026-01-10T00:00:00Z", decision.Principal{User: "system:serviceaccount:ci:bot"}, "late-deny serviceaccount Active; types serviceaccount Active"},
		{"a service account of a group", "2026-01-10T00:00:00Z", decision.Principal{User: "system:serviceaccount:ci:bot", Groups: []string{"dev"}},
			"late-deny group:dev Active; types group:dev Active; broken group:dev Error; window group:dev Active"},
		{"a service account that is named as a user", "2026-01-10T00:00:00Z", decision.Principal{User: "system:serviceaccount:ci:own"}, "types user Active"},
	} {
		t.Run(row.name, func(t *testing.T) {
			now = instant(t, row.now)
			listing := e.ListPolicies(t.Context(), row.who)
			var got []string
			for _, p := range listing.Policies {
				got = append(got, p.Name+" "+p.Source+" "+string(p.State))
			}
			if got := strings.Join(got, "; "); got != row.want {
				t.Errorf("got %s\nwant %s", got, row.want)
			}
			if listing.Revision != e.revision || !listing.At.Equal(now) || listing.EvaluationError != "" {
				t.Errorf("got %+v", listing.Listing)
			}
		})
	}
}

func TestPolicySummary(t *testing.T) {
	e := newPolicies(t, everyPolicy, Options{})
	listing := e.ListPolicies(t.Context(), decision.Principal{User: "bob", Groups: []string{"dev", "ops"}})
	var got []string
	for _, p := range listing.Policies {
		got = append(got, fmt.Sprint(p.Namespace, " ", p.Priority, " ", p.Deny, " ", p.Enabled, " ", p.NotBefore, "-", p.NotAfter, " ", p.Default, " ", p.CustomTypes))
	}
	want := []string{
		"b 900 true true - none []",
		"c 5 false true - none [blind hidden volume]",
		"a 100 false true -2026-13-01 all []",
		"a 100 false false soon- all []",
		"b 100 false true 2026-01-01T00:00:00Z-2026-01-31T00:00:00Z deny []",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// A policy's hash is of its content: its position is not part of it.
func TestPolicyHash(t *testing.T) {
	hash := func(documents string) string {
		listing := newPolicies(t, documents, Options{}).ListPolicies(t.Context(), decision.Principal{User: "alice"})
		if len(listing.Policies) != 1 {
			t.Fatalf("got %d policies, want 1", len(listing.Policies))
		}
		return listing.Policies[0].Hash
	}
	const window = "matchLabels: {env: lab}"
	first := hash(everyPolicy)
	if len(first) != 64 {
		t.Errorf("got the hash %q", first)
	}
	if got := hash("\n\n\n" + everyPolicy); got != first {
		t.Error("a policy on another line has another hash")
	}
	if got := hash(strings.Replace(everyPolicy, "matchNames: [part]", "matchNames: [other]", 1)); got != first {
		t.Error("a change of another policy changes the hash")
	}
	if got := hash(strings.Replace(everyPolicy, window, "matchLabels: {env: labs}", 1)); got == first {
		t.Error("a change of the policy does not change the hash")
	}
}

func TestPermissions(t *testing.T) {
	now := instant(t, "2026-01-10T00:00:00Z")
	e := newPolicies(t, everyPolicy, Options{Now: func() time.Time { return now }})
	labels := func(cluster string) map[string]string {
		if cluster == "bench" {
			return map[string]string{"env": "lab"}
		}
		return nil
	}
	dev := decision.Principal{User: "bob", Groups: []string{"dev"}}
	for _, row := range []struct {
		name       string
		who        decision.Principal
		clusters   []string
		candidates int
		want       string
	}{
		// A cluster of which only numbers may be seen is not accessible.
		{"all that documents name", dev, nil, 5, "part [view viewMetrics] false; prod [view viewMetrics] true; stage [view viewMetrics] true"},
		{"those given, each once", dev, []string{"x", "stage", "bench", "stage", "gone"}, 4, "bench [view] false; stage [view viewMetrics] true"},
		{"by labels", decision.Principal{User: "alice"}, []string{"bench", "prod"}, 2, "bench [view] false"},
		{"none given", dev, []string{}, 0, ""},
		{"a stranger", decision.Principal{User: "x"}, nil, 5, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			listing := e.ListPermissions(t.Context(), row.who, row.clusters, labels)
			var got []string
			for _, c := range listing.Accessible {
				got = append(got, fmt.Sprint(c.Cluster, " ", c.Permissions, " ", c.Full))
			}
			if got := strings.Join(got, "; "); got != row.want || listing.Candidates != row.candidates {
				t.Errorf("got %s of %d\nwant %s of %d", got, listing.Candidates, row.want, row.candidates)
			}
		})
	}
	now = instant(t, "2300-01-01T00:00:00Z")
	if listing := e.ListPermissions(t.Context(), dev, nil, labels); listing.EvaluationError == "" || listing.Accessible != nil {
		t.Errorf("got %+v, want an evaluation error and nothing else", listing)
	}
	if listing := e.ListCustomTypes(t.Context(), dev); listing.EvaluationError == "" || listing.Types != nil {
		t.Errorf("got %+v, want an evaluation error and nothing else", listing)
	}
}

func TestCustomTypes(t *testing.T) {
	const deny = `---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: no-volumes}
spec:
  identity: {subjects: {users: [barred]}}
  access: {effect: Deny}
  scope: {clusters: {rules: [{selector: {matchNames: [x]}, resources: [{type: volume}]}]}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: secrets}
spec:
  identity: {subjects: {users: [warden]}}
  access: {effect: Allow}
  scope: {clusters: {rules: [{selector: {matchNames: [x]}, resources: [{type: hidden}, {type: volume, aggregations: {include: [avg, none]}}]}]}}
`
	e := newPolicies(t, everyPolicy+deny, Options{})
	for _, row := range []struct {
		who  decision.Principal
		want string
	}{
		{decision.Principal{User: "bob", Groups: []string{"dev"}}, "volume z/volumes v1 PersistentVolumeClaim Namespaced [size class] [free] [total avg]"},
		{decision.Principal{User: "barred", Groups: []string{"dev"}}, ""},
		{decision.Principal{User: "warden"}, "hidden z/hidden v1 Secret Cluster [size] [] []; volume z/volumes v1 PersistentVolumeClaim Namespaced [size class] [free] [avg]"},
		{decision.Principal{User: "x"}, ""},
	} {
		var got []string
		for _, c := range e.ListCustomTypes(t.Context(), row.who).Types {
			got = append(got, fmt.Sprint(c.Type, " ", c.Namespace, "/", c.Name, " ", c.APIVersion, " ", c.Kind, " ", c.Scope, " ", c.Fields, " ", c.Computed, " ", c.Aggregations))
		}
		if got := strings.Join(got, "; "); got != row.want {
			t.Errorf("%s: got %s\nwant %s", row.who.User, got, row.want)
		}
	}
}

// A bundle without visibility documents lists nothing, which is not an evaluation error.
func TestListingsWithoutDocuments(t *testing.T) {
	e := newPolicies(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: []\n", Options{})
	who := decision.Principal{User: "alice", Groups: []string{"dev"}}
	policies, types := e.ListPolicies(t.Context(), who), e.ListCustomTypes(t.Context(), who)
	permissions := e.ListPermissions(t.Context(), who, []string{"c"}, func(string) map[string]string { return nil })
	if len(policies.Policies)+len(types.Types)+len(permissions.Accessible) > 0 || policies.EvaluationError+types.EvaluationError+permissions.EvaluationError != "" || permissions.Candidates != 1 {
		t.Errorf("got %+v, %+v, %+v", policies, types, permissions)
	}
}
