package diff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The entry "pods/*" of a Kubernetes rule has no wildcard: it covers the subresource "*" of
// a review, which is a request like any other.
func TestSubresourceStar(t *testing.T) {
	report := compare(t, nil, allowed("r", `{verbs: [get], apiGroups: [""], resources: ["pods/*"]}`, "dev"))
	if len(report.Classes) != 1 || report.Classes[0].Transitions[0].Witness.Request["subresource"] != "*" {
		t.Errorf("got classes %+v, want one whose witness asks for the subresource *", report.Classes)
	}
}

// A witness of an inexact class holds what the opaque statement of the class names, also
// where the other statement of the class concerns everybody.
func TestWitnessHoldsWhatIsOpaque(t *testing.T) {
	rule := `{verbs: [get], resourceKinds: [pods], attributeRestrictions: {kind: cel, expression: "request.name == 'a'"}}`
	denial := fmt.Sprintf(`{%s, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: ["*"], resources: [pods]}]}}`, denies)
	grant := origin("r", rule, "dev")
	inexact := 0
	for _, c := range compare(t, grant, append(slices.Clone(grant), denial)).Classes {
		if c.Exact {
			continue
		}
		inexact++
		for _, transition := range c.Transitions {
			if request := transition.Witness.Request; fmt.Sprint(request["groups"]) != "[dev]" {
				t.Errorf("%s -> %s: the witness %v does not hold group:dev", transition.From, transition.To, request)
			}
		}
	}
	if inexact != 1 {
		t.Errorf("got %d inexact classes, want 1", inexact)
	}
}

// A witness for an override has the group that the escalation allows, and no user besides.
func TestWitnessOfAnOverrideHoldsOnePrincipal(t *testing.T) {
	pods := fmt.Sprintf("{%s, metadata: {name: p}, spec: {podSecurityRules: {riskFactors: {hostPID: 50}, thresholds: [{maxScore: 10, action: allow}]}}}", denies)
	escalation := func(most int) string {
		return fmt.Sprintf("{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, metadata: {name: e, namespace: sys}, spec: {escalatedGroup: g, approvers: {groups: [x]},"+
			" allowed: {clusters: [prod], groups: [sre]}, podSecurityOverrides: {enabled: true, maxAllowedScore: %d}}}", most)
	}
	report := compare(t, []string{pods, escalation(10)}, []string{pods, escalation(60)})
	if len(report.Classes) != 1 {
		t.Fatalf("got %d classes, want 1", len(report.Classes))
	}
	for _, transition := range report.Classes[0].Transitions {
		if request := transition.Witness.Request; request["user"] != "" || fmt.Sprint(request["groups"]) != "[sre]" {
			t.Errorf("the witness %v holds more than group:sre", request)
		}
	}
}

// The statements of a report differ in more than their number.
func TestStatementsAreListedOnce(t *testing.T) {
	report := compare(t, origin("r", "{deny: true, verbs: [get], resourceKinds: [pods]}", "dev"), origin("s", `{verbs: ["*"], resourceKinds: [pods]}`, "dev"))
	seen := make(map[string]bool)
	for _, s := range report.Statements {
		s.ID = 0
		text := fmt.Sprintf("%+v", s)
		if seen[text] {
			t.Errorf("the statement %s is listed twice", text)
		}
		seen[text] = true
	}
}

// Two rules of one view have one rank and different outcomes: beside a denial that goes
// away they give two classes, none of which has the outcome of the other.
func TestRulesOfOneViewAreTwoClasses(t *testing.T) {
	policy := func(name, subject, effect, rules string) string {
		return fmt.Sprintf("{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: %s, namespace: ops}, spec: {identity: {subjects: {groups: [%s]}}, access: {effect: %s},"+
			" scope: {clusters: {rules: [%s]}}}}", name, subject, effect, rules)
	}
	view := policy("view", "dev", "Allow", "{selector: {matchNames: [c1]}}, {selector: {matchNames: [c2]}, resources: [{type: pods, visibility: none}]}")
	report := compare(t, []string{view, policy("stop", "dev", "Deny", "{selector: {matchLabels: {env: prod}}}")}, []string{view})
	var got []string
	for _, c := range report.Classes {
		if c.Question == "access" && c.Exact {
			for _, transition := range c.Transitions {
				got = append(got, fmt.Sprint(len(c.Transitions), " ", transition.From, " ", transition.To))
			}
		}
	}
	slices.Sort(got)
	if want := []string{"1 deny allow", "1 deny partial"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A denial of one group gets a second one. The class that needs a view as well names the
// groups of the view that change: the first group was denied before.
func TestSubjectsOfAClassGoThroughIt(t *testing.T) {
	policy := func(name, subjects, effect string) string {
		return fmt.Sprintf("{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: %s, namespace: ops}, spec: {identity: {subjects: {groups: [%s]}}, access: {effect: %s},"+
			" scope: {clusters: {rules: [{selector: {matchNames: [c1]}}]}}}}", name, subjects, effect)
	}
	view := policy("view", "ops, qa", "Allow")
	report := compare(t, []string{view, policy("stop", "ops", "Deny")}, []string{view, policy("stop", "dev, ops", "Deny")})
	for _, c := range report.Classes {
		if c.Question != "access" {
			continue
		}
		var got []string
		for _, list := range c.All {
			got = append(got, fmt.Sprint(report.Statements[list[0]].Subjects))
		}
		if want := []string{"[group:dev]", "[group:qa]"}; !slices.Equal(got, want) {
			t.Errorf("got a class of %v, want %v", got, want)
		}
	}
	if len(report.Classes) == 0 {
		t.Error("got no class, want one of the groups dev and qa together")
	}
}

// Inexact classes list whom their witness concerns alone: all subjects of a rule with an
// expression, and the group that a denial of pods concerns.
func TestInexactClassesListPrincipals(t *testing.T) {
	rule := `{verbs: [get], resourceKinds: [pods], attributeRestrictions: {kind: cel, expression: "request.attributes.site == 'hq'"}}`
	pods := fmt.Sprintf("{%s, metadata: {name: p}, spec: {podSecurityRules: {riskFactors: {hostPID: 50}, thresholds: [{maxScore: 10, action: allow}]}}}", denies)
	exec := allowed("exec", `{verbs: ["*"], apiGroups: [""], resources: [pods/exec]}`, "ops")
	for name, row := range map[string]struct {
		a, b []string
		want string
	}{
		"cel":  {nil, origin("r", rule, "dev, ops"), "none allow [group:dev group:ops]"},
		"pods": {exec, append(slices.Clone(exec), pods), "allow deny [group:ops]"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range compare(t, row.a, row.b).Classes {
				for _, transition := range c.Transitions {
					got = append(got, fmt.Sprint(transition.From, " ", transition.To, " ", transition.Affected.Principals))
				}
			}
			if !slices.Contains(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// Who holds no named principal is a user whom no document names, whatever users documents name.
func TestUnnamedUsersAreNotNamed(t *testing.T) {
	grant := []string{
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: User, name: unnamed}]}",
	}
	denial := fmt.Sprintf(`{%s, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: ["*"], resources: [secrets]}]}}`, denies)
	var got []string
	for _, c := range compare(t, grant, append(slices.Clone(grant), denial)).Classes {
		for _, transition := range c.Transitions {
			got = append(got, fmt.Sprint(transition.From, " ", transition.To, " ", transition.Witness.Request["user"]))
		}
	}
	slices.Sort(got)
	if want := []string{"allow deny unnamed", "none deny unnamed-1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A view of a group takes a user, who is not one that another policy names.
func TestViewsOfGroupsAreThoseOfUnnamedUsers(t *testing.T) {
	policy := func(name, subjects, effect string) string {
		return fmt.Sprintf("{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: %s, namespace: ops}, spec: {identity: {subjects: {%s}}, access: {effect: %s},"+
			" scope: {clusters: {rules: [{selector: {matchNames: [c1]}}]}}}}", name, subjects, effect)
	}
	stop := policy("stop", "users: [unnamed]", "Deny")
	if report := compare(t, []string{stop}, []string{stop, policy("view", "groups: [dev]", "Allow")}); len(report.Classes) == 0 {
		t.Error("got no class, want one of the group")
	}
}

// Of a class that is not exact, principals are tried one by one. Those that are not are counted.
func TestPrincipalsThatAreNotTriedAreCounted(t *testing.T) {
	var names []string
	for i := range 1200 {
		names = append(names, fmt.Sprintf("g%04d", i))
	}
	rule := `{verbs: [get], resourceKinds: [pods], attributeRestrictions: {kind: cel, expression: "request.attributes.site == 'hq'"}}`
	report := compare(t, nil, origin("r", rule, strings.Join(names, ", ")))
	want := "200 principals of classes that are not exact were not tried alone"
	if !slices.ContainsFunc(report.Notes, func(note string) bool { return strings.HasPrefix(note, want) }) {
		t.Errorf("got notes %q, want one that %s", report.Notes, want)
	}
}
