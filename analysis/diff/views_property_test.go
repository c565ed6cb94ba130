package diff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/tests/revisions"
)

// viewers are the principals of random policies of the point visibility.
var viewers = []string{"user:u", "group:a", "group:b", "group:c", "group:d"}

// drawnView returns a random policy for one or two viewers: about clusters, pods and two custom types.
func drawnView(r *rand.Rand, name string) string {
	of := func(list ...string) string { return list[r.IntN(len(list))] }
	var users, groups []string
	for range 1 + r.IntN(2) {
		if kind, holder, _ := strings.Cut(of(viewers...), ":"); kind == "user" {
			users = append(users, holder)
		} else {
			groups = append(groups, holder)
		}
	}
	var rules []string
	for range r.IntN(3) {
		var resources []string
		for _, typ := range []string{"certs", "routes", "pods"} {
			if r.IntN(2) == 0 {
				resources = append(resources, fmt.Sprintf(`{type: %s, visibility: %s}`, typ, of("all", "none", "all", `filtered, filters: {names: {allowed: [x]}}`)))
			}
		}
		rules = append(rules, fmt.Sprintf(`{selector: %s, permissions: %s, resources: [%s]}`, of(`{matchNames: [c1]}`, `{matchNames: [c2]}`, `{matchPattern: ".*"}`, `{matchLabels: {env: prod}}`),
			of(`{view: true}`, `{view: true, viewMetrics: true}`, `{viewMetrics: true}`, `{view: false}`), strings.Join(resources, ", ")))
	}
	return fmt.Sprintf(`{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: %s}, spec: {identity: {subjects: {users: [%s], groups: [%s]}, priority: %d}, access: {effect: %s}, scope: {clusters: {default: %s, rules: [%s]}}}}`,
		name, strings.Join(users, ", "), strings.Join(groups, ", "), r.IntN(4), of("Allow", "Allow", "Allow", "Deny"), of("none", "none", "all"), strings.Join(rules, ", "))
}

// viewSource is a custom type.
const viewSource = `{apiVersion: clusterpulse.io/v1alpha1, kind: MetricSource, metadata: {name: %[1]s}, spec: {source: {apiVersion: v1, kind: Secret}, fields: [{name: f, path: .f}], rbac: {resourceTypeName: %[1]s}}}`

// viewRequests returns the requests of each set of viewers about some types and clusters.
func viewRequests() (out []map[string]any) {
	clusters := []map[string]any{nil, {"name": "c1"}, {"name": "c2"}, {"name": "c3", "labels": map[string]string{"env": "prod"}}}
	for set := 1; set < 1<<len(viewers); set++ {
		user, groups := "other", []string{}
		for i, p := range viewers {
			switch kind, name, _ := strings.Cut(p, ":"); {
			case set>>i&1 == 0:
			case kind == "user":
				user = name
			default:
				groups = append(groups, name)
			}
		}
		for _, typ := range []string{"", "pods", "certs", "routes"} {
			for _, cluster := range clusters {
				for _, action := range []string{"view", "viewMetrics"} {
					r := map[string]any{"user": user, "groups": groups, "type": typ, "action": action}
					if cluster != nil {
						r["cluster"] = cluster
					}
					if cluster != nil || typ == "certs" || typ == "routes" {
						out = append(out, r)
					}
				}
			}
		}
	}
	return out
}

// Each subject that sees a cluster or a type in one revision only is in a class, with any number of
// groups. Classes of clusters and standard types are exact. Principals that go through a transition
// alone are listed. A custom type is decided by one statement about the cluster and one about the type,
// of each revision.
func TestViewsAreComparedForEachSubject(t *testing.T) {
	differing, alone, held := 0, 0, 0
	for n := range pairs() {
		r := rand.New(rand.NewPCG(seed()+uint64(n), 21))
		documents := []string{fmt.Sprintf(viewSource, "certs"), fmt.Sprintf(viewSource, "routes")}
		for i := range 6 {
			documents = append(documents, drawnView(r, fmt.Sprintf("p%d", i)))
		}
		edited := slices.Clone(documents)
		for range 1 + r.IntN(2) {
			i := r.IntN(6)
			edited[2+i] = drawnView(r, fmt.Sprintf("p%d", i))
		}
		a, b := revisions.Of(t, documents), revisions.Of(t, edited)
		report, err := diff.Compare(t.Context(), a, b, diff.Options{Now: time.Unix(0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		var list []decided
		for _, r := range viewRequests() {
			d := decided{r, revisions.Outcome(t, a, r), revisions.Outcome(t, b, r)}
			list = append(list, d)
			principals := revisions.Principals(r)
			if d.from == d.to {
				continue
			}
			differing++
			if len(principals) > 1 {
				continue
			}
			alone++
			if !slices.ContainsFunc(report.Classes, func(k diff.Class) bool {
				return report.Fits(&k, r, principals) && slices.ContainsFunc(k.Transitions, func(x diff.Transition) bool {
					return x.From == d.from && x.To == d.to && slices.Contains(x.Affected.Principals, principals[0])
				})
			}) {
				t.Errorf("seed %d: %s is not listed: %s -> %s: %s", seed()+uint64(n), principals[0], d.from, d.to, revisions.Text(r))
			}
		}
		problem, kept := promises(t, a, b, report, list)
		if problem != "" {
			t.Fatalf("seed %d: %s\n%s\n---\n%s", seed()+uint64(n), problem, strings.Join(documents, "\n"), strings.Join(edited, "\n"))
		}
		held += kept
	}
	if differing < pairs() || alone < pairs() || held < pairs() {
		t.Errorf("%d requests differ, %d of one principal, and %d fit exact classes: the test proves too little", differing, alone, held)
	}
}

// A group that loses a view has another one behind it. Beside a group whose policy grants less, it
// loses everything: that is a transition of the same class.
func TestViewsThatAnotherGroupDenies(t *testing.T) {
	const policy = `{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: %s}, spec: {identity: {subjects: {groups: [%s]}, priority: %d}, access: {effect: Allow}, scope: {clusters: {rules: [{selector: {matchPattern: ".*"}, permissions: {%s: true}, resources: [%s]}]}}}}`
	gone := fmt.Sprintf(policy, "p1", "d", 1, "viewMetrics", `{type: pods, visibility: none}`)
	stay := []string{fmt.Sprintf(policy, "p2", "a", 2, "view", ""), fmt.Sprintf(policy, "p3", "d", 3, "viewMetrics", "")}
	report := compare(t, append([]string{gone}, stay...), stay)
	var got []string
	for _, k := range report.Classes {
		for _, x := range k.Transitions {
			if k.Question == "access" {
				got = append(got, fmt.Sprintln(k.Actions, x.From, x.To, x.Witness.Request["groups"]))
			}
		}
	}
	slices.Sort(got)
	want := "[viewMetrics] partial allow [d]\n[viewMetrics] partial deny [a d]\n[view] deny allow [a d]\n"
	if strings.Join(got, "") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A new denial takes what two rules of one policy allow. One of its subjects has a policy before the
// second rule: the other subject loses that rule all the same.
func TestRulesOfOneViewAreComparedForEachSubject(t *testing.T) {
	const policy = `{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: %s}, spec: {identity: {subjects: {groups: [%s]}, priority: %d}, access: {effect: %s}, scope: {clusters: {rules: [%s]}}}}`
	const rule = `{selector: {matchNames: [%s]}, permissions: {view: %t}}`
	stay := []string{
		fmt.Sprintf(policy, "p1", "a, b", 2, "Allow", fmt.Sprintf(rule, "c2", true)+", "+fmt.Sprintf(rule, "c1", true)),
		fmt.Sprintf(policy, "p2", "b", 0, "Allow", fmt.Sprintf(rule, "c1", false)),
	}
	before, after := stay, append(slices.Clone(stay), fmt.Sprintf(policy, "p3", "a", 1, "Deny", `{selector: {matchPattern: ".*"}}`))
	a, b := revisions.Of(t, before), revisions.Of(t, after)
	var list []decided
	for _, cluster := range []string{"c1", "c2"} {
		r := map[string]any{"user": "other", "groups": []string{"a"}, "type": "", "action": "view", "cluster": map[string]any{"name": cluster}}
		list = append(list, decided{r, revisions.Outcome(t, a, r), revisions.Outcome(t, b, r)})
	}
	if problem, held := promises(t, a, b, compare(t, before, after), list); problem != "" || held != len(list) {
		t.Errorf("%s; %d of %d requests fit exact classes", problem, held, len(list))
	}
}

// A group loses metrics alone, and its view beside a user whose policy denies it. The class is for both
// actions, and lists the group.
func TestJoinedActionsListPrincipals(t *testing.T) {
	const policy = `{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: %s}, spec: {identity: {subjects: {%s}, priority: %d}, access: {effect: Allow}, scope: {clusters: {default: %s, rules: [%s]}}}}`
	const rule = `{selector: {%s}, permissions: {view: %[2]t, viewMetrics: %[2]t}, resources: [%[3]s]}`
	gone := fmt.Sprintf(policy, "p1", "groups: [b]", 0, "none", fmt.Sprintf(rule, "matchLabels: {env: prod}", true, "{type: pods, visibility: none}"))
	stay := []string{
		fmt.Sprintf(policy, "p2", "users: [u]", 1, "none", fmt.Sprintf(rule, `matchPattern: ".*"`, false, "")),
		fmt.Sprintf(policy, "p3", "groups: [b]", 2, "all", fmt.Sprintf(rule, "matchNames: [c1]", true, "")),
	}
	for _, k := range compare(t, append([]string{gone}, stay...), stay).Classes {
		for _, x := range k.Transitions {
			if k.Question == "access" && x.From == "partial" && x.To == "deny" && slices.Contains(k.Actions, "viewMetrics") {
				if !slices.Equal(x.Affected.Principals, []string{"group:b"}) {
					t.Errorf("%v: got affected %v, want group b", k.Actions, x.Affected.Principals)
				}
				return
			}
		}
	}
	t.Error("no such class")
}
