package translator

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

const denyHead = "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: DenyPolicy\nmetadata: {name: d}\n"

// Each feature is stated if, and only if, a document brings it.
func TestFeatures(t *testing.T) {
	const labels = `namespaces: {selectorTerms: [{matchLabels: {env: prod}}]}`
	for _, row := range []struct {
		name, documents string
		want            []string
	}{
		{"roles alone", "", []string{}},
		{"a deny policy", denyHead + "spec: {rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]}\n",
			[]string{tables.FeatureDenyPolicies}},
		{"namespaces by pattern", denyHead + "spec: {rules: [{verbs: [get], apiGroups: [''], resources: [pods], namespaces: {patterns: [a-*]}}]}\n",
			[]string{tables.FeatureDenyPolicies}},
		{"namespaces by label", denyHead + "spec: {rules: [{verbs: [get], apiGroups: [''], resources: [pods], " + labels + "}]}\n",
			[]string{tables.FeatureDenyPolicies, tables.FeatureNamespaceLabels}},
		{"a label that is only spoken of", denyHead + "spec: {rules: [{verbs: [input.namespaceLabels], apiGroups: [''], resources: [pods]}]}\n",
			[]string{tables.FeatureDenyPolicies}},
		{"a gateway", "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g, namespace: n}\n" +
			"spec: {gatewayClassName: c, listeners: [{name: l, port: 80, protocol: HTTP}]}\n", []string{tables.FeatureGateway}},
	} {
		t.Run(row.name, func(t *testing.T) {
			roles := file("roles.yaml", "kind: role\nname: r\nnamespace: master\n")
			r := mustTranslate(t, New(Options{}), source.Snapshot{Files: []source.File{file("a.yaml", row.documents), roles}})
			if got := present(r.Tables.Features()); !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// The generated files hold what the features state, and state it in the data.
func TestFeaturesAgreeWithFiles(t *testing.T) {
	snapshots := snapshotsOf(t, "../tests/conformance/deny/*/policies/*.yaml")
	for _, g := range goldens(t) {
		snapshots[g.path] = g.snapshot("")
	}
	seen := map[bool]map[string]bool{false: {}, true: {}}
	for path, snapshot := range snapshots {
		r, _ := New(Options{}).Translate(t.Context(), snapshot)
		if r == nil {
			continue
		}
		var data struct{ Features tables.Features }
		if err := json.Unmarshal(r.Data.Bytes(), &data); err != nil {
			t.Fatal(err)
		}
		features := r.Tables.Features()
		if !maps.Equal(data.Features, features) {
			t.Errorf("%s: the data states %v, want %v", path, data.Features, features)
		}
		if found := featuresOf(r); !maps.Equal(found, features) {
			t.Errorf("%s: the files hold %v, the features state %v", path, found, features)
		}
		for name, value := range features {
			seen[value][name] = true
		}
	}
	for value, names := range seen {
		if len(names) != 5 {
			t.Errorf("some features are never %v in these documents, only %v are", value, names)
		}
	}
}

// present returns the features that are stated to be there, sorted.
func present(f tables.Features) []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if f[name] {
			names = append(names, name)
		}
	}
	return names
}

// snapshotsOf returns the documents that match the pattern, by folder.
func snapshotsOf(t *testing.T, pattern string) map[string]source.Snapshot {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d documents and %v", len(paths), err)
	}
	suites := make(map[string]source.Snapshot)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		suite := suites[filepath.Dir(path)]
		suite.Files = append(suite.Files, file(path, string(content)))
		suites[filepath.Dir(path)] = suite
	}
	return suites
}

func featuresOf(r *Result) tables.Features {
	var data map[string]any
	_ = json.Unmarshal(r.Data.Bytes(), &data)
	_, gateway := data["effective"]
	_, sessions := data["sessions"]
	f := tables.Features{
		"sessions": sessions, tables.FeatureGateway: gateway, tables.FeatureVisibility: false,
		tables.FeatureDenyPolicies: false, tables.FeatureNamespaceLabels: false,
	}
	for path, content := range r.Files {
		deny := strings.HasPrefix(path, "compiled/deny/")
		labels := (deny || strings.HasPrefix(path, "compiled/escalations/")) && bytes.Contains(content, []byte("input.namespaceLabels"))
		f[tables.FeatureDenyPolicies] = f[tables.FeatureDenyPolicies] || deny
		f[tables.FeatureNamespaceLabels] = f[tables.FeatureNamespaceLabels] || labels
		f[tables.FeatureVisibility] = f[tables.FeatureVisibility] || strings.HasPrefix(path, "compiled/visibility/")
	}
	return f
}

func TestCounts(t *testing.T) {
	r := mustTranslate(t, New(Options{}), source.Snapshot{Files: []source.File{
		file("deny.yaml", denyHead+"spec: {rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]}\n"),
		file("region.rego", "package writ.extensions.region\n\nholds(_, _) := true\n"),
		file("roles.yaml", "kind: role\nname: r\nnamespace: master\n---\nkind: role\nname: s\nnamespace: master\n"),
	}})
	want := map[string]int{"denypolicy/DenyPolicy": 1, "extension/Extension": 1, "origin/Role": 2}
	for key := range want {
		if r.Counts[key] != want[key] {
			t.Errorf("%s: got %d, want %d", key, r.Counts[key], want[key])
		}
	}
	if !maps.Equal(r.Counts, want) {
		t.Errorf("got %v, want %v", r.Counts, want)
	}
}
