package question_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/tests/revisions"
)

// covers reports whether a rule allows a request in the way of Kubernetes.
func covers(g question.GrantedRule, r map[string]any) bool {
	has := func(list []string, key string) bool {
		value, _ := r[key].(string)
		return slices.Contains(list, "*") || slices.Contains(list, value)
	}
	resource, _ := r["resource"].(string)
	sub, _ := r["subresource"].(string)
	if sub != "" {
		resource += "/" + sub
	}
	return has(g.Verbs, "verb") && has(g.APIGroups, "apiGroup") && (slices.Contains(g.Resources, "*") || slices.Contains(g.Resources, resource) ||
		sub != "" && slices.Contains(g.Resources, "*/"+sub)) && (len(g.ResourceNames) == 0 || has(g.ResourceNames, "name"))
}

// A client may rely on each rule, and a list without omissions has everything that is
// allowed.
func TestGrantsAreThoseOfTheEngine(t *testing.T) {
	relied, whole, allowed := 0, 0, 0
	for n := range pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 3))}
		documents := w.Documents()
		if n%2 == 0 { // few documents, whose rules can be listed completely
			documents = slices.DeleteFunc(documents, func(d string) bool {
				return strings.Contains(d, "DenyPolicy") || strings.Contains(d, "{kind: Role,") || strings.Contains(d, "name: o")
			})
		}
		side := revisions.Of(t, documents)
		asker := &question.Asker{World: side.World, Judge: side.Judge}
		for range 4 {
			subject := w.Request()
			user, _ := subject["user"].(string)
			groups, _ := subject["groups"].([]string)
			grants, err := asker.Grants(t.Context(), user, groups, "shop", nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 60 {
				r := w.Request()
				r["user"], r["groups"], r["namespace"] = user, groups, "shop"
				isAsked := r["resource"] != "Pod" && r["verb"] != "GET" && (r["subresource"] == nil || r["resource"] == "pods") // by an API server
				isCovered := slices.ContainsFunc(grants.Rules, func(g question.GrantedRule) bool { return covers(g, r) })
				switch got := revisions.Outcome(t, side, r); {
				case isCovered && got != "allow":
					t.Fatalf("seed %d: the rules %+v cover a request that is decided %s: %s", seed()+uint64(n), grants.Rules, got, revisions.Text(r))
				case isCovered:
					relied++
				case len(grants.Omitted) == 0 && isAsked && got == "allow":
					t.Fatalf("seed %d: the rules %+v are complete, and do not cover a request that is allowed: %s", seed()+uint64(n), grants.Rules, revisions.Text(r))
				case got == "allow":
					allowed++
				}
			}
			if len(grants.Omitted) == 0 && len(grants.Rules) > 0 {
				whole++
			}
		}
	}
	if relied < pairs() || whole < 3 || allowed == 0 {
		t.Errorf("%d requests are covered, %d lists are complete, %d allowed requests are omitted: the test proves too little", relied, whole, allowed)
	}
}

// Denials are left out of rules, and everything else stays.
func TestGrants(t *testing.T) {
	side := revisions.Of(t, []string{
		`{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: k}, rules: [{verbs: [get, delete], apiGroups: [""], resources: [pods, secrets]}, {verbs: [get], nonResourceURLs: [/a, /b/*]}, {verbs: ["*"], apiGroups: [apps], resources: [deployments]}]}`,
		`{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: k}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: k}, subjects: [{kind: User, name: u}]}`,
		"{kind: Policy, apiVersion: writ.dev/v1, metadata: {name: p, namespace: shop}}",
		"{kind: PolicyBinding, apiVersion: writ.dev/v1, metadata: {name: shop, namespace: shop}}",
		`{kind: Role, apiVersion: writ.dev/v1, metadata: {name: o, namespace: shop}, rules: [{verbs: [list, update, exec, -list], resourceKinds: [ConfigMap, pods]}]}`,
		`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: o, namespace: shop}, roleRef: {namespace: shop, name: o}, userNames: [u]}`,
		`{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d}, spec: {rules: [{verbs: [delete], apiGroups: [""], resources: [secrets]}, {verbs: [delete], apiGroups: [apps], resources: ["*"]}]}}`,
	})
	grants, err := (&question.Asker{World: side.World, Judge: side.Judge}).Grants(t.Context(), "u", nil, "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"[get delete] [] [pods] [] []", "[get] [] [secrets] [] []", "[get] [] [] [] [/a /b/*]",
		"[update patch] [*] [configmaps pods pods/binding pods/ephemeralcontainers pods/eviction pods/log pods/resize pods/status] [] []",
		"[get create] [*] [pods/attach pods/exec] [] []",
	}
	var got []string
	for _, g := range grants.Rules {
		got = append(got, strings.TrimSpace(strings.Join([]string{brackets(g.Verbs), brackets(g.APIGroups), brackets(g.Resources), brackets(g.ResourceNames), brackets(g.NonResourceURLs)}, " ")))
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("no rule %s in:\n%s", line, strings.Join(got, "\n"))
		}
	}
	if slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, "apps") }) {
		t.Errorf("a rule for all verbs, one of which is denied: got\n%s", strings.Join(got, "\n"))
	}
	if !slices.Equal(grants.Omitted, []string{"ClusterRoleBinding k rule 0", "ClusterRoleBinding k rule 2"}) {
		t.Errorf("omitted: got %q", grants.Omitted)
	}
}

func brackets(list []string) string { return "[" + strings.Join(list, " ") + "]" }
