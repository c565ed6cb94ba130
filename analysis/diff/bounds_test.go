package diff_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/revisions"
)

const (
	rbac   = "rbac.authorization.k8s.io"
	denies = "apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy"
)

// allowed returns a cluster role with one rule and its binding to a group.
func allowed(name, rule, group string) []string {
	return []string{
		fmt.Sprintf("{apiVersion: %s/v1, kind: ClusterRole, metadata: {name: %s}, rules: [%s]}", rbac, name, rule),
		fmt.Sprintf("{apiVersion: %s/v1, kind: ClusterRoleBinding, metadata: {name: %s}, roleRef: {apiGroup: %s, kind: ClusterRole, name: %s}, subjects: [{kind: Group, name: %s}]}",
			rbac, name, rbac, name, group),
	}
}

// origin returns a writ.dev role with one rule and its binding to a group.
func origin(name, rule, group string) []string {
	return []string{
		fmt.Sprintf("{apiVersion: writ.dev/v1, kind: Role, metadata: {name: %s, namespace: master}, rules: [%s]}", name, rule),
		fmt.Sprintf("{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: %s, namespace: master}, roleRef: {namespace: master, name: %s}, groupNames: [%s]}", name, name, group),
	}
}

func compare(t *testing.T, a, b []string) *diff.Report {
	t.Helper()
	report, err := diff.Compare(t.Context(), revisions.Of(t, a), revisions.Of(t, b), diff.Options{Now: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Each row is a pair of documents whose difference is narrow. The one class that they have
// needs a witness with many parts.
func TestNarrowDifferences(t *testing.T) {
	const getPods = `{verbs: [get], apiGroups: [""], resources: [pods]}`
	// A request for a pod passes only in a namespace that has all of 16 labels.
	var labels []string
	for i := range 16 {
		labels = append(labels, fmt.Sprintf("{%s, metadata: {name: d%d}, spec: {rules: [{verbs: [get], apiGroups: [\"\"], resources: [pods],"+
			" namespaces: {patterns: [\"\"], selectorTerms: [{matchExpressions: [{key: k%d, operator: DoesNotExist}]}]}}]}}", denies, i, i))
	}
	fields := slices.Concat(
		origin("ab", "{verbs: [update], resourceKinds: [pods], attributeRestrictions: {fieldsMutatable: [a, b]}}", "dev"),
		origin("bc", "{verbs: [update], resourceKinds: [pods], attributeRestrictions: {fieldsMutatable: [b, c]}}", "dev"),
		origin("ac", "{verbs: [update], resourceKinds: [pods], attributeRestrictions: {fieldsMutatable: [a, c]}}", "dev"))
	// Of all sums of 101 and 7, no smaller one is above 1415 and at most 1416.
	pods := func(most int) []string {
		return append(allowed("exec", `{verbs: [create], apiGroups: [""], resources: [pods/exec]}`, "dev"),
			fmt.Sprintf("{%s, metadata: {name: pods}, spec: {podSecurityRules: {riskFactors: {hostPathWritable: 101, hostPathReadOnly: 7, capabilities: {NET_ADMIN: 97}},"+
				" thresholds: [{maxScore: %d, action: allow}, {maxScore: 100000, action: deny}]}}}", denies, most))
	}
	scope := func(of string) []string {
		return []string{fmt.Sprintf("{%s, metadata: {name: pods}, spec: {%s podSecurityRules: {riskFactors: {hostNetwork: 50},"+
			" thresholds: [{maxScore: 100, action: deny}]}}}", denies, of)}
	}
	for name, row := range map[string]struct {
		a, b []string
		want string
	}{
		"pod security in more clusters": {scope("appliesTo: {clusters: [prod-1]},"), scope("appliesTo: {clusters: [prod-1, lab]},"), "none deny"},
		"pod security in other tenants": {scope("appliesTo: {tenants: [one]},"), scope("appliesTo: {tenants: [other]},"), "deny none"},
		"a namespace with many labels":  {labels, append(allowed("r", getPods, "dev"), labels...), "none allow"},
		"fields of three rules":         {fields, append(origin("abc", "{verbs: [update], resourceKinds: [pods], attributeRestrictions: {fieldsMutatable: [a, b, c]}}", "dev"), fields...), "none allow"},
		"a sum of many weights":         {pods(1415), pods(1416), "deny allow"},
	} {
		t.Run(name, func(t *testing.T) {
			report := compare(t, row.a, row.b)
			var got []string
			for _, k := range report.Classes {
				for _, transition := range k.Transitions {
					got = append(got, transition.From+" "+transition.To)
				}
			}
			if !slices.Contains(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// What is too complex for a complete search gives a class that is wider than what changes.
func TestTooComplexIsWider(t *testing.T) {
	var patterns []string
	for i := range 18 {
		patterns = append(patterns, fmt.Sprintf(`"*x%c*"`, 'a'+i))
	}
	documents := make([]string, 0, len(patterns))
	for i, p := range patterns {
		documents = append(documents, fmt.Sprintf("{%s, metadata: {name: d%d}, spec: {appliesTo: {clusters: [%s]}, rules: [{verbs: [delete], apiGroups: [\"\"], resources: [pods]}]}}", denies, i, p))
	}
	allow := allowed("r", `{verbs: [delete], apiGroups: [""], resources: [pods]}`, "dev")
	report := compare(t, append(allow, documents...), append(allow, fmt.Sprintf(
		"{%s, metadata: {name: all}, spec: {appliesTo: {clusters: [%s]}, rules: [{verbs: [delete], apiGroups: [\"\"], resources: [pods]}]}}", denies, strings.Join(patterns, ", "))))
	for _, k := range report.Classes {
		if k.Exact || !slices.Contains(k.Why, "pattern") {
			t.Errorf("class %+v must be inexact because of a pattern", k)
		}
	}
	if len(report.Classes) == 0 {
		t.Error("got no class, want one for each denial")
	}
}

// A request has one user: two users do not make a class together.
func TestTwoUsersAreTwoRequests(t *testing.T) {
	user := func(list []string) []string {
		return append(list[:len(list)-1], strings.Replace(list[len(list)-1], "groupNames", "userNames", 1))
	}
	old := slices.Concat(user(origin("a", "{verbs: [get], resourceKinds: [pods]}", "u1")), user(origin("b", "{verbs: [get], resourceKinds: [pods]}", "u2")))
	report := compare(t, old, append(user(origin("c", "{deny: true, verbs: [get], resourceKinds: [pods]}", "u1")), old...))
	if len(report.Classes) != 1 || len(report.Classes[0].All) != 1 {
		t.Errorf("got %+v, want one class of one user", report.Classes)
	}
}

// A role that a second user and a group hold: a request of the denied user may hold the
// group, though not the second user.
func TestCompanionsOfOneRole(t *testing.T) {
	old := origin("a", "{verbs: [get], resourceKinds: [pods]}", "g")
	old = append(old, strings.Replace(strings.Replace(old[1], "groupNames: [g]", "userNames: [u2]", 1), "metadata: {name: a,", "metadata: {name: Z,", 1))
	denial := origin("c", "{deny: true, verbs: [get], resourceKinds: [pods]}", "u1")
	denial[1] = strings.Replace(denial[1], "groupNames", "userNames", 1)
	report := compare(t, old, slices.Concat(denial, old))
	var got []string
	for _, c := range report.Classes {
		for _, transition := range c.Transitions {
			got = append(got, transition.From+" "+transition.To)
		}
	}
	if slices.Sort(got); !slices.Equal(got, []string{"allow deny", "none deny"}) {
		t.Errorf("got transitions %q, want one of the user alone and one with the group", got)
	}
}

// A role that gains a verb, bound to two groups of which one had the verb elsewhere, gives
// two classes. Each has the binding of its own group.
func TestClassesHaveTheirOwnDocuments(t *testing.T) {
	bound := func(verbs string) []string {
		role := allowed("r", fmt.Sprintf(`{verbs: [%s], apiGroups: [""], resources: [pods]}`, verbs), "dev")
		return append(role, strings.NewReplacer("name: r}, roleRef", "name: s}, roleRef", "name: dev", "name: ops").Replace(role[1]))
	}
	had := append(allowed("o", `{verbs: [list], apiGroups: [""], resources: [pods], resourceNames: [x]}`, "ops")[:1],
		fmt.Sprintf("{apiVersion: %s/v1, kind: RoleBinding, metadata: {name: o, namespace: shop}, roleRef: {apiGroup: %s, kind: ClusterRole, name: o}, subjects: [{kind: Group, name: ops}]}", rbac, rbac))
	report := compare(t, slices.Concat(bound("get"), had), slices.Concat(bound("get, list"), had))
	got := make(map[string]string)
	for _, c := range report.Classes {
		s := report.Statements[c.All[0][0]]
		for _, d := range s.Documents {
			got[strings.Join(s.Subjects, " ")] += d.Name
		}
	}
	if want := map[string]string{"group:dev": "r", "group:ops": "s"}; !maps.Equal(got, want) {
		t.Errorf("got bindings %v, want %v", got, want)
	}
}

// What a comparison allocates stands for its work: one more policy, over four times the
// namespaces with a binding and a policy each, must not take more than four times of it.
func TestOnePolicyOverManyNamespaces(t *testing.T) {
	allocated := func(namespaces int) float64 {
		documents := allowed("r", `{verbs: [delete], apiGroups: [""], resources: [pods]}`, "dev")[:1]
		for i := range namespaces {
			documents = append(documents,
				fmt.Sprintf("{apiVersion: %s/v1, kind: RoleBinding, metadata: {name: b, namespace: n%d}, roleRef: {apiGroup: %s, kind: ClusterRole, name: r}, subjects: [{kind: Group, name: g%d}]}", rbac, i, rbac, i),
				fmt.Sprintf(`{%s, metadata: {name: d%d}, spec: {rules: [{verbs: [delete], apiGroups: [""], resources: [pods], resourceNames: [x], namespaces: {patterns: ["n%d"]}}]}}`, denies, i, i))
		}
		a, b := revisions.Of(t, documents), revisions.Of(t, append(documents, fmt.Sprintf(`{%s, metadata: {name: all}, spec: {rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}}`, denies)))
		return testing.AllocsPerRun(1, func() {
			if report, err := diff.Compare(t.Context(), a, b, diff.Options{}); err != nil || report.Classes[0].Transitions[0].Affected.Total != namespaces {
				t.Errorf("got %+v, %v, want a transition of each group", report, err)
			}
		})
	}
	few, many := allocated(100), allocated(400)
	if many > 4*few {
		t.Errorf("got %.0f allocations with 100 namespaces and %.0f with 400", few, many)
	}
}

// A policy that loses viewMetrics hides the items that were asked for with this action, in
// a class beside the one of requests without items.
func TestItemsAreComparedForBothActions(t *testing.T) {
	policy := func(metrics bool) []string {
		return []string{fmt.Sprintf("{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: p, namespace: ops}, spec: {identity: {subjects: {groups: [dev]}}, access: {effect: Allow},"+
			" scope: {clusters: {rules: [{selector: {matchPattern: '.*'}, permissions: {view: true, viewMetrics: %v}}]}}}}", metrics)}
	}
	report := compare(t, policy(true), policy(false))
	var questions []string
	for _, c := range report.Classes {
		questions = append(questions, c.Question+" "+strings.Join(c.Changes, " "))
	}
	slices.Sort(questions)
	if want := []string{"access loss", "item loss"}; !slices.Equal(slices.Compact(questions), want) {
		t.Errorf("got classes %v, want %v", questions, want)
	}
}

// Patterns are written as in documents: a class without escapes that it does not need.
func TestPatternsAreWrittenAsInDocuments(t *testing.T) {
	before := allowed("r", `{verbs: [get], apiGroups: [""], resources: [pods]}`, "dev")
	denied := append(slices.Clone(before), fmt.Sprintf(`{%s, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: [""], resources: [pods], resourceNames: ["shard[0-3]", "a\\*", "[\\-x]?"]}]}}`, denies))
	report := compare(t, before, denied)
	for _, s := range report.Statements {
		if names := s.Row().ResourceNames; names != nil {
			if got, want := fmt.Sprint(names), `[shard[0-3] a\* [\-x]?]`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			return
		}
	}
	t.Error("the report has no statement with names")
}

// A comparison of one principal has requests of this principal alone: what a deny policy
// takes from it, and where it denied nothing that was allowed.
func TestOneSubject(t *testing.T) {
	pods := fmt.Sprintf("{%s, metadata: {name: p}, spec: {podSecurityRules: {riskFactors: {hostPID: 50}, thresholds: [{maxScore: 10, action: allow}, {maxScore: 100, action: deny}]}}}", denies)
	old := append(slices.Concat(allowed("r", `{verbs: [get, create], apiGroups: [""], resources: [pods, pods/exec]}`, "dev"), allowed("s", `{verbs: [get], apiGroups: [""], resources: [secrets]}`, "ops")),
		fmt.Sprintf("{%s, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: [\"\"], resources: [pods, secrets]}]}}", denies), pods)
	report, err := diff.Compare(t.Context(), revisions.Of(t, old), revisions.Of(t, old[:len(old)-2]), diff.Options{Subject: "group:dev"})
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, c := range report.Classes {
		for _, transition := range c.Transitions {
			request := transition.Witness.Request
			if fmt.Sprint(request["groups"]) != "[dev]" {
				t.Errorf("the witness %v is not of group dev", request)
			}
			found[fmt.Sprint(!c.Exact, " ", transition.From, " ", transition.To)] = true
		}
	}
	for _, want := range []string{"false deny allow", "false deny none", "true deny allow", "true deny none"} {
		if !found[want] {
			t.Errorf("no transition %s, got %v", want, found)
		}
	}
}

// Pods that a policy does not tell apart may be denied by another one: here those with one
// capability, and not those that run as root with a path of the host.
func TestPodsThatAnotherPolicyDenies(t *testing.T) {
	pods := func(name string, readOnly int) string {
		return fmt.Sprintf("{%s, metadata: {name: %s}, spec: {podSecurityRules: {riskFactors: {runAsRoot: 40, hostPathReadOnly: %d, capabilities: {SYS_ADMIN: 80}},"+
			" thresholds: [{maxScore: 70, action: allow}, {maxScore: 100, action: deny}]}}}", denies, name, readOnly)
	}
	grant := allowed("r", `{verbs: ["*"], apiGroups: [""], resources: ["*"]}`, "dev")
	before := append(slices.Clone(grant), pods("p", 10))
	after := append(slices.Clone(grant), pods("p", 60), pods("q", 10))
	for name, row := range map[string]struct {
		a, b   []string
		change string
	}{"stricter": {before, after, "loss"}, "laxer": {after, before, "gain"}} {
		report := compare(t, row.a, row.b)
		if len(report.Classes) != 1 || !slices.Contains(report.Classes[0].Changes, row.change) || len(report.Classes[0].Transitions) == 0 {
			t.Errorf("%s: got classes %+v, want one with %s", name, report.Classes, row.change)
		}
	}
}

// A run of any characters matches a request without a namespace, as a single star does: a
// deny policy with either of them denies requests in cluster scope.
func TestDenialsOfEveryNamespaceConcernClusterScope(t *testing.T) {
	grant := allowed("nodes", "{verbs: [get], apiGroups: [\"\"], resources: [nodes]}", "dev")
	for _, pattern := range []string{"*", "**", ""} {
		denied := fmt.Sprintf(`{%s, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: [""], resources: [nodes], namespaces: {patterns: [%q]}}]}}`, denies, pattern)
		b := revisions.Of(t, append(slices.Clone(grant), denied))
		r := map[string]any{"user": "", "groups": []string{"dev"}, "verb": "get", "resource": "nodes", "apiGroup": ""}
		if got := revisions.Outcome(t, b, r); got != "deny" {
			t.Fatalf("pattern %q: the engine decides %s", pattern, got)
		}
		if s := b.World.Deny[0]; !fits(s, r) {
			t.Errorf("pattern %q: the statement does not fit a request that the engine denies by it", pattern)
		}
	}
}

func fits(s *statement.Statement, object map[string]any) bool {
	var q statement.Request
	for _, set := range statement.Setters(object, nil) {
		set(&q)
	}
	return s.Fits(&q)
}
