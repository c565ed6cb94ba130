package diff_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/tests/revisions"
)

// bound returns bindings of a ClusterRole in namespaces, none for the whole cluster.
func bound(role string, subjects []string, namespaces ...string) []string {
	list := strings.Join(subjects, ", ")
	if len(namespaces) == 0 {
		return []string{fmt.Sprintf("{apiVersion: %s/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: %s, kind: ClusterRole, name: %s}, subjects: [%s]}", rbac, rbac, role, list)}
	}
	var out []string
	for _, namespace := range namespaces {
		out = append(out, fmt.Sprintf("{apiVersion: %s/v1, kind: RoleBinding, metadata: {name: b, namespace: %s}, roleRef: {apiGroup: %s, kind: ClusterRole, name: %s}, subjects: [%s]}",
			rbac, namespace, rbac, role, list))
	}
	return out
}

func clusterRole(name string, rules ...string) string {
	return fmt.Sprintf("{apiVersion: %s/v1, kind: ClusterRole, metadata: {name: %s}, rules: [%s]}", rbac, name, strings.Join(rules, ", "))
}

func groups(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("{kind: Group, name: g%04d}", i))
	}
	return out
}

const (
	dev     = "{kind: Group, name: dev}"
	account = "{kind: ServiceAccount, namespace: ci, name: a}"
)

// A change of bindings names the role, one of a role what it permits; few subjects and
// namespaces are named, more are counted; what is dangerous is named unless it is there already.
func TestSummaries(t *testing.T) {
	edit := clusterRole("edit",
		`{verbs: [get, list, watch, create, update, patch, delete], apiGroups: [""], resources: [pods, configmaps, services, secrets, endpoints, events]}`,
		`{verbs: [create, get], apiGroups: [""], resources: [pods/exec, pods/log]}`, `{verbs: [get], nonResourceURLs: [/x]}`)
	read := clusterRole("edit", `{verbs: [get], apiGroups: [""], resources: [pods]}`)
	wider := clusterRole("edit", `{verbs: [get, list], apiGroups: [""], resources: [pods, secrets]}`)
	nodes := clusterRole("edit", `{verbs: [get], apiGroups: [""], resources: [nodes/proxy]}`)
	paths := clusterRole("edit", `{verbs: [get], nonResourceURLs: [/metrics]}`)
	all := clusterRole("edit", `{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}`)
	join := func(role string, bindings []string) []string { return append([]string{role}, bindings...) }
	for name, row := range map[string]struct {
		a, b []string
		want string
	}{
		"a smaller role, and a subject less": {
			join(clusterRole("edit", `{verbs: [get], apiGroups: [""], resources: [pods, services]}`), bound("edit", []string{dev, account})),
			join(read, bound("edit", []string{dev})),
			"group dev can no longer get services in all namespaces; service account ci/a can no longer get pods, services in all namespaces",
		},
		"a binding": {[]string{edit}, join(edit, bound("edit", []string{"{kind: Group, name: system:authenticated}"}, "shop-prod")),
			"group system:authenticated gets ClusterRole edit in shop-prod (7 verbs on 8 resources, with secrets, workloads, exec, delete and 1 more)"},
		"a binding removed": {join(edit, bound("edit", []string{dev, account})), []string{edit},
			"group dev and service account ci/a lose ClusterRole edit in all namespaces (7 verbs on 8 resources and 1 path, with secrets, workloads, exec, kube-system and 2 more)"},
		"many subjects": {[]string{read}, join(read, bound("edit", groups(1000))), "1000 groups get ClusterRole edit in all namespaces (get pods)"},
		"kinds mixed":   {[]string{read}, join(read, bound("edit", append(groups(3), account))), "4 subjects get ClusterRole edit in all namespaces (get pods)"},
		"a wider role": {join(read, bound("edit", []string{dev}, "a", "b")), join(wider, bound("edit", []string{dev}, "a", "b")),
			"group dev can now get, list pods, secrets in a and b"},
		"many namespaces": {join(read, bound("edit", []string{dev}, "a", "b", "c", "d")), join(wider, bound("edit", []string{dev}, "a", "b", "c", "d")),
			"group dev can now get, list pods, secrets in 4 namespaces"},
		"cluster scope": {[]string{nodes}, join(nodes, bound("edit", []string{dev})), "group dev gets ClusterRole edit in the whole cluster (get nodes/proxy)"},
		"paths":         {[]string{paths}, join(paths, bound("edit", []string{dev})), "group dev gets ClusterRole edit (get /metrics)"},
		"everything":    {[]string{all}, join(all, bound("edit", []string{dev})), "group dev gets ClusterRole edit in the whole cluster (everything)"},
		"a role that becomes everything": {join(read, bound("edit", []string{dev})), join(all, bound("edit", []string{dev})),
			"group dev can now do everything in the whole cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			report := compare(t, row.a, row.b)
			var got []string
			for _, g := range report.Groups {
				got = append(got, g.Summary)
			}
			if !slices.Equal(got, []string{row.want}) {
				t.Errorf("got  %q\nwant %q", got, row.want)
			}
		})
	}
}

// The most dangerous change is first, whether it grants or takes away; a grant is before a loss
// of the same danger, and the whole cluster before a namespace.
func TestTheMostDangerousIsFirst(t *testing.T) {
	rule := func(resource, verb, name, group string) []string {
		return allowed(name, fmt.Sprintf(`{verbs: [%s], apiGroups: [""], resources: [%s]}`, verb, resource), group)
	}
	var a, b []string
	a = append(a, rule("users", "impersonate", "lost", "x")...)
	a = append(a, rule("endpoints", "list", "old", "y")...)
	b = append(b, rule("endpoints", "get", "new", "z")...)
	b = append(b, rule("secrets", "get", "keys", "y")...)
	b = append(b, clusterRole("r", `{verbs: [get], apiGroups: [""], resources: [endpoints]}`))
	b = append(b, bound("r", []string{"{kind: Group, name: w}"}, "shop")...)
	var got []string
	for _, g := range compare(t, a, b).Groups {
		got = append(got, g.Summary)
	}
	want := []string{
		"group x loses ClusterRole lost in the whole cluster (impersonate users)",
		"group y gets ClusterRole keys in all namespaces (get secrets)",
		"group z gets ClusterRole new in all namespaces (get endpoints)",
		"group w gets ClusterRole r in shop (get endpoints)",
		"group y loses ClusterRole old in all namespaces (list endpoints)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// What a denial excludes is not among the dangers of a grant.
func TestDangersAreThoseThatRemain(t *testing.T) {
	role := clusterRole("r", `{verbs: [get], apiGroups: [""], resources: [pods, secrets]}`)
	deny := fmt.Sprintf(`{%s, metadata: {name: d}, spec: {rules: [{verbs: ["*"], apiGroups: [""], resources: [secrets]}]}}`, denies)
	for _, row := range []struct {
		documents []string
		want      string
	}{{[]string{role}, "[secrets]"}, {[]string{role, deny}, "[]"}} {
		report := compare(t, row.documents, append(slices.Clone(row.documents), bound("r", []string{dev})...))
		if got := fmt.Sprint(report.Groups[0].Dangers); got != row.want || fmt.Sprint(report.Classes[0].Dangers) != row.want {
			t.Errorf("got the dangers %s, want %s", got, row.want)
		}
	}
}

// A report of many subjects has every name: JSON in its statements and in the lists of those
// affected, Markdown in the details of the group, text on demand. Text says how many it
// leaves out, and what lists them.
func TestEveryNameIsListed(t *testing.T) {
	const n = 1000
	read := clusterRole("r", `{verbs: [get], apiGroups: [""], resources: [pods]}`)
	report := compare(t, []string{read}, append([]string{read}, bound("r", groups(n))...))
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var back diff.Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Classes[0].Transitions[0].Affected; got.Total != n || len(got.Principals) != n || len(back.Statements[0].Subjects) != n {
		t.Errorf("JSON has %d of %d affected principals and %d subjects", len(got.Principals), got.Total, len(back.Statements[0].Subjects))
	}
	all := func(text string) int {
		found := 0
		for i := range n {
			if strings.Contains(text, fmt.Sprintf("group g%04d", i)) {
				found++
			}
		}
		return found
	}
	if got := report.Markdown(50); all(got) != n || len(got) > 60000 {
		t.Errorf("Markdown has %d of %d names and %d bytes", all(got), n, len(got))
	}
	if got := report.Text(50, true); all(got) != n {
		t.Errorf("text in full has %d of %d names", all(got), n)
	}
	if got := report.Text(50, false); !strings.Contains(got, "    1000 subjects: group g0000, group g0001, group g0002, group g0003, group g0004, and 995 more, --details lists them\n") {
		t.Errorf("got %s", got)
	}
}

// Every verb, resource, line and document of a group is in its details.
func TestEveryRuleIsListed(t *testing.T) {
	const n = 200
	var resources, documents []string
	for i := range n {
		resources = append(resources, fmt.Sprintf("r%03d", i))
	}
	role := clusterRole("r", fmt.Sprintf(`{verbs: [get], apiGroups: [""], resources: [%s]}`, strings.Join(resources, ", ")))
	for i := range n {
		documents = append(documents, bound("r", []string{dev}, fmt.Sprintf("n%03d", i))...)
	}
	report := compare(t, append(slices.Clone(documents), clusterRole("r")), append(slices.Clone(documents), role))
	text, markdown := report.Text(50, true), report.Markdown(50)
	for i := range n {
		if resource := fmt.Sprintf("r%03d", i); !strings.Contains(text, resource) || !strings.Contains(markdown, resource) {
			t.Fatalf("%s is missing", resource)
		}
		if binding := fmt.Sprintf("RoleBinding n%03d/b", i); !strings.Contains(markdown, binding) {
			t.Fatalf("%s is missing", binding)
		}
	}
}

// A title names every place and every subresource that a rule has.
func TestTitlesAreWhole(t *testing.T) {
	denial := func(rule string) []string {
		return []string{fmt.Sprintf("{%s, metadata: {name: d}, spec: {rules: [%s]}}", denies, rule)}
	}
	session := func(cluster string) string {
		return fmt.Sprintf(`{kind: BreakglassSession, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: s-%s, namespace: bg}, spec: {cluster: %s, user: u, grantedGroup: dev},`+
			` status: {state: Approved, approvedAt: "2026-03-01T00:00:00Z", expiresAt: "2026-03-01T10:00:00Z"}}`, cluster, cluster)
	}
	grant := allowed("r", `{verbs: [get], apiGroups: [""], resources: [pods]}`, "dev")
	clock := &revisions.Clock{Time: revisions.Hour(1)}
	for name, row := range map[string]struct {
		a, b  []string
		wants []string
	}{
		"subresources": {nil, denial(`{verbs: [get], apiGroups: [""], resources: [pods/exec, secrets], subresources: [status, scale]}`), []string{"get pods/exec, secrets/status, secrets/scale "}},
		"namespaces":   {nil, denial(`{verbs: [get], apiGroups: [""], resources: [pods], namespaces: {patterns: ["a-*"], selectorTerms: [{matchLabels: {env: prod}}]}}`), []string{"a-* or by label"}},
		"clusters":     {grant, append(slices.Clone(grant), session("c1"), session("c2")), []string{"cluster c1", "cluster c2"}},
	} {
		report, err := diff.Compare(t.Context(), clock.At(t, row.a), clock.At(t, row.b), diff.Options{Now: clock.Time})
		if err != nil {
			t.Fatal(err)
		}
		text := report.Text(10, true)
		for _, want := range row.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, text)
			}
		}
	}
}
