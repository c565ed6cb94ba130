package translator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint"
	"github.com/writ-policy/writ/translator/roles"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// withBootstrap are the settings that add the roles of Kubernetes.
var withBootstrap = settings.Settings{settings.BootstrapRoles: {Text: "kubernetes"}}

func bootstrapSnapshot(documents string) source.Snapshot {
	return source.Snapshot{Files: []source.File{file("zz.yaml", documents)}, Origins: []source.Origin{{Settings: withBootstrap}}}
}

const bindView = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: viewers},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view},
  subjects: [{kind: User, name: ada, apiGroup: rbac.authorization.k8s.io}]}
`

// Bootstrap documents are there for references and aggregation, and cause no warnings.
func TestBootstrapRoles(t *testing.T) {
	r, list := New(Options{}).Translate(t.Context(), bootstrapSnapshot(bindView+`---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole,
  metadata: {name: widgets, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}},
  rules: [{apiGroups: [example.com], resources: [widgets], verbs: [get]}]}
`))
	if len(list) > 0 {
		t.Fatalf("got %v, want no diagnostics", list)
	}
	view := tables.Of[*tables.Access](r.Tables).Roles.At(tables.RoleKey(tables.FamilyKubernetes, "", "view"))
	sources := map[string]bool{}
	for _, rule := range view.Kubernetes {
		sources[rule.Source] = true
	}
	if !sources["bootstrap:kubernetes/1.36"] || !sources["zz.yaml:7"] {
		t.Errorf("view has rules from %v", sources)
	}
	if r.Documents != 2 || r.Counts["kubernetes/ClusterRole"] != 1 {
		t.Errorf("got %d documents, counts %v: bootstrap documents are not of the directory", r.Documents, r.Counts)
	}
	if list := Lint(r, lint.Ends{}); len(list) > 0 {
		t.Errorf("lint of bootstrap roles: %v", list)
	}
}

// A document of the same identity takes the whole place of a bootstrap one.
func TestBootstrapRoleIsReplaced(t *testing.T) {
	translator := New(Options{})
	replaced := bindView + `---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: view},
  rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
`
	for _, step := range []struct {
		name, documents string
		rules           int // of view; 0: many
		notes           int
	}{
		{"replaced", replaced, 1, 1},
		{"not replaced any more", bindView, 0, 0},
		{"replaced again", replaced, 1, 1},
	} {
		r, list := translator.Translate(t.Context(), bootstrapSnapshot(step.documents))
		if list.HasErrors() {
			t.Fatalf("%s: %v", step.name, list)
		}
		view := tables.Of[*tables.Access](r.Tables).Roles.At(tables.RoleKey(tables.FamilyKubernetes, "", "view"))
		if n := len(view.Kubernetes); step.rules != 0 && n != step.rules || step.rules == 0 && n < 5 {
			t.Errorf("%s: view has %d rules", step.name, n)
		}
		notes := translator.Notes()
		if len(notes) != step.notes || len(notes) > 0 && !strings.Contains(notes[0].Message, `ClusterRole "view" replaces`) {
			t.Errorf("%s: got notes %v", step.name, notes)
		}
	}
	r, _ := New(Options{}).Translate(t.Context(), bootstrapSnapshot(replaced))
	again, _ := translator.Translate(t.Context(), bootstrapSnapshot(replaced))
	if string(r.Data.Bytes()) != string(again.Data.Bytes()) {
		t.Error("the data differs from that of a fresh translation")
	}
}

// Bootstrap documents alone are not a policy directory, and they have no mistakes.
func TestBootstrapRolesAlone(t *testing.T) {
	_, list := New(Options{}).Translate(t.Context(), source.Snapshot{Origins: []source.Origin{{Settings: withBootstrap}}})
	if len(list) != 1 || list[0].Code != diag.NoDocuments {
		t.Errorf("got %v, want no-documents", list)
	}
	r, list := New(Options{AllowEmpty: true, Settings: withBootstrap}).Translate(t.Context(), source.Snapshot{})
	if len(list) > 0 {
		t.Fatalf("got %v", list)
	}
	if got := tables.Of[*tables.Access](r.Tables).Bindings.Len(); got < 50 {
		t.Errorf("got %d bindings, want those of every API server", got)
	}
}

// The stock roles of Origin are in the master namespace, whatever its name, and a role of the
// directory replaces one.
func TestBootstrapRolesOfOrigin(t *testing.T) {
	const bind = `
kind: RoleBinding
apiVersion: writ.dev/v1
metadata: {name: editors, namespace: shop}
roleRef: {namespace: ops, name: edit}
userNames: [ada]
`
	const own = `---
kind: role
name: edit
namespace: ops
rules: [{verbs: [get], resourceKinds: [pods]}]
`
	translator := New(Options{Settings: settings.Settings{settings.MasterNamespace: {Text: "ops"}, settings.BootstrapRoles: {Text: "kubernetes,origin"}}})
	for _, step := range []struct {
		name, documents, source string
		notes                   int
	}{
		{"added", bind, "bootstrap:origin", 0},
		{"replaced", bind + own, "zz.yaml:11", 1},
		{"added again", bind, "bootstrap:origin", 0},
	} {
		r, list := translator.Translate(t.Context(), source.Snapshot{Files: []source.File{file("zz.yaml", step.documents)}})
		if len(list) > 0 {
			t.Fatalf("%s: got %v, want no diagnostics", step.name, list)
		}
		access := tables.Of[*tables.Access](r.Tables)
		if rules := access.Roles.At(tables.RoleKey(tables.FamilyOrigin, "ops", "edit")).Origin; len(rules) != 1 || rules[0].Source != step.source {
			t.Errorf("%s: edit has rules %+v", step.name, rules)
		}
		if view := access.Roles.At(tables.RoleKey(tables.FamilyKubernetes, "", "view")); len(view.Kubernetes) == 0 {
			t.Errorf("%s: the roles of Kubernetes are absent", step.name)
		}
		if notes := translator.Notes(); len(notes) != step.notes || len(notes) > 0 && !strings.Contains(notes[0].Message, `replaces the one of bootstrap:origin`) {
			t.Errorf("%s: got notes %v", step.name, notes)
		}
	}
	_, list := New(Options{}).Translate(t.Context(), source.Snapshot{Files: []source.File{file("zz.yaml", strings.ReplaceAll(bind, "ops", "master"))}})
	if e := firstError(list); e.Code != diag.DanglingRole || !strings.Contains(e.Hint, "--bootstrap-roles origin") {
		t.Errorf("without them: got %+v", e)
	}
}

// Each source has its own settings.
func TestSettingsOfSources(t *testing.T) {
	role := `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader}, rules: []}`
	snapshot := func(a, b settings.Settings) source.Snapshot {
		first, second := file("a/role.yaml", role), file("b/role.yaml", role+"\n---\nkind: ConfigMap\n")
		second.Origin = 1
		return source.Snapshot{Files: []source.File{first, second}, Origins: []source.Origin{{Name: "a", Settings: a}, {Name: "b", Settings: b}}}
	}
	in := func(namespace string) settings.Settings {
		return settings.Settings{settings.DefaultNamespace: {Text: namespace}}
	}
	translator := New(Options{})
	if _, list := translator.Translate(t.Context(), snapshot(in("a"), in("b"))); list.HasErrors() {
		t.Errorf("two namespaces: %v", list)
	}
	if _, list := translator.Translate(t.Context(), snapshot(in("a"), in("a"))); firstError(list).Code != diag.Duplicate {
		t.Errorf("one namespace: got %v, want a duplicate: the files are decoded again", list)
	}
	strict := in("b").With(settings.Settings{settings.StrictKinds: {Text: "true"}})
	_, list := translator.Translate(t.Context(), snapshot(in("a"), strict))
	if e := firstError(list); e.Code != diag.UnknownKind || e.File != "b/role.yaml" {
		t.Errorf("strict kinds of the second: got %v", list)
	}
	if _, list := translator.Translate(t.Context(), snapshot(in("a").With(settings.Settings{settings.StrictKinds: {Text: "true"}}), in("b"))); list.HasErrors() {
		t.Errorf("strict kinds of the first, which has policy alone: %v", list)
	}
	master := func(name string) settings.Settings {
		return settings.Settings{settings.MasterNamespace: {Text: name, At: diag.Position{File: name, Line: 1, Column: 1}}}
	}
	_, list = translator.Translate(t.Context(), snapshot(in("a").With(master("m")), in("b").With(master("n"))))
	if e := firstError(list); e.Code != diag.BadValue || e.File != "n" {
		t.Errorf("two master namespaces: got %v", list)
	}
	for _, one := range [][2]settings.Settings{{in("a"), in("b").With(master("n"))}, {in("a").With(master("n")), in("b")}} {
		_, list = translator.Translate(t.Context(), snapshot(one[0], one[1]))
		if e := firstError(list); e.Code != diag.BadValue || e.File != "n" {
			t.Errorf("a master namespace of one source alone: got %v", list)
		}
	}
	if _, list = translator.Translate(t.Context(), snapshot(in("a"), in("b").With(master("master")))); list.HasErrors() {
		t.Errorf("the default written by one source: got %v", list)
	}
	bootstrap := settings.Settings{settings.BootstrapRoles: {Text: settings.Kubernetes, At: diag.Position{File: "x", Line: 1, Column: 1}}}
	for _, one := range [][2]settings.Settings{{in("a"), in("b").With(bootstrap)}, {in("a").With(bootstrap), in("b")}} {
		_, list = translator.Translate(t.Context(), snapshot(one[0], one[1]))
		if e := firstError(list); e.Code != diag.BadValue || e.File != "x" || !strings.Contains(e.Hint, "--bootstrap-roles") {
			t.Errorf("bootstrap roles of one source alone: got %v", list)
		}
	}
	if _, list = translator.Translate(t.Context(), snapshot(in("a").With(bootstrap), in("b").With(bootstrap))); list.HasErrors() {
		t.Errorf("bootstrap roles of both: got %v", list)
	}
	groups := func(value, file string) settings.Settings {
		return settings.Settings{settings.ImpliedGroups: {Text: value, At: diag.Position{File: file, Line: 1, Column: 1}}}
	}
	for _, row := range []struct {
		name string
		list [2]settings.Settings
		kube bool // the second is a cluster
		flag settings.Settings
		want string // "error" for a diagnostic
	}{
		{"none states it", [2]settings.Settings{}, false, nil, ""},
		{"one alone states it", [2]settings.Settings{groups("kubernetes", "y")}, false, nil, "error"},
		{"the other alone states it", [2]settings.Settings{nil, groups("kubernetes", "y")}, false, nil, "error"},
		{"both state it", [2]settings.Settings{groups("kubernetes", "x"), groups("kubernetes", "y")}, false, nil, "kubernetes"},
		{"one states what the other has", [2]settings.Settings{groups("none", "x")}, false, nil, ""},
		{"a flag over one alone", [2]settings.Settings{groups("kubernetes", "x")}, false, groups("none", ""), ""},
		{"a directory as its cluster", [2]settings.Settings{groups("kubernetes", "x")}, true, nil, "kubernetes"},
		{"both differ", [2]settings.Settings{groups("kubernetes", "x"), groups("none", "y")}, false, nil, "error"},
		{"both differ, and a flag", [2]settings.Settings{groups("kubernetes", "x"), groups("none", "y")}, false, groups("kubernetes", ""), "kubernetes"},
		{"a cluster", [2]settings.Settings{}, true, nil, "kubernetes"},
		{"a cluster and a directory without", [2]settings.Settings{groups("none", "y")}, true, nil, "error"},
		{"a cluster and a flag", [2]settings.Settings{}, true, groups("none", ""), ""},
	} {
		s := snapshot(in("a").With(row.list[0]), in("b").With(row.list[1]))
		s.Origins[1].Cluster = row.kube
		got := "error"
		if r, list := New(Options{Settings: row.flag}).Translate(t.Context(), s); r != nil {
			got = tables.Of[*tables.Access](r.Tables).ImpliedGroups
		} else if e := firstError(list); e.Code != diag.BadValue || e.File != "y" {
			t.Errorf("implied groups, %s: got %v", row.name, list)
		}
		if got != row.want {
			t.Errorf("implied groups, %s: got %q, want %q", row.name, got, row.want)
		}
	}
	r, list := New(Options{Settings: master("o")}).Translate(t.Context(), snapshot(in("a").With(master("m")), in("b").With(master("n"))))
	if list.HasErrors() || tables.Of[*tables.Access](r.Tables).Master != "o" {
		t.Errorf("a flag over two master namespaces: got %v", list)
	}
}

// firstError returns the first error, zero without one.
func firstError(list diag.List) diag.Diagnostic {
	for _, d := range list {
		if d.Severity == diag.Error {
			return d
		}
	}
	return diag.Diagnostic{}
}

// A source with strict-routes has errors for its own routes alone.
func TestStrictRoutesOfSources(t *testing.T) {
	gateway := `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: net}
spec: {gatewayClassName: any, listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
`
	route := func(namespace string) string {
		return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: %s}
spec: {hostnames: [a.example], parentRefs: [{name: edge, namespace: net}], rules: [{matches: [{path: {value: /}}]}]}
`, namespace)
	}
	strict := settings.Settings{settings.StrictRoutes: {Text: "true"}}
	for _, row := range []struct {
		name    string
		sources [2]settings.Settings
		want    string // the files of errors
	}{
		{"none", [2]settings.Settings{}, "[]"},
		{"the first", [2]settings.Settings{strict}, "[a.yaml]"},
		{"the second", [2]settings.Settings{nil, strict}, "[b.yaml]"},
		{"both", [2]settings.Settings{strict, strict}, "[a.yaml b.yaml]"},
	} {
		first, second := file("a.yaml", gateway+"---\n"+route("a")), file("b.yaml", route("b"))
		second.Origin = 1
		_, list := New(Options{}).Translate(t.Context(), source.Snapshot{
			Files: []source.File{first, second}, Origins: []source.Origin{{Settings: row.sources[0]}, {Settings: row.sources[1]}},
		})
		var warnings int
		got := []string{}
		for _, d := range list {
			switch {
			case d.Code == diag.RouteConflict && d.Severity == diag.Error:
				got = append(got, d.File)
			case d.Code == diag.RouteConflict:
				warnings++
			}
		}
		if fmt.Sprint(got) != row.want || len(got)+warnings != 2 {
			t.Errorf("%s: got errors in %v and %d warnings, want errors in %s: %v", row.name, got, warnings, row.want, list)
		}
	}
}

// A cluster with the objects that its API server makes has no findings, and one subject
// more in a binding of them is one.
func TestEmptyClusterHasNoFindings(t *testing.T) {
	text, err := roles.BootstrapDocuments()
	if err != nil {
		t.Fatal(err)
	}
	find := func(documents string) diag.List {
		r, list := New(Options{}).Translate(t.Context(), source.Snapshot{Files: []source.File{file("all.yaml", documents)}})
		if r == nil {
			t.Fatal(list)
		}
		return append(list, Lint(r, lint.Ends{})...)
	}
	if list := find(string(text)); len(list) > 0 {
		t.Errorf("got %v", list)
	}
	more := strings.Replace(string(text), "    name: system:masters", "    name: system:masters\n  - apiGroup: rbac.authorization.k8s.io\n    kind: User\n    name: eve", 1)
	list := find(more)
	if len(list) != 1 || list[0].Code != diag.RiskAllPowers || strings.Join(list[0].Subjects, " ") != "user:eve" {
		t.Errorf("got %v", list)
	}
}
