package diff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/source"
)

// An extension decides by every module that it calls, however it names that one, and its
// package may be of several files.
func TestExtensionsAreComparedWithWhatTheyCall(t *testing.T) {
	const (
		library = "package writ.extensions.lib\n\nok(request) if request.name == %q\n"
		bound   = `{kind: Role, apiVersion: writ.dev/v1, metadata: {name: r, namespace: master}, rules: [{verbs: [get], resourceKinds: [Secret], attributeRestrictions: {kind: mine}}]}
---
{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: r, namespace: master}, roleRef: {name: r}, userNames: [u]}`
	)
	for name, module := range map[string]string{
		"a reference":               "package writ.extensions.mine\n\nholds(request, _) if data.writ.extensions.lib.ok(request)\n",
		"an import":                 "package writ.extensions.mine\n\nimport data.writ.extensions.lib\n\nholds(request, _) if lib.ok(request)\n",
		"an import of all":          "package writ.extensions.mine\n\nimport data.writ.extensions\n\nholds(request, _) if extensions.lib.ok(request)\n",
		"an import by a name":       "package writ.extensions.mine\n\nimport data.writ.extensions as e\n\nholds(request, _) if e.lib.ok(request)\n",
		"a name in brackets":        "package writ.extensions.mine\n\nholds(request, _) if data.writ[\"extensions\"].lib.ok(request)\n",
		"a package in another form": "package   writ.extensions[\"mine\"]\n\nholds(request, _) if data.writ.extensions.lib.ok(request)\n",
	} {
		t.Run(name, func(t *testing.T) {
			side := func(text string) *diff.Side {
				side, list := revisions.OfFiles(t, []source.File{source.NewFile("all.yaml", []byte(bound)), source.NewFile("mine.rego", []byte(module)),
					source.NewFile("lib.rego", fmt.Appendf(nil, library, text))})
				if side == nil {
					t.Fatal(list)
				}
				return side
			}
			for to, want := range map[string]bool{"a": true, "b": false} {
				report, err := diff.Compare(t.Context(), side("a"), side(to), diff.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if report.Equivalent != want {
					t.Errorf("a to %s: got equivalent %t, want %t", to, report.Equivalent, want)
				}
			}
		})
	}
}

// Equal files of one package are equal in whatever order a bundle is read.
func TestOnePackageOfSeveralFiles(t *testing.T) {
	files := []source.File{source.NewFile("all.yaml", []byte(strings.Join(origin("r", "{verbs: [get], resourceKinds: [Secret], attributeRestrictions: {kind: mine}}", "dev"), "\n---\n")))}
	for i := range 6 {
		files = append(files, source.NewFile(fmt.Sprintf("m%d.rego", i), fmt.Appendf(nil, "package writ.extensions.mine\n\nholds(request, _) if request.name == \"%d\"\n", i)))
	}
	a, list := revisions.OfFiles(t, files)
	if a == nil {
		t.Fatal(list)
	}
	for range 5 {
		b, _ := revisions.OfFiles(t, files)
		report, err := diff.Compare(t.Context(), a, b, diff.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !report.Equivalent {
			t.Fatalf("got classes %+v of equal files", report.Classes)
		}
	}
}

// Bindings share the rules of their role. A rule for objects of one namespace grants nothing in
// others.
func TestARuleOfOneNamespaceIsBoundInTwo(t *testing.T) {
	role := `{kind: Role, apiVersion: writ.dev/v1, metadata: {name: r, namespace: master}, rules: [{verbs: [get], resourceKinds: [secrets], attributeRestrictions: {fieldsSelect: ["metadata.namespace=shop"]}}]}`
	bind := func(namespace string) string {
		return fmt.Sprintf(`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: r, namespace: %s}, roleRef: {name: r, namespace: master}, groupNames: [%s]}`, namespace, namespace)
	}
	denial := fmt.Sprintf(`{%s, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: ["*"], resources: [secrets]}]}}`, denies)
	grants := []string{role, bind("anvil"), bind("shop")}
	report := compare(t, grants, append(slices.Clone(grants), denial))
	var affected []string
	for _, c := range report.Classes {
		for _, transition := range c.Transitions {
			affected = append(affected, transition.Affected.Principals...)
		}
	}
	if !slices.Contains(affected, "group:shop") || slices.Contains(affected, "group:anvil") {
		t.Errorf("got affected principals %q, want group:shop alone", affected)
	}
}
