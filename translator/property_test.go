package translator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

var (
	someNames   = []string{"a", "b", "c"}
	someVerbs   = []string{"get", "update", "*", "-get", "-delete", "delete"}
	someKinds   = []string{"Pod", "pods/log", "*", "-secrets", "Secret"}
	someLabels  = []string{"x", "y"}
	someSubject = []string{"alice", "bob"}
)

func pick(t *rapid.T, from []string, label string) string {
	return rapid.SampledFrom(from).Draw(t, label)
}

func list(t *rapid.T, from []string, label string) string {
	entries := rapid.SliceOfN(rapid.SampledFrom(from), 1, 3).Draw(t, label)
	return `["` + strings.Join(entries, `","`) + `"]`
}

// documents draws a directory without errors, one document a string. Roles are
// declared for every name, so that no reference dangles; a binding has a name of
// its own.
func documents(t *rapid.T) []string {
	out := []string{"{kind: policy, name: p, namespace: hammer}", "{kind: policyBinding, name: hammer, namespace: hammer}"}
	for _, name := range someNames {
		out = append(out,
			kubernetesRole(t, "ClusterRole", "{name: "+name+", labels: {to: "+pick(t, someLabels, "label")+"}}"),
			kubernetesRole(t, "Role", "{name: "+name+", namespace: hammer}"),
			originRole(t, name, "hammer"),
			originRole(t, name, "master"),
		)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "bindings") {
		out = append(out, binding(t, i))
	}
	return out
}

func kubernetesRole(t *rapid.T, kind, metadata string) string {
	rules := ""
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		rules += fmt.Sprintf(`{verbs: %s, apiGroups: [""], resources: %s}, `, list(t, someVerbs, "verbs"), list(t, someKinds, "resources"))
	}
	aggregation := ""
	if kind == "ClusterRole" && rapid.Bool().Draw(t, "aggregated") {
		aggregation = ", aggregationRule: {clusterRoleSelectors: [{matchLabels: {to: " + pick(t, someLabels, "selector") + "}}, {matchExpressions: [{key: to, operator: NotIn, values: [x]}]}]}"
	}
	return fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: %s, metadata: %s, rules: [%s]%s}", kind, metadata, rules, aggregation)
}

func originRole(t *rapid.T, name, namespace string) string {
	rules := ""
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		rules += fmt.Sprintf("{deny: %v, verbs: %s, resourceKinds: %s}, ", rapid.Bool().Draw(t, "deny"), list(t, someVerbs, "verbs"), list(t, someKinds, "kinds"))
	}
	return fmt.Sprintf("{kind: role, name: %s, namespace: %s, rules: [%s]}", name, namespace, rules)
}

func binding(t *rapid.T, i int) string {
	role, subject := pick(t, someNames, "role"), pick(t, someSubject, "subject")
	switch rapid.IntRange(0, 4).Draw(t, "kind of binding") {
	case 0:
		return fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b%d}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}, subjects: [{kind: User, name: %s}]}", i, role, subject)
	case 1:
		return fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b%d, namespace: hammer}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %s}, subjects: [{kind: Group, name: %s}]}", i, role, subject)
	case 2:
		return fmt.Sprintf("{kind: roleBinding, name: b%d, namespace: hammer, roleName: %s, userNames: [%s]}", i, role, subject)
	case 3:
		return fmt.Sprintf("{kind: roleBinding, name: b%d, namespace: anvil, roleName: %s, referencesGlobalRole: true, groupNames: [%s]}", i, role, subject)
	}
	return fmt.Sprintf("{kind: roleBinding, name: b%d, namespace: master, roleName: %s, userNames: [%s]}", i, role, subject)
}

// split deals documents out to files at random.
func split(t *rapid.T, documents []string) source.Snapshot {
	contents := make([]string, rapid.IntRange(1, 4).Draw(t, "files"))
	for _, d := range documents {
		at := rapid.IntRange(0, len(contents)-1).Draw(t, "file")
		contents[at] += "---\n" + d + "\n"
	}
	var s source.Snapshot
	for i, content := range contents {
		s.Files = append(s.Files, file(fmt.Sprintf("f%d.yaml", i), content))
	}
	return s
}

var sources = regexp.MustCompile(`"source":"[^"]*"`)

// data is what is emitted without the places documents were found at.
func data(r *Result) string { return string(sources.ReplaceAll(r.Data.Bytes(), nil)) }

func translate(t *rapid.T, translator *Translator, s source.Snapshot) *Result {
	result, list := translator.Translate(t.Context(), s)
	if result == nil {
		t.Fatalf("the documents have errors: %+v", list)
	}
	return result
}

func TestOrderAndSplittingOfFilesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		written := documents(t)
		first := translate(t, New(Options{}), split(t, written))
		again := translate(t, New(Options{}), split(t, rapid.Permutation(written).Draw(t, "order")))
		if got, want := data(again), data(first); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestUnboundRoleChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		written := documents(t)
		without := translate(t, New(Options{}), split(t, written))
		written = append(written, originRole(t, "unbound", "hammer"), kubernetesRole(t, "Role", "{name: unbound, namespace: hammer}"))
		with := translate(t, New(Options{}), split(t, written))
		if got, want := asJSON(t, tables.Of[*tables.Access](without.Tables).Subjects), asJSON(t, tables.Of[*tables.Access](with.Tables).Subjects); got != want {
			t.Errorf("subjects: got %v, want %v", got, want)
		}
		for key, binding := range tables.Of[*tables.Access](without.Tables).Bindings.All() {
			got, want := tables.Of[*tables.Access](with.Tables).Bindings.At(key), *binding
			got.Source, want.Source = "", ""
			if got != want {
				t.Errorf("binding %s: got %v, want %v", key, got, want)
			}
		}
		if got, want := tables.Of[*tables.Access](with.Tables).Bindings.Len(), tables.Of[*tables.Access](without.Tables).Bindings.Len(); got != want {
			t.Errorf("got %d bindings, want %d", got, want)
		}
	})
}

func asJSON(t *rapid.T, value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestKeptFilesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept := New(Options{})
		for range 3 {
			snapshot := split(t, documents(t))
			got, gotList := kept.Translate(t.Context(), snapshot)
			want, wantList := New(Options{}).Translate(t.Context(), snapshot)
			if !reflect.DeepEqual(gotList, wantList) {
				t.Errorf("diagnostics: got %v, want %v", gotList, wantList)
			}
			if !bytes.Equal(got.Data.Bytes(), want.Data.Bytes()) {
				t.Errorf("got\n%s\nwant\n%s", got.Data.Bytes(), want.Data.Bytes())
			}
		}
	})
}

// What is said about roles without a binding is what the present files say alone, while bindings
// and sessions come and go.
func TestUnboundRolesOfEditedDirectories(t *testing.T) {
	const rbac = "apiVersion: rbac.authorization.k8s.io/v1\n"
	files := map[string]string{
		"roles.yaml": rbac + "kind: ClusterRole\nmetadata: {name: a, labels: {to: all}}\nrules: [{verbs: [get], apiGroups: [''], resources: [pods]}]\n---\n" +
			rbac + "kind: ClusterRole\nmetadata: {name: b}\nrules: [{verbs: [get], apiGroups: [''], resources: [secrets]}]\n",
		"all.yaml":     rbac + "kind: ClusterRole\nmetadata: {name: all}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {to: all}}]}\n",
		"none.yaml":    rbac + "kind: ClusterRole\nmetadata: {name: none}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {to: nothing}}]}\n",
		"session.yaml": "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: BreakglassSession\nmetadata: {namespace: n, name: s}\nspec: {cluster: c, user: u, grantedGroup: g}\n",
	}
	for _, role := range []string{"a", "b", "all"} {
		files["binds-"+role+".yaml"] = rbac + "kind: ClusterRoleBinding\nmetadata: {name: " + role + "}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + role + "}\nsubjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: u}]\n"
	}
	names := slices.Sorted(maps.Keys(files))
	said := make(map[string]bool)
	rapid.Check(t, func(t *rapid.T) {
		kept := New(Options{})
		for range 6 {
			var s source.Snapshot
			for _, name := range names {
				if name == "roles.yaml" || rapid.Bool().Draw(t, name) {
					s.Files = append(s.Files, file(name, files[name]))
				}
			}
			_, got := kept.Translate(context.Background(), s)
			_, want := New(Options{}).Translate(context.Background(), s)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%v\ngot  %v\nwant %v", s.Files, got, want)
			}
			for _, d := range got {
				said[d.Message] = true
			}
		}
	})
	if len(said) < 4 {
		t.Errorf("got %d messages, which compare little: %v", len(said), said)
	}
}
