package access

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/deny"
)

// granted is a world in which everybody in group all may do everything, with
// the deny policies; one without a name is called p.
func granted(policies ...*deny.Policy) *World {
	w := (&World{Master: "master"}).kubernetes("", Subject{Kind: "Group", Name: "all"}, kubernetesRule("*", "*"), urls("*", "*"))
	for _, p := range policies {
		if p.Name == "" {
			p.Name = "p"
		}
	}
	w.DenyPolicies = policies
	return w
}

func (w *World) escalating(e *deny.Escalation) *World {
	w.Escalations = append(w.Escalations, e)
	return w
}

// denyRule is a rule from words: VERBS GROUPS RESOURCES, lists with commas, core
// for the core group.
func denyRule(words string) *deny.Rule {
	f := strings.Fields(strings.ReplaceAll(words, "core", `""`))
	list := func(text string) []string { return strings.Split(strings.ReplaceAll(text, `""`, ""), ",") }
	return &deny.Rule{Verbs: list(f[0]), APIGroups: list(f[1]), Resources: list(f[2])}
}

func changed(rule *deny.Rule, change func(*deny.Rule)) *deny.Rule {
	change(rule)
	return rule
}

func rules(all ...*deny.Rule) *deny.Policy { return &deny.Policy{Rules: all} }

// scoring is the policy of the examples about pods.
func scoring(changes ...func(*deny.PodRules)) *deny.Policy {
	s := &deny.PodRules{
		Weights: map[string]int{"hostNetwork": 80, "hostPID": 70, "hostIPC": 50, "privilegedContainer": 90,
			"hostPathWritable": 60, "hostPathReadOnly": 10, "runAsRoot": 40},
		Capabilities: map[string]int{"NET_ADMIN": 50, "SYS_ADMIN": 80},
		Thresholds: []deny.Threshold{
			{MaxScore: 30, Action: "allow"}, {MaxScore: 70, Action: "warn"}, {MaxScore: 100, Action: "deny", Reason: "score {{.score}}: {{.factors}}"},
		},
	}
	for _, change := range changes {
		change(s)
	}
	return &deny.Policy{PodSecurity: s}
}

// asks is a request of a member of group all.
func asks(words string, changes ...func(*oracle.Request)) oracle.Request {
	r := ask("alice " + words)
	r.Groups = []string{"all"}
	for _, change := range changes {
		change(&r)
	}
	return r
}

// execs is create pods/exec on web-0 in shop, with a pod of that spec.
func execs(spec map[string]any, changes ...func(*oracle.Request)) oracle.Request {
	r := asks("create pods/exec:web-0 in shop")
	r.Pod = map[string]any{"metadata": map[string]any{"name": "web-0", "namespace": "shop"}, "spec": spec}
	for _, change := range changes {
		change(&r)
	}
	return r
}

// pod is a pod spec of one container, with more fields: KEY, VALUE, ...
func pod(more ...any) map[string]any {
	spec := map[string]any{"containers": []any{map[string]any{"name": "app"}}}
	for i := 0; i < len(more); i += 2 {
		spec[more[i].(string)] = more[i+1]
	}
	return spec
}

// security is a list of one container with that securityContext.
func security(key string, value any) []any {
	return []any{map[string]any{"name": "c", "securityContext": map[string]any{key: value}}}
}

func adding(capabilities ...any) []any {
	return security("capabilities", map[string]any{"add": capabilities})
}

func namespaceLabels(pairs map[string]string) func(*oracle.Request) {
	return func(r *oracle.Request) { r.NamespaceLabels = pairs }
}

func from(cluster, tenant string) func(*oracle.Request) {
	return func(r *oracle.Request) { r.Cluster, r.Tenant = cluster, tenant }
}

func escalated(name string, groups ...string) func(*oracle.Request) {
	return func(r *oracle.Request) {
		r.Escalation, r.Cluster = name, "c1"
		r.Groups = append([]string{"all"}, groups...)
	}
}

// whole is a decision in words: allowed, or what follows "denied by DenyPolicy ",
// then podSecurity and the warnings.
func whole(d oracle.Decision) string {
	text := "neither"
	switch {
	case d.Allowed:
		text = "allowed"
	case d.Denied:
		text = strings.TrimPrefix(d.Reason, "denied by DenyPolicy ")
	}
	if d.PodSecurity != nil {
		text += fmt.Sprintf(" | %s %d [%s]", d.PodSecurity.Action, d.PodSecurity.Score, strings.Join(d.PodSecurity.Factors, ", "))
	}
	for _, warning := range d.Warnings() {
		text += " ! " + warning
	}
	return text
}

func TestDenyExamples(t *testing.T) {
	anything := rules(changed(denyRule("* * *"), func(rule *deny.Rule) { rule.Namespaces.Patterns = []string{"kube-system"} }))
	secrets := rules(denyRule("get core secrets"))
	mainOnly := rules(changed(denyRule("* core pods"), func(rule *deny.Rule) { rule.Subresources = []string{""} }))
	named := rules(changed(denyRule("* core secrets"), func(rule *deny.Rule) { rule.ResourceNames = []string{"db-*"} }))
	labelled := rules(changed(denyRule("delete core pods"), func(rule *deny.Rule) {
		rule.Namespaces = deny.Filter{Patterns: []string{"kube-*"}, Terms: []oracle.Selector{{{Key: "env", Operator: "In", Values: []string{"prod"}}}}}
	}))
	scoped := rules(denyRule("get core secrets"))
	scoped.Clusters, scoped.Tenants = []string{"prod-*"}, []string{"bank"}
	fifty := 50
	early, late := rules(denyRule("get core secrets")), rules(denyRule("get core secrets"))
	early.Name, early.Precedence, late.Name = "z", &fifty, "a"
	blocking := func(s *deny.PodRules) { s.BlockFactors = []string{"hostIPC", "capability:SYS_ADMIN"} }
	exempting := func(s *deny.PodRules) {
		s.ExemptNamespaces.Patterns = []string{"kube-system"}
		s.ExemptLabels = map[string]string{"exempt": "true", "team": "cni"}
	}
	open := func(s *deny.PodRules) { s.FailMode = "open" }
	eighty := 80
	raised := &deny.Escalation{Name: "sre-fix", Clusters: []string{"*"}, Groups: []string{"sre"}, Overrides: &deny.Overrides{Enabled: true, MaxAllowedScore: &eighty}}
	lifted := &deny.Escalation{Name: "sre-fix", Clusters: []string{"*"}, Groups: []string{"sre"}, Overrides: &deny.Overrides{Enabled: true, ExemptFactors: []string{"hostIPC"}}}
	hostNetwork := pod("hostNetwork", true)
	volumes := []any{
		map[string]any{"name": "a", "hostPath": map[string]any{"path": "/a"}},
		map[string]any{"name": "b", "hostPath": map[string]any{"path": "/b"}},
	}
	mounting := []any{map[string]any{"name": "c", "volumeMounts": []any{map[string]any{"name": "a", "readOnly": true}}}}
	unfetched := asks("create pods/exec:web-0 in shop")

	for _, row := range []struct {
		example string
		world   *World
		request oracle.Request
		want    string
	}{
		{"1", granted(secrets), asks("get secrets:db in shop"), "p, rule 0"},
		{"2", granted(secrets), asks("list secrets in shop"), "allowed"},
		{"3", granted(anything), asks("create pods/exec in kube-system"), "p, rule 0"},
		{"4", granted(anything), asks("get nodes:n1"), "allowed"},
		{"5", granted(rules(denyRule("get core pods"))), asks("get pods/log in shop"), "p, rule 0"},
		{"6", granted(mainOnly), asks("get pods/log in shop"), "allowed"},
		{"7", granted(rules(denyRule("create core pods/exec"))), asks("create pods/exec in shop"), "p, rule 0"},
		{"8", granted(named), asks("list secrets in shop"), "allowed"},
		{"9", granted(labelled), asks("delete pods:x in shop", namespaceLabels(map[string]string{"env": "prod"})), "p, rule 0"},
		{"10", granted(labelled), asks("delete pods:x in shop", namespaceLabels(map[string]string{})), "allowed"},
		{"11", granted(labelled), asks("delete pods:x in shop"), "p, rule 0: namespace labels are unknown (fail-closed)"},
		{"12", granted(scoped), asks("get secrets in shop", from("prod-eu.1", "bank")), "p, rule 0"},
		{"13", granted(scoped), asks("get secrets in shop", from("prod-eu.1", "")), "allowed"},
		{"14", granted(late, early), asks("get secrets in shop"), "z, rule 0"},
		{"15", granted(scoring()), execs(pod()), "allowed | allow 0 []"},
		{"16", granted(scoring()), execs(pod("securityContext", map[string]any{"runAsUser": 0})), "allowed | warn 40 [runAsRoot] ! p: risk score 40 triggered the warning threshold"},
		{"17", granted(scoring()), execs(hostNetwork), "p (pod security): score 80: hostNetwork | deny 80 [hostNetwork]"},
		{"18", granted(scoring()), execs(pod("hostNetwork", true, "containers", security("runAsUser", 0))), "p (pod security): risk score 120 exceeds all thresholds | deny 120 [hostNetwork, runAsRoot]"},
		{"19", granted(scoring()), execs(pod("volumes", volumes, "containers", mounting)), "allowed | allow 20 [hostPathReadOnly]"},
		{"20", granted(scoring()), execs(pod("ephemeralContainers", adding("CAP_NET_ADMIN"))), "allowed | warn 50 [capability:NET_ADMIN] ! p: risk score 50 triggered the warning threshold"},
		{"21", granted(scoring()), execs(pod("containers", adding("ALL"))), "p (pod security): risk score 130 exceeds all thresholds | deny 130 [capability:NET_ADMIN, capability:SYS_ADMIN]"},
		{"22", granted(scoring()), asks("get pods/log:web-0 in shop"), "allowed"},
		{"23", granted(scoring()), with(unfetched, func(r *oracle.Request) { r.PodError = "timeout" }), "p (pod security): pod spec unavailable (fail-closed): timeout"},
		{"24", granted(scoring(open)), unfetched, "allowed ! p: pod spec unavailable, not evaluated (fail-open)"},
		{"25", granted(scoring(blocking)), execs(pod("hostIPC", true)), "p (pod security): blocked factor detected: hostIPC | deny 50 [hostIPC]"},
		{"26", granted(scoring(exempting)), execs(hostNetwork, func(r *oracle.Request) {
			r.Pod["metadata"].(map[string]any)["labels"] = map[string]any{"exempt": "true"}
		}), "p (pod security): score 80: hostNetwork | deny 80 [hostNetwork]"},
		{"27", granted(scoring(exempting)), execs(hostNetwork, func(r *oracle.Request) {
			r.Namespace = "kube-system"
			r.Pod["metadata"] = map[string]any{"name": "web-0", "namespace": "kube-system"}
		}), "allowed"},
		{"28", granted(scoring()).escalating(raised), execs(hostNetwork, escalated("sre-fix", "sre")), "allowed | allow 80 [hostNetwork]"},
		{"29", granted(scoring()).escalating(raised), execs(hostNetwork, escalated("sre-fix")), "p (pod security): score 80: hostNetwork | deny 80 [hostNetwork]"},
		{"30", granted(scoring(blocking)).escalating(lifted), execs(pod("hostIPC", true), escalated("sre-fix", "sre")), "allowed | warn 50 [hostIPC] ! p: risk score 50 triggered the warning threshold"},
	} {
		t.Run(row.example, func(t *testing.T) {
			if got := whole(row.world.Decide(row.request)); got != row.want {
				t.Errorf("%s: got %q, want %q", row.request.JSON(), got, row.want)
			}
		})
	}
}

// A pod that cannot be read is judged by the fail mode; which parts those are.
func TestUnreadablePods(t *testing.T) {
	nothing := map[string]any{}
	mount := func(m any) []any { return []any{map[string]any{"name": "c", "volumeMounts": m}} }
	for _, row := range []struct {
		name string
		spec map[string]any
		want bool // readable
	}{
		{"plain", pod(), true},
		{"no containers", nothing, false},
		{"containers empty", pod("containers", []any{}), false},
		{"containers null", pod("containers", nil), false},
		{"containers an object", pod("containers", nothing), false},
		{"a container a string", pod("containers", []any{"app"}), false},
		{"a container null", pod("containers", []any{nil}), false},
		{"initContainers null", pod("initContainers", nil), true},
		{"initContainers an object", pod("initContainers", nothing), false},
		{"ephemeralContainers a string", pod("ephemeralContainers", "x"), false},
		{"only init containers", map[string]any{"initContainers": []any{nothing}}, false},
		{"hostNetwork null", pod("hostNetwork", nil), true},
		{"hostNetwork a string", pod("hostNetwork", "true"), false},
		{"hostPID a number", pod("hostPID", 1), false},
		{"hostIPC a list", pod("hostIPC", []any{}), false},
		{"securityContext a list", pod("securityContext", []any{}), false},
		{"pod runAsUser a string", pod("securityContext", map[string]any{"runAsUser": "0"}), false},
		{"privileged a string", pod("containers", security("privileged", "true")), false},
		{"privileged null", pod("containers", security("privileged", nil)), true},
		{"runAsUser a string", pod("containers", security("runAsUser", "0")), false},
		{"runAsUser a boolean", pod("containers", security("runAsUser", false)), false},
		{"runAsUser half", pod("containers", security("runAsUser", 0.5)), false},
		{"runAsUser whole", pod("containers", security("runAsUser", 0.0)), true},
		{"capabilities a list", pod("containers", security("capabilities", []any{"SYS_ADMIN"})), false},
		{"add a string", pod("containers", security("capabilities", map[string]any{"add": "SYS_ADMIN"})), false},
		{"add of numbers", pod("containers", adding(7)), false},
		{"add of null", pod("containers", adding(nil)), false},
		{"drop a string", pod("containers", security("capabilities", map[string]any{"drop": "ALL"})), true},
		{"volumes an object", pod("volumes", nothing), false},
		{"a volume a string", pod("volumes", []any{"v"}), false},
		{"a volume without a name", pod("volumes", []any{map[string]any{"hostPath": nothing}}), false},
		{"hostPath a string", pod("volumes", []any{map[string]any{"name": "v", "hostPath": "/"}}), false},
		{"hostPath null", pod("volumes", []any{map[string]any{"name": "v", "hostPath": nil}}), true},
		{"volumeMounts an object", pod("containers", mount(nothing)), false},
		{"a mount without a name", pod("containers", mount([]any{nothing})), false},
		{"readOnly a string", pod("containers", mount([]any{map[string]any{"name": "v", "readOnly": "true"}})), false},
		{"unread fields", pod("nodeName", 7, "hostUsers", "x"), true},
	} {
		if _, got := deny.Available(execs(row.spec)); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}

// Which pods are not the one that was asked for.
func TestOtherPods(t *testing.T) {
	for _, row := range []struct {
		name     string
		metadata any
		request  string // the name in it
		want     bool
	}{
		{"the same", map[string]any{"name": "web-0", "namespace": "shop"}, "web-0", true},
		{"no metadata", nil, "web-0", true},
		{"nothing in it", map[string]any{}, "web-0", true},
		{"another name", map[string]any{"name": "web-1"}, "web-0", false},
		{"a name where none is asked for", map[string]any{"name": "web-1"}, "", true},
		{"another namespace", map[string]any{"namespace": "bank"}, "web-0", false},
		{"a number for a name", map[string]any{"name": 7}, "", false},
		{"metadata a list", []any{}, "web-0", false},
	} {
		r := execs(pod())
		r.Name, r.Pod["metadata"] = row.request, row.metadata
		if _, got := deny.Available(r); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, row := range []struct {
		glob, value string
		want        bool
	}{
		{"*", "", true}, {"*", "a/b", true}, {"", "", true}, {"", "a", false}, {"prod-*", "prod-eu.1", true}, {"prod-*", "prod-", true},
		{"prod-*", "prod-a/b", false}, {"*/b", "a/b", true}, {"?", "/", false}, {"?", "", false}, {"a?c", "abc", true}, {"a?", "aü", true},
		{"[ab]c", "bc", true}, {"[a-c]", "b", true}, {"[a-c]", "d", false}, {"[^a-c]", "d", true}, {"[^a-c]", "a", false}, {"[a-cx]", "x", true},
		{`\*`, "*", true}, {`\*`, "a", false}, {`a\?`, "a?", true}, {`[\]]`, "]", true}, {`[a\-z]`, "-", true}, {`[a\-z]`, "b", false},
		{"a.b", "axb", false}, {"a,b", "a,b", true}, {"*a*", "bab", true}, {"*a*", "bbb", false}, {"PROD", "prod", false}, {"*-*-*", "a-b", false},
	} {
		if got := deny.FitsGlob(row.glob, row.value); got != row.want {
			t.Errorf("%s, %q: got %v, want %v", row.glob, row.value, got, row.want)
		}
	}
}

// A deny policy denies everybody; only what depends on the asker may differ.
func TestWhoCanUnderDenyPolicies(t *testing.T) {
	eighty := 80
	raised := &deny.Escalation{Name: "fix", Clusters: []string{"*"}, Groups: []string{"all"}, Overrides: &deny.Overrides{Enabled: true, MaxAllowedScore: &eighty}}
	bare := asks("create pods/exec:web-0 in shop")
	for _, row := range []struct {
		name    string
		world   *World
		request oracle.Request
		want    string
	}{
		{"a rule", granted(rules(denyRule("get core secrets"))), asks("get secrets"), "[] [] [] [] p false"},
		{"no rule", granted(rules(denyRule("get core secrets"))), asks("list secrets"), "[] [all] [] []  false"},
		{"no pod", granted(scoring()), bare, "[] [all] [] []  true"},
		{"a pod with an error is not evaluated", granted(scoring()), with(bare, func(r *oracle.Request) { r.PodError = "x" }), "[] [all] [] []  true"},
		{"a bad pod", granted(scoring()), execs(pod("hostNetwork", true)), "[] [] [] [] p false"},
		{"a good pod", granted(scoring()), execs(pod()), "[] [all] [] []  false"},
		{"an override", granted(scoring()).escalating(raised), execs(pod("hostNetwork", true), escalated("fix")), "[] [all] [] []  false"},
	} {
		row.request.User, row.request.Groups = "", nil
		got := strings.Trim(fmt.Sprint(row.world.WhoCan(row.request)), "{}")
		if got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
