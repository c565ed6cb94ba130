package risk_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint/risk"
)

const (
	role    = `{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]}`
	binding = `{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [SUBJECT]}`
	account = "{kind: ServiceAccount, namespace: ci, name: a}"
	group   = "{kind: Group, name: g}"
	deny    = `{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: [""], resources: [secrets]RULE}]}}`
)

// The severity of reading Secrets follows from who holds it and from what denials leave.
func TestSeverity(t *testing.T) {
	for _, row := range []struct{ name, subject, rule, want string }{
		{"an account", account, "", "high"},
		{"a group", group, "", "medium"},
		{"everybody", "{kind: Group, name: system:authenticated}", "", "critical"},
		{"a default account", "{kind: ServiceAccount, namespace: ci, name: default}", "", "critical"},
		{"denied", account, "}", ""},
		{"denied in kube-system", account, `, namespaces: {patterns: [kube-system]}}`, "high"},
		{"denied but in some namespaces", account, `, namespaces: {patterns: [kube-system, "w*"]}}`, "medium"},
		{"another name is denied", account, `, resourceNames: [x]}`, "high"},
	} {
		t.Run(row.name, func(t *testing.T) {
			documents := []string{role, strings.Replace(binding, "SUBJECT", row.subject, 1)}
			if row.rule != "" {
				documents = append(documents, strings.Replace(deny, "RULE}", row.rule, 1))
			}
			side := revisions.Of(t, documents)
			findings, err := risk.Of(t.Context(), side.World)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range findings {
				if f.Code != "risk-read-secrets" {
					continue
				}
				got = f.Severity
				if outcome := revisions.Outcome(t, side, f.Example); outcome != "allow" {
					t.Errorf("the example %v is decided %s", f.Example, outcome)
				}
			}
			if got != row.want {
				t.Errorf("got %q, want %q: %+v", got, row.want, findings)
			}
		})
	}
}

// A rule is reported in words that its author wrote or that the cluster has: no API group but
// the core's has pods.
func TestPowersOfARule(t *testing.T) {
	for _, row := range []struct{ rule, code, can string }{
		{"{verbs: ['*'], apiGroups: [source.toolkit.fluxcd.io], resources: ['*']}", "risk-wildcard-verbs", "for example on resources of source.toolkit.fluxcd.io"},
		{"{verbs: ['*'], apiGroups: [shop.example.com], resources: [orders]}", "risk-wildcard-verbs", "for example on orders.shop.example.com"},
		{"{verbs: ['*'], apiGroups: [''], resources: ['*']}", "risk-wildcard-verbs", "for example on pods"},
		// The objects of a kind go with its definition.
		{"{verbs: [delete], apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions]}", "risk-delete", "delete workloads or data"},
		{"{verbs: [deletecollection], apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations]}", "risk-admission", "change admission webhooks or policies"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			side := revisions.Of(t, []string{
				"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules:\n- " + row.rule + "\n",
				strings.Replace(binding, "SUBJECT", account, 1),
			})
			findings, err := risk.Of(t.Context(), side.World)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				if string(f.Code) == row.code {
					if !strings.HasSuffix(f.What(), row.can) {
						t.Errorf("got %q, want %q", f.What(), row.can)
					}
					return
				}
			}
			t.Errorf("%s is not reported: %+v", row.code, findings)
		})
	}
}

// The verbs exec and proxy of an Origin rule match requests of any verb for some subresources. They
// are not reported as wildcards.
func TestStreamsBesideWildcards(t *testing.T) {
	for _, row := range []struct {
		verbs string
		want  bool
	}{{"[exec, get]", false}, {"[proxy]", false}, {"['*']", true}, {"['*', -get]", true}} {
		side := revisions.Of(t, []string{
			"apiVersion: writ.dev/v1\nkind: Role\nmetadata: {name: r, namespace: master}\nrules:\n- {verbs: " + row.verbs + ", resourceKinds: [ConfigMap]}\n",
			"apiVersion: writ.dev/v1\nkind: RoleBinding\nmetadata: {name: b, namespace: master}\nroleRef: {name: r}\nuserNames: [bob]\n",
		})
		findings, err := risk.Of(t.Context(), side.World)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(findings, func(f risk.Finding) bool { return f.Code == diag.RiskWildcardVerbs }); got != row.want {
			t.Errorf("%s: got %t, want %t: %+v", row.verbs, got, row.want, findings)
		}
	}
}

// dangers are requests that are dangerous by themselves, written without the rules.
var dangers = []struct {
	code                  diag.Code
	verb, group, resource string
	isCluster, isSystem   bool
}{
	{"risk-read-secrets", "get", "", "secrets", false, false},
	{"risk-read-secrets", "watch", "", "secrets", false, false},
	{"risk-create-pods", "create", "", "pods", false, false},
	{"risk-create-pods", "patch", "", "pods", false, false},
	{"risk-create-workloads", "create", "apps", "deployments", false, false},
	{"risk-exec", "create", "", "pods/exec", false, false},
	{"risk-account-token", "create", "", "serviceaccounts/token", false, false},
	{"risk-impersonate", "impersonate", "", "users", true, false},
	{"risk-bind-escalate", "bind", "rbac.authorization.k8s.io", "clusterroles", false, false},
	{"risk-bind-escalate", "escalate", "rbac.authorization.k8s.io", "clusterroles", true, false},
	{"risk-write-roles", "update", "rbac.authorization.k8s.io", "rolebindings", false, false},
	{"risk-node-proxy", "get", "", "nodes/proxy", true, false},
	{"risk-system-config", "patch", "", "configmaps", false, true},
	{"risk-delete", "delete", "", "secrets", false, false},
}

// In random worlds every dangerous request that the engine allows to a subject is one of a
// finding that names the subject, and every finding has a request that its binding allows.
func TestEveryDangerIsReported(t *testing.T) {
	random := revisions.Random{Rand: rand.New(rand.NewPCG(7, 11))}
	principals := revisions.RiskyPrincipals()
	allowed, reported := 0, 0
	for range 20 {
		documents := random.Risky()
		side := revisions.Of(t, documents)
		findings, err := risk.Of(t.Context(), side.World)
		if err != nil {
			t.Fatal(err)
		}
		has := make(map[string]bool)
		for _, f := range findings {
			for _, p := range f.Subjects {
				has[p+" "+string(f.Code)] = true
				reported++
				request := asked(f.Example, p)
				if outcome := revisions.Outcome(t, side, request); outcome != "allow" {
					t.Errorf("%s: %v is decided %s", f.Code, request, outcome)
				}
			}
		}
		for _, p := range principals {
			for _, d := range dangers {
				for _, namespace := range []string{"shop", "kube-system", "elsewhere"} {
					for _, name := range []string{"", "x", "y"} {
						kind, sub, isSub := strings.Cut(d.resource, "/")
						if d.verb == "create" && !isSub && name != "" || d.isSystem && namespace != "kube-system" {
							continue
						}
						request := map[string]any{"verb": d.verb, "apiGroup": d.group, "resource": kind}
						for key, value := range map[string]string{"subresource": sub, "name": name, "namespace": namespace} {
							if value != "" && (key != "namespace" || !d.isCluster) {
								request[key] = value
							}
						}
						if request = asked(request, p); revisions.Outcome(t, side, request) != "allow" {
							continue
						}
						allowed++
						if !has[p+" "+string(d.code)] && !has[p+" risk-all-powers"] {
							t.Fatalf("%v is allowed and not reported as %s:\n%s", request, d.code, strings.Join(documents, "\n"))
						}
					}
				}
			}
		}
	}
	if allowed < 100 || reported < 100 {
		t.Errorf("%d dangers were allowed and %d subjects reported, which proves little", allowed, reported)
	}
}

// asked returns a request by a principal.
func asked(request map[string]any, principal string) map[string]any {
	out := maps.Clone(request)
	delete(out, "groups")
	who, _ := statement.RequestOf(statement.PointAccess, []string{principal})
	if out["user"] = who.User; len(who.Groups) > 0 {
		out["groups"] = who.Groups
	}
	return out
}

// Names that a rule lists matter less, and none can be listed for creating.
func TestNames(t *testing.T) {
	for _, row := range []struct{ name, rule, code, want string }{
		{"a named Secret", `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [x]}`, "risk-read-secrets", "low, named"},
		{"creating with names", `{verbs: [create], apiGroups: [""], resources: [pods], resourceNames: [x]}`, "risk-create-pods", ""},
		{"changing with names", `{verbs: [create, update], apiGroups: [""], resources: [pods], resourceNames: [x]}`, "risk-create-pods", "low, named"},
		{"a named ConfigMap", `{verbs: [update], apiGroups: [""], resources: [configmaps], resourceNames: [x]}`, "risk-system-config", "low, named, in kube-system"},
		{"ConfigMaps", `{verbs: [update], apiGroups: [""], resources: [configmaps]}`, "risk-system-config", "high, in kube-system"},
		{"creating ConfigMaps", `{verbs: [create], apiGroups: [""], resources: [configmaps]}`, "risk-system-config", ""},
		{"the ConfigMap of the DNS", `{verbs: [patch], apiGroups: [""], resources: [configmaps], resourceNames: [coredns]}`, "risk-system-config", "high, named, in kube-system"},
		{"the group of administrators", `{verbs: [impersonate], apiGroups: [""], resources: [groups], resourceNames: [x, "system:masters"]}`, "risk-impersonate", "critical, named, in everywhere"},
		{"some group", `{verbs: [impersonate], apiGroups: [""], resources: [groups], resourceNames: [x]}`, "risk-impersonate", "medium, named"},
		{"a named group and all users", `{verbs: [impersonate], apiGroups: [""], resources: [groups], resourceNames: ["system:masters"]}, {verbs: [impersonate], apiGroups: [""], resources: [users]}`, "risk-impersonate", "critical, in everywhere"},
		{"binding cluster-admin", `{verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [cluster-admin]}`, "risk-bind-escalate", "critical, named, in everywhere"},
		{"binding another role", `{verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [view]}`, "risk-bind-escalate", "medium, named"},
		{"the subresource of approvals alone", `{verbs: [update], apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests/approval]}`, "risk-certificates", ""},
		{"a signer of client certificates", `{verbs: [approve], apiGroups: [certificates.k8s.io], resources: [signers], resourceNames: [kubernetes.io/kube-apiserver-client]}`, "risk-certificates", "high, named, in everywhere"},
		{"another signer", `{verbs: [sign], apiGroups: [certificates.k8s.io], resources: [signers], resourceNames: [shop.example.com/tls]}`, "risk-certificates", "low, named"},
		{"a named object for every pod", `{verbs: [use], apiGroups: [""], resources: [widgets], resourceNames: [x]}`, "risk-default-account", "low, named"},
		{"objects for every pod", `{verbs: [use], apiGroups: [""], resources: [widgets]}`, "risk-default-account", "medium, in everywhere"},
		{"a path for every pod", `{verbs: [get], nonResourceURLs: [/metrics]}`, "risk-default-account", "medium, in everywhere"},
	} {
		t.Run(row.name, func(t *testing.T) {
			who := account
			if row.code == "risk-default-account" {
				who = "{kind: ServiceAccount, namespace: ci, name: default}"
			}
			documents := []string{`{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [` + row.rule + `]}`, strings.Replace(binding, "SUBJECT", who, 1)}
			findings, err := risk.Of(t.Context(), revisions.Of(t, documents).World)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range findings {
				if string(f.Code) != row.code {
					continue
				}
				if got = f.Severity; f.IsNamed {
					got += ", named"
				}
				if f.Where != "" {
					got += ", in " + f.Where
				}
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// A RoleBinding lets its subject bind a ClusterRole in its namespace, as an API server asks
// for bind there.
func TestBindingInANamespace(t *testing.T) {
	documents := []string{
		`{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}]}`,
		`{kind: RoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {namespace: shop, name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [` + account + `]}`,
	}
	findings, err := risk.Of(t.Context(), revisions.Of(t, documents).World)
	if err != nil {
		t.Fatal(err)
	}
	if len(findings) != 1 || findings[0].Code != "risk-bind-escalate" || findings[0].Severity != "high" || findings[0].Where != "shop" {
		t.Errorf("got %+v", findings)
	}
}

// A rule of Origin with exceptions does not allow everything: what it allows is reported.
func TestExceptionsAreNotEverything(t *testing.T) {
	for _, row := range []struct{ name, rule, want string }{
		{"everything", `{verbs: ["*"], resourceKinds: ["*"]}`, "risk-all-powers"},
		{"but verbs", `{verbs: ["*", -create, -update, -delete], resourceKinds: ["*"]}`, "risk-read-secrets"},
		{"but kinds", `{verbs: ["*"], resourceKinds: ["*", -secrets]}`, "risk-create-pods"},
	} {
		t.Run(row.name, func(t *testing.T) {
			findings, err := risk.Of(t.Context(), revisions.Of(t, originRole(row.rule)).World)
			if err != nil {
				t.Fatal(err)
			}
			has := make(map[string]bool)
			for _, f := range findings {
				has[string(f.Code)] = true
			}
			if !has[row.want] || has["risk-all-powers"] != (row.want == "risk-all-powers") || row.name == "but kinds" && has["risk-read-secrets"] {
				t.Errorf("got %v", has)
			}
		})
	}
}

// A rule with an expression may allow less than it seems to, and the finding names that.
func TestCondition(t *testing.T) {
	for _, row := range []struct{ name, rules, want string }{
		{"CEL", `{verbs: [get], resourceKinds: [secrets], attributeRestrictions: {kind: cel, expression: 'request.user == "x"'}}`, "CEL"},
		{"none", `{verbs: [get], resourceKinds: [secrets]}`, ""},
		{"in one of two rules", `{verbs: [get], resourceKinds: [secrets], attributeRestrictions: {kind: cel, expression: 'request.user == "x"'}}, {verbs: [list], resourceKinds: [secrets]}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			findings, err := risk.Of(t.Context(), revisions.Of(t, originRole(row.rules)).World)
			if err != nil {
				t.Fatal(err)
			}
			if len(findings) != 1 || findings[0].Code != "risk-read-secrets" || findings[0].Condition != row.want {
				t.Errorf("got %+v, want the condition %q", findings, row.want)
			}
		})
	}
}

// originRole returns a role of Origin with a binding in the namespace shop.
func originRole(rules string) []string {
	return []string{
		`{kind: Policy, apiVersion: writ.dev/v1, metadata: {namespace: shop, name: p}}`,
		`{kind: PolicyBinding, apiVersion: writ.dev/v1, metadata: {namespace: shop, name: shop}, policyRef: {namespace: shop}}`,
		`{kind: Role, apiVersion: writ.dev/v1, metadata: {namespace: shop, name: r}, rules: [` + rules + `]}`,
		`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {namespace: shop, name: b}, roleRef: {namespace: shop, name: r}, userNames: [anna]}`,
	}
}
