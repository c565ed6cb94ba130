package bundles

import (
	"testing"

	"github.com/writ-policy/writ/rego"
)

func TestCheck(t *testing.T) {
	rows := []struct {
		name   string
		path   string
		module string
		want   string
	}{
		{"nothing more", "compiled/tests/b_test.rego", "package compiled.tests.b_test", ""},
		{"an extension", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) := true", ""},
		{"the time", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) if time.now_ns() > 1", ""},
		{"no Rego", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(", "writ/extensions/x/x.rego:4"},
		{"an unknown function", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) if nothing(1)", "writ/extensions/x/x.rego:3"},
		{"an unused argument", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(request, params) := true", ""},
		{"the network", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) if http.send({\"method\": \"get\", \"url\": \"http://localhost\"}).status_code == 200", "http.send"},
		{"chance", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) if rand.intn(\"x\", 2) == 1", "rand.intn"},
		{"the environment", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(_, _) if opa.runtime().env.X", "opa.runtime"},
		{"old Rego", "writ/extensions/x/x.rego", "package writ.extensions.x\n\nholds(a, b) { a == b }", "writ/extensions/x/x.rego"},
		{"a package out of its root", "writ/extensions/x/x.rego", "package compiled.x", "outside of the file's root"},
		{"a package out of the roots", "writ/extensions/x/x.rego", "package system.authz", "outside of the file's root"},
		{"a test that decides", "compiled/tests/b_test.rego", "package writ.access\n\ndecision := {}", "outside of the file's root"},
		{"a test that is none", "writ/b_test.rego", "package writ.access\n\ndecision := {}", "not a package of tests"},
		{"what decides in a package of tests", "compiled/b.rego", "package compiled.tests.b_test", "is a package of tests"},
		{"rules where there is data", "compiled/b.rego", "package compiled.access\n\nroles := {}", "conflict"},
		{"rules where there are tables of visibility", "compiled/b.rego", "package compiled.views\n\npolicies := {}", "conflict"},
		{"a rule above the data", "compiled/b.rego", "package compiled\n\naccess := {}", "conflict"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			access := translated(1)
			b, err := assemble(Tables{Access: access}, nil, BuildOptions{}, rego.Files(), compiledFiles(t, access), map[string][]byte{row.path: []byte(row.module + "\n")})
			check(t, err)
			wantError(t, Check(b), row.want)
		})
	}
}

// Bundles that share their Rego need one check; any change of Rego needs another.
func TestRules(t *testing.T) {
	build := func(n int, more map[string][]byte) string {
		access := translated(n)
		b, err := assemble(Tables{Access: access}, nil, BuildOptions{}, rego.Files(), compiledFiles(t, access), more)
		check(t, err)
		return b.Rules()
	}
	base := build(1, nil)
	if got := build(2, nil); got != base {
		t.Errorf("other data: got %s, want %s", got, base)
	}
	for _, path := range []string{"writ/extensions/x/x.rego", "compiled/tests/x_test.rego"} {
		if got := build(1, map[string][]byte{path: []byte("package x")}); got == base {
			t.Errorf("%s: got the hash of the bundle without it", path)
		}
	}
}
