package bundles

import (
	"runtime"
	"testing"
	"weak"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/tables"
)

func TestCheck(t *testing.T) {
	rows := []struct {
		name   string
		path   string
		module string
		want   string
	}{
		{"test", "compiled/tests/b_test.rego", "package compiled.tests.b_test", ""},
		{"extension", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) := true", ""},
		{"time", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) if time.now_ns() > 1", ""},
		{"syntax error", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(", "writ/extensions/x/x.rego:4"},
		{"an unknown function", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) if nothing(1)", "writ/extensions/x/x.rego:3"},
		{"an unused argument", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(request, params) := true", ""},
		{"the network", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) if http.send({\"method\": \"get\", \"url\": \"http://localhost\"}).status_code == 200", "http.send"},
		{"random numbers", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) if rand.intn(\"x\", 2) == 1", "rand.intn"},
		{"the environment", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) if opa.runtime().env.X", "opa.runtime"},
		{"old Rego", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(a, b) { a == b }", "writ/extensions/x/x.rego"},
		{"package outside of its root", "writ/extensions/x/x.rego", "package compiled.x", "must be below the root"},
		{"package outside of the roots", "writ/extensions/x/x.rego", "package system.authz", "must be below the root"},
		{"test outside of its root", "compiled/tests/b_test.rego", "package writ.access\n\ndecision := {}", "must be below the root"},
		{"test in another package", "writ/b_test.rego", "package writ.access\n\ndecision := {}", "must end in _test"},
		{"module in a package of tests", "compiled/b.rego", "package compiled.tests.b_test", "must not end in _test"},
		{"rules in conflict with access tables", "compiled/b.rego", "package compiled.access\n\nroles := {}", "conflict"},
		{"rules in conflict with visibility tables", "compiled/b.rego", "package compiled.visibility_tables\n\npolicies := {}", "conflict"},
		{"rule in conflict with all tables", "compiled/b.rego", "package compiled\n\naccess := {}", "conflict"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			access := translated(1)
			b, err := assemble(tables.List{access}, nil, BuildOptions{}, accessData(t, access), rego.Files(), compiledFiles(), map[string][]byte{row.path: []byte(row.module + "\n")})
			check(t, err)
			wantError(t, Check(b), row.want)
		})
	}
}

// Bundles with the same modules have the same hash, whatever their tests; a change of a module
// changes it.
func TestRegoHash(t *testing.T) {
	build := func(n int, more map[string][]byte) string {
		access := translated(n)
		b, err := assemble(tables.List{access}, nil, BuildOptions{}, accessData(t, access), rego.Files(), compiledFiles(), more)
		check(t, err)
		return b.RegoHash()
	}
	base := build(1, nil)
	if got := build(2, nil); got != base {
		t.Errorf("other data: got %s, want %s", got, base)
	}
	for path, isModule := range map[string]bool{"writ/extensions/x/x.rego": true, "compiled/tests/x_test.rego": false} {
		if got := build(1, map[string][]byte{path: []byte("package x")}); (got != base) != isModule {
			t.Errorf("%s: the hash differs from that of the bundle without it: %v, want %v", path, got != base, isModule)
		}
	}
}

// An engine keeps the compiler of the first bundle for all later ones with the same rules.
// The data of the first one may be large.
func TestCompilerKeepsNoBundle(t *testing.T) {
	compiler, bundle := func() (any, weak.Pointer[Bundle]) {
		b := sample(t)
		c, err := CompileFor(b, []string{"data.writ.access.grants"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c, weak.Make(b)
	}()
	runtime.GC()
	if bundle.Value() != nil {
		t.Error("the compiler keeps the bundle")
	}
	runtime.KeepAlive(compiler)
}
