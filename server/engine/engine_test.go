package engine

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// fixture returns access tables with a few documents of both families.
func fixture() *tables.Access {
	gold := "gold"
	return &tables.Access{
		Master: "master",
		Roles: tables.MapOf(map[string]tables.Role{
			"kubernetes:/reader": {Family: "kubernetes", Kind: "ClusterRole", Name: "reader", Kubernetes: []tables.KubernetesRule{
				{Rule: 0, Source: "k.yaml:1", KubernetesLists: &tables.KubernetesLists{Verbs: []string{"get", "list"}, Groups: []string{""}, Resources: []string{"pods", "*/log"}}},
				{Rule: 1, Source: "k.yaml:2", KubernetesLists: &tables.KubernetesLists{Verbs: []string{"get"}, Groups: []string{""}, Resources: []string{"configmaps"}, Names: []string{"a"}}},
				{Rule: 2, Source: "k.yaml:3", KubernetesLists: &tables.KubernetesLists{Verbs: []string{"get"}, Paths: []string{"/api/*", "/healthz"}}},
			}},
			"origin:master/edit": {Family: "origin", Kind: "Role", Namespace: "master", Name: "edit", Origin: []tables.OriginRule{
				{Rule: 0, Source: "o.yaml:1", Verbs: []string{"*"}, Kinds: []string{"*"}, NotKinds: []string{"policies", "roles"}},
			}},
			"origin:hammer/careful": {Family: "origin", Kind: "Role", Namespace: "hammer", Name: "careful", Origin: []tables.OriginRule{
				{Rule: 0, Source: "o.yaml:9", Deny: true, Verbs: []string{"delete"}, Kinds: []string{"pod"},
					Restrictions: &tables.Restrictions{Labels: []tables.Entry{{Key: "tier", Value: &gold}}}},
			}},
		}),
		Bindings: tables.MapOf(map[string]tables.Binding{
			"kubernetes:/everybody":  {Family: "kubernetes", APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding", Name: "everybody", Role: "kubernetes:/reader", Cluster: true},
			"origin:hammer/editors":  {Family: "origin", APIVersion: "writ.dev/v1", Kind: "RoleBinding", Namespace: "hammer", Name: "editors", Role: "origin:master/edit"},
			"origin:hammer/careful":  {Family: "origin", APIVersion: "writ.dev/v1", Kind: "RoleBinding", Namespace: "hammer", Name: "careful", Role: "origin:hammer/careful"},
			"origin:master/everyone": {Family: "origin", APIVersion: "writ.dev/v1", Kind: "RoleBinding", Namespace: "master", Name: "everyone", Role: "origin:master/edit", Cluster: true},
		}),
		Subjects: tables.Subjects{
			Cluster: tables.MapOf(map[string][]string{
				"group:dev": {"kubernetes:/everybody"},
				"user:root": {"origin:master/everyone"},
			}),
			Namespaces: tables.MapOf(map[string]tables.Map[[]string]{"hammer": tables.MapOf(map[string][]string{
				"user:edgar": {"origin:hammer/careful", "origin:hammer/editors"},
				"group:dev":  {"origin:hammer/editors"},
			})}),
		},
	}
}

// filesOf is the Rego of a bundle with these tables.
func filesOf(access *tables.Access) map[string][]byte {
	files := rego.Files()
	maps.Copy(files, translator.Modules(tables.List{access}))
	return files
}

func activate(tb testing.TB, access *tables.Access) *Engine {
	tb.Helper()
	files := filesOf(access)
	b := &bundles.Bundle{Files: files, Tables: tables.List{access}}
	b.Manifest.Revision = "r1"
	e, err := Activate(context.Background(), b, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func activateDocuments(tb testing.TB, documents string, o Options) *Engine {
	tb.Helper()
	snapshot := source.Snapshot{Files: []source.File{source.NewFile("p.yaml", []byte(documents))}}
	result, list := translator.New(translator.Options{}).Translate(tb.Context(), snapshot)
	if result == nil {
		tb.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	e, err := Activate(tb.Context(), b, o)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestEvaluate(t *testing.T) {
	e := activate(t, fixture())
	for name, row := range map[string]struct {
		request decision.Request
		want    string // outcome, then KIND NAME RULE of matched
		reason  string
	}{
		"a group reads pods": {
			decision.Request{User: "u", Groups: []string{"dev"}, Verb: "get", Resource: "pods"},
			"allow ClusterRoleBinding everybody 0",
			"allowed by ClusterRoleBinding everybody (ClusterRole reader, rule 0)",
		},
		"a subresource of every resource": {
			decision.Request{User: "u", Groups: []string{"dev"}, Verb: "get", Resource: "nodes", Subresource: "log"},
			"allow ClusterRoleBinding everybody 0", "",
		},
		"a name in the list": {
			decision.Request{User: "u", Groups: []string{"dev"}, Verb: "get", Resource: "configmaps", Name: "a"},
			"allow ClusterRoleBinding everybody 1", "",
		},
		"a name not in the list": {
			decision.Request{User: "u", Groups: []string{"dev"}, Verb: "get", Resource: "configmaps", Name: "b"},
			"none", "not allowed: no rule allows get configmaps at cluster scope",
		},
		"a path below": {
			decision.Request{User: "u", Groups: []string{"dev"}, Verb: "get", Path: "/api/v1"},
			"allow ClusterRoleBinding everybody 2", "",
		},
		"a path of its own": {
			decision.Request{User: "u", Groups: []string{"dev"}, Verb: "get", Path: "/api"},
			"none", "not allowed: no rule allows get /api",
		},
		"a deny whose labels are not known": {
			decision.Request{User: "edgar", Verb: "deletecollection", Resource: "pods", Namespace: "hammer"},
			"deny RoleBinding careful 0, RoleBinding editors 0 (1 warnings)",
			"denied by RoleBinding hammer/careful (Role hammer/careful, rule 0); would be allowed by RoleBinding hammer/editors (Role master/edit, rule 0)",
		},
		"a deny whose labels are others": {
			decision.Request{User: "edgar", Verb: "delete", Resource: "pods", Namespace: "hammer", Labels: map[string]string{"tier": "tin"}},
			"allow RoleBinding editors 0", "",
		},
		"a negated kind": {
			decision.Request{User: "edgar", Verb: "get", Resource: "Policy", Namespace: "hammer"},
			"none", "",
		},
		"all kinds are not covered where one is negated": {
			decision.Request{User: "root", Verb: "get", Resource: "*", Namespace: "hammer"},
			"none", "",
		},
		"a namespace that is spelt like the cluster's key": {
			decision.Request{User: "root", Verb: "get", Resource: "pods", Namespace: "null"},
			"allow RoleBinding everyone 0", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := e.Access(context.Background(), &row.request)
			if got := summary(d); got != row.want {
				t.Errorf("got %q, want %q; reason %q", got, row.want, d.Reason)
			}
			if row.reason != "" && d.Reason != row.reason {
				t.Errorf("got reason %q, want %q", d.Reason, row.reason)
			}
		})
	}
}

func summary(d decision.Decision) string {
	outcome := "none"
	switch {
	case d.Allowed:
		outcome = "allow"
	case d.Denied:
		outcome = "deny"
	}
	var entries []string
	for _, m := range d.Matched {
		entries = append(entries, fmt.Sprintf("%s %s %d", m.Kind, m.Name, m.Rule))
	}
	text := outcome
	if len(entries) > 0 {
		text += " " + strings.Join(entries, ", ")
	}
	if len(d.Warnings) > 0 {
		text += fmt.Sprintf(" (%d warnings)", len(d.Warnings))
	}
	return text
}

func TestEvaluationErrorDenies(t *testing.T) {
	e := activate(t, fixture())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d := e.Access(ctx, &decision.Request{User: "root", Verb: "get", Resource: "pods", Namespace: "hammer"})
	if d.Allowed || !d.Denied || d.EvaluationError == "" || d.Revision != "r1" {
		t.Errorf("got %+v, want a denial with its evaluation error and revision", d)
	}
}

// A request with a failing extension is denied even if other rules grant it, and the
// reason does not contain values of the request.
func TestFailingExtensionDenies(t *testing.T) {
	access := fixture()
	role := access.Roles.At("origin:hammer/careful")
	role.Origin = []tables.OriginRule{{Source: "o.yaml:9", Deny: true, Verbs: []string{"get"}, Kinds: []string{"pods"},
		Restrictions: &tables.Restrictions{Extension: "broken"}}}
	access.Roles = access.Roles.With(map[string]*tables.Role{"origin:hammer/careful": &role})
	access.Extensions = []string{"broken"}
	files := filesOf(access)
	for name, source := range map[string]string{
		"two answers":        "package writ.extensions.broken\n\nholds(r, _) := r.attributes.secret\n\nholds(_, _) := 1\n",
		"a built-in's error": "package writ.extensions.broken\n\nholds(r, _) := to_number(r.attributes.secret)\n",
	} {
		t.Run(name, func(t *testing.T) {
			files["writ/extensions/broken/x.rego"] = []byte(source)
			e, err := Activate(context.Background(), &bundles.Bundle{Files: files, Tables: tables.List{access}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			d := e.Access(context.Background(), &decision.Request{
				User: "edgar", Verb: "get", Resource: "pods", Namespace: "hammer", Attributes: map[string]any{"secret": "hunter2"},
			})
			if d.Allowed || !d.Denied || d.EvaluationError == "" {
				t.Errorf("got %+v, want a denial with its evaluation error", d)
			}
			if strings.Contains(d.Reason, "hunter2") || strings.Contains(d.Reason, "\n") || !strings.Contains(d.Reason, "x.rego:") {
				t.Errorf("got reason %q, want one line with the position and without values", d.Reason)
			}
		})
	}
}

// A decision of an extension that reads the clock expires at once.
func TestDecisionByClockExpiresAtOnce(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	access := fixture()
	access.ReadsClock = true
	role := access.Roles.At("origin:hammer/careful")
	role.Origin = []tables.OriginRule{{Source: "o.yaml:9", Verbs: []string{"get"}, Kinds: []string{"policies"},
		Restrictions: &tables.Restrictions{Extension: "morning"}}}
	access.Roles = access.Roles.With(map[string]*tables.Role{"origin:hammer/careful": &role})
	access.Extensions = []string{"morning"}
	files := filesOf(access)
	files["writ/extensions/morning/x.rego"] = []byte("package writ.extensions.morning\n\nholds(_, _) if time.clock(time.now_ns())[0] < 12\n")
	e, err := Activate(context.Background(), &bundles.Bundle{Files: files, Tables: tables.List{access}}, Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	asked := decision.Request{User: "edgar", Verb: "get", Resource: "policies", Namespace: "hammer"}
	d := e.Access(context.Background(), &asked)
	if !d.Allowed || !d.Expires.Equal(now) {
		t.Errorf("got %v until %v, want it allowed until %v", d.Allowed, d.Expires, now)
	}
	now = now.Add(5 * time.Hour)
	if d := e.Access(context.Background(), &asked); d.Allowed {
		t.Error("allowed in the afternoon, want a denial")
	}
	asked.Resource = "pods"
	if d := e.Access(context.Background(), &asked); !d.Expires.IsZero() {
		t.Errorf("got an expiry of %v without an extension", d.Expires)
	}
}

// The rules of a large role are found by an index, those of small roles without one.
func TestLargeRoleDecidesLikeSmallOnes(t *testing.T) {
	small, large := activate(t, fixture()), fixture()
	role := large.Roles.At("kubernetes:/reader")
	for i := range 100 {
		role.Kubernetes = append(role.Kubernetes, tables.KubernetesRule{
			Rule: len(role.Kubernetes), KubernetesLists: &tables.KubernetesLists{Verbs: []string{"other"}, Groups: []string{""}, Resources: []string{"pods", fmt.Sprintf("more-%d", i)}},
		})
	}
	large.Roles = large.Roles.With(map[string]*tables.Role{"kubernetes:/reader": &role})
	engine := activate(t, large)
	for _, request := range []decision.Request{
		{Verb: "get", Resource: "pods"}, {Verb: "get", Resource: "nodes", Subresource: "log"}, {Verb: "get", Resource: "configmaps", Name: "a"},
		{Verb: "get", Resource: "configmaps"}, {Verb: "create", Resource: "pods"}, {Verb: "get", Path: "/api/v1"}, {Verb: "get", Path: "/x"},
	} {
		request.User, request.Groups = "u", []string{"dev"}
		got := summary(engine.Access(context.Background(), &request))
		if want := summary(small.Access(context.Background(), &request)); got != want {
			t.Errorf("%s %s%s: got %q, want %q", request.Verb, request.Resource, request.Path, got, want)
		}
	}
}

// A group may have very many bindings: the time to find them must not grow with the
// square of their number.
func TestManyHits(t *testing.T) {
	access := fixture()
	var keys []string
	bindings := make(map[string]*tables.Binding)
	for i := range 3000 {
		key := fmt.Sprintf("kubernetes:/many-%04d", i)
		bindings[key] = &tables.Binding{Family: "kubernetes", Kind: "ClusterRoleBinding", Name: key, Role: "kubernetes:/reader", Cluster: true}
		keys = append(keys, key)
	}
	access.Bindings = access.Bindings.With(bindings)
	access.Subjects.Cluster = access.Subjects.Cluster.With(map[string]*[]string{"group:dev": &keys, "user:u": &keys})
	e := activate(t, access)
	d := e.Access(context.Background(), &decision.Request{User: "u", Groups: []string{"dev"}, Verb: "get", Resource: "pods"})
	if got, want := len(d.Matched), len(keys); got != want {
		t.Errorf("got %d entries, want %d: each binding once", got, want)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	e := activate(b, fixture())
	request := decision.Request{User: "u", Groups: []string{"a", "b", "dev"}, Verb: "get", Resource: "pods", Namespace: "hammer"}
	b.ReportAllocs()
	for b.Loop() {
		if d := e.Access(context.Background(), &request); d.Reason == "" {
			b.Fatal("not allowed")
		}
	}
}
