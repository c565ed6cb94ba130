package deny

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// lowered are the tables of documents, each in the file of its own name.
func lowered(t testing.TB, files map[string]string) *tables.Deny {
	t.Helper()
	var documents []syntax.Document
	for name, content := range files {
		read := kinds.Decode(name, []byte(content), syntax.Options{})
		more, list := read.Documents, read.List
		if list.HasErrors() {
			t.Fatal(list)
		}
		documents = append(documents, more...)
	}
	d := new(directory.Names).NewDirectory(documents, directory.Options{AllowEmpty: true})
	resolved := resolve(d)
	if d.List.HasErrors() {
		t.Fatal(d.List)
	}
	return lower(resolved)
}

// globs are parsed patterns.
func globs(t *testing.T, patterns ...string) []tables.PathGlob {
	t.Helper()
	var out []tables.PathGlob
	for _, pattern := range patterns {
		glob, problem, _ := tables.ParsePathGlob(pattern)
		if problem != "" {
			t.Fatal(problem)
		}
		out = append(out, glob)
	}
	return out
}

var namedPods = map[string][]string{"pod": {"pods"}, "pods": {"pods"}, "podses": {"pods"}}

const wholePolicy = `
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: whole, namespace: ignored}
spec:
  precedence: 7
  appliesTo: {clusters: ["prod-*"], tenants: [bank], sessions: ["s-?"], escalationRefs: ["sre-*"]}
  rules:
    - {verbs: [get, create], apiGroups: [""], resources: [pods/exec, "*"], subresources: [""], resourceNames: ["web-*"]}
    - verbs: ["*"]
      apiGroups: ["*"]
      resources: ["*"]
      namespaces:
        patterns: ["team-*"]
        selectorTerms:
          - matchLabels: {env: prod, app: web}
            matchExpressions: [{key: tier, operator: NotIn, values: [b, a, b]}, {key: x, operator: DoesNotExist}]
  podSecurityRules:
    riskFactors: {hostPID: 70, hostIPC: 0, capabilities: {cap_net_admin: 50}}
    thresholds:
      - {maxScore: 30, action: allow, reason: ""}
      - {maxScore: 70, action: deny, reason: "{{ .Score }} of {{.factors}}{{.pod}}."}
    blockFactors: [hostPID, "capability:CAP_SYS_ADMIN", hostPID, "capability:sys_admin"]
    exemptions: {namespaces: [kube-system], podLabels: {exempt: "true"}}
    failMode: open
`

const sreFix = `
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassEscalation
metadata: {name: sre-fix, namespace: ns}
spec:
  escalatedGroup: admin
  allowed: {clusters: ["prod-*"], groups: [sre, ops]}
  clusterConfigRefs: [edge]
  approvers: {groups: [security]}
  denyPolicyRefs: [whole]
  podSecurityOverrides: {enabled: true, maxAllowedScore: 0, exemptFactors: ["capability:cap_x", hostPID], namespaceScope: ["a*"]}
`

func TestDenyPolicy(t *testing.T) {
	got := lowered(t, map[string]string{"p.yaml": wholePolicy, "e.yaml": sreFix})
	zero := 0
	override := tables.Escalation{
		Name: "sre-fix", Source: "e.yaml:3", Clusters: globs(t, "prod-*", "edge"), Groups: []string{"ops", "sre"},
		ExemptFactors: []string{"capability:X", "hostPID"}, MaxAllowedScore: &zero,
		NamespaceScope: &tables.NamespaceFilter{Patterns: globs(t, "a*")},
	}
	want := &tables.Deny{
		Policies: []tables.DenyPolicy{{
			Name: "whole", Precedence: 7, Source: "p.yaml:3",
			Clusters: globs(t, "prod-*"), Tenants: globs(t, "bank"), Sessions: globs(t, "s-?"), EscalationRefs: globs(t, "sre-*"),
			ReferredBy: []string{"sre-fix"},
			Rules: []tables.DenyRule{
				{
					Rule: 0, Source: "p.yaml:9", Actions: []tables.DenyAction{{Verbs: []string{"get", "create"}, Groups: []string{""}}},
					Resources: []tables.DenyResource{
						{Resources: []string{"pods"}, Subresources: []string{"exec"}}, {Subresources: []string{""}},
					},
					NeedsName: true, Names: globs(t, "web-*"),
				},
				{
					Rule: 1, Source: "p.yaml:10", Actions: []tables.DenyAction{{}}, Resources: []tables.DenyResource{{}},
					Namespaces: &tables.NamespaceFilter{
						Patterns: globs(t, "team-*"),
						Terms: [][]tables.LabelRequirement{{
							{Key: "app", Operator: "In", Values: []string{"web"}},
							{Key: "env", Operator: "In", Values: []string{"prod"}},
							{Key: "tier", Operator: "NotIn", Values: []string{"a", "b"}},
							{Key: "x", Operator: "DoesNotExist"},
						}},
					},
				},
			},
			Pod: &tables.PodSecurity{
				Source: "p.yaml:18", Subresources: []string{"exec", "attach", "portforward"},
				Factors: []tables.RiskFactor{
					{Name: "capability:NET_ADMIN", Capability: "NET_ADMIN", Weight: 50},
					{Name: "capability:SYS_ADMIN", Capability: "SYS_ADMIN"},
					{Name: "hostIPC"},
					{Name: "hostNetwork"},
					{Name: "hostPID", Weight: 70},
					{Name: "hostPathReadOnly"},
					{Name: "hostPathWritable"},
					{Name: "privilegedContainer"},
					{Name: "runAsRoot"},
				},
				Thresholds: []tables.Threshold{
					{MaxScore: 30, Action: "allow"},
					{MaxScore: 70, Action: "deny", Reason: []tables.TemplatePart{
						{Variable: "score"}, {Text: " of "}, {Variable: "factors"}, {Variable: "pod"}, {Text: "."},
					}},
				},
				BlockFactors:     []string{"hostPID", "capability:SYS_ADMIN"},
				ExemptNamespaces: &tables.NamespaceFilter{Patterns: globs(t, "kube-system")},
				ExemptLabels:     map[string]string{"exempt": "true"},
				FailOpen:         true,
			},
		}},
		Escalations: []tables.Escalation{override},
		Owned:       []tables.Escalation{override},
		Resources:   namedPods,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
		if len(got.Policies) == 1 {
			t.Errorf("pod: got %+v\nwant %+v", got.Policies[0].Pod, want.Policies[0].Pod)
		}
	}
}

func TestDenyPolicyDefaults(t *testing.T) {
	got := lowered(t, map[string]string{"p.yaml": `
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: p}
spec:
  appliesTo: {clusters: []}
  rules: [{verbs: [get], apiGroups: [""], resources: [pods], namespaces: {patterns: []}}]
  podSecurityRules: {appliesTo: {subresources: []}, riskFactors: {}, thresholds: [], exemptions: {namespaces: []}}
`})
	want := &tables.Deny{
		Policies: []tables.DenyPolicy{{
			Name: "p", Precedence: 100, Source: "p.yaml:3",
			Rules: []tables.DenyRule{{
				Source:  "p.yaml:7",
				Actions: []tables.DenyAction{{Verbs: []string{"get"}, Groups: []string{""}}}, Resources: []tables.DenyResource{{Resources: []string{"pods"}}},
			}},
			Pod: &tables.PodSecurity{
				Source: "p.yaml:8", Subresources: []string{"exec", "attach", "portforward"},
				Factors: []tables.RiskFactor{
					{Name: "hostIPC"}, {Name: "hostNetwork"}, {Name: "hostPID"}, {Name: "hostPathReadOnly"},
					{Name: "hostPathWritable"}, {Name: "privilegedContainer"}, {Name: "runAsRoot"},
				},
			},
		}},
		Escalations: []tables.Escalation{},
		Resources:   namedPods,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if none := lowered(t, nil); none == nil || len(none.Policies)+len(none.Escalations) > 0 {
		t.Errorf("without documents: got %+v", none)
	}
}

// Overrides that are never in force are not in the tables. A session of an escalation proves
// what a request that names the escalation must show.
func TestOverridesInForce(t *testing.T) {
	for _, row := range []struct {
		name, allowed, override string
		want, owned             int
	}{
		{"a score", "{clusters: [c], groups: [g]}", "{enabled: true, maxAllowedScore: 0}", 1, 1},
		{"factors", "{clusters: [c], groups: [g]}", "{enabled: true, exemptFactors: [hostPID]}", 1, 1},
		{"none", "{clusters: [c], groups: [g]}", "null", 0, 0},
		{"not enabled", "{clusters: [c], groups: [g]}", "{maxAllowedScore: 5}", 0, 0},
		{"disabled", "{clusters: [c], groups: [g]}", "{enabled: false, maxAllowedScore: 5}", 0, 0},
		{"approval", "{clusters: [c], groups: [g]}", "{enabled: true, requireApproval: true, maxAllowedScore: 5}", 0, 0},
		{"no clusters", "{groups: [g]}", "{enabled: true, maxAllowedScore: 5}", 0, 1},
		{"no groups", "{clusters: [c]}", "{enabled: true, maxAllowedScore: 5}", 0, 1},
		{"nothing relaxed", "{clusters: [c], groups: [g]}", "{enabled: true}", 1, 1},
	} {
		deny := lowered(t, map[string]string{"e.yaml": fmt.Sprintf(`
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassEscalation
metadata: {name: e}
spec: {escalatedGroup: a, allowed: %s, approvers: {users: [u]}, podSecurityOverrides: %s}
`, row.allowed, row.override)})
		if got := len(deny.Escalations); got != row.want {
			t.Errorf("%s: got %d, want %d", row.name, got, row.want)
		}
		if got := len(deny.Owned); got != row.owned {
			t.Errorf("%s: users of sessions: got %d, want %d", row.name, got, row.owned)
		}
	}
}

// Policies are judged by precedence and then by name in byte order, and neither
// that nor who refers to them depends on the files they are in.
func TestOrderOfDenyPolicies(t *testing.T) {
	const policy = "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: DenyPolicy\nmetadata: {name: %s}\nspec: {%srules: [{verbs: [get], apiGroups: [\"\"], resources: [pods]}]}\n"
	const escalation = "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: BreakglassEscalation\nmetadata: {name: %s}\nspec: {escalatedGroup: a, allowed: {clusters: [c], groups: [g]}, approvers: {users: [u]}, denyPolicyRefs: [z, 0b], podSecurityOverrides: {enabled: true, maxAllowedScore: 5}}\n"
	documents := []string{
		fmt.Sprintf(policy, "z", "precedence: 50, "), fmt.Sprintf(policy, "a", ""), fmt.Sprintf(policy, "0b", ""),
		fmt.Sprintf(policy, "y", "precedence: 100, "), fmt.Sprintf(policy, "a-b", ""), fmt.Sprintf(policy, "a0", "precedence: 101, "),
		fmt.Sprintf(escalation, "two"), fmt.Sprintf(escalation, "one"),
	}
	want := []string{"z [one two]", "0b [one two]", "a []", "a-b []", "y []", "a0 []"}
	rapid.Check(t, func(rt *rapid.T) {
		order := rapid.Permutation(documents).Draw(rt, "order")
		files := make(map[string]string)
		for i, d := range order {
			files[fmt.Sprintf("%d.yaml", i)] = d
		}
		deny := lowered(t, files)
		var got []string
		for _, p := range deny.Policies {
			got = append(got, fmt.Sprint(p.Name, " ", p.ReferredBy))
		}
		if !slices.Equal(got, want) {
			rt.Errorf("got %v, want %v", got, want)
		}
		if deny.Escalations[0].Name != "one" || deny.Escalations[1].Name != "two" {
			rt.Errorf("got %v, want one before two", deny.Escalations)
		}
	})
}

// The verb "impersonate" covers the newer verbs of impersonation, in the core group and
// in that of authentication.
func TestActionsOfImpersonation(t *testing.T) {
	both := []string{"", "authentication.k8s.io"}
	for _, row := range []struct {
		verbs, groups string
		want          []tables.DenyAction
	}{
		{"[get]", `[""]`, []tables.DenyAction{{Verbs: []string{"get"}, Groups: []string{""}}}},
		{"[impersonate]", `[""]`, []tables.DenyAction{{Verbs: []string{"impersonate"}, Groups: []string{""}}, {VerbPrefix: "impersonate:", Groups: both}}},
		{"[impersonate]", `[apps]`, []tables.DenyAction{
			{Verbs: []string{"impersonate"}, Groups: []string{"apps"}}, {VerbPrefix: "impersonate:", Groups: []string{"apps"}},
		}},
		{"[impersonate]", `["*"]`, []tables.DenyAction{{Verbs: []string{"impersonate"}}, {VerbPrefix: "impersonate:"}}},
		{`["*"]`, `["*"]`, []tables.DenyAction{{}}},
		{`["*"]`, `[authentication.k8s.io]`, []tables.DenyAction{{Groups: []string{"authentication.k8s.io"}}, {VerbPrefix: "impersonate:", Groups: both}}},
		{`[get, "impersonate:user-info"]`, `[""]`, []tables.DenyAction{
			{Verbs: []string{"get", "impersonate:user-info"}, Groups: []string{""}}, {Verbs: []string{"impersonate:user-info"}, Groups: both},
		}},
	} {
		deny := lowered(t, map[string]string{"p.yaml": fmt.Sprintf(`
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: p}
spec: {rules: [{verbs: %s, apiGroups: %s, resources: [users]}]}
`, row.verbs, row.groups)})
		if got := deny.Policies[0].Rules[0].Actions; !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s, %s: got %+v, want %+v", row.verbs, row.groups, got, row.want)
		}
	}
}
