package settings_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
)

func TestRead(t *testing.T) {
	f, list := settings.Read(".writ.yaml", []byte(`
strict-kinds: true
strict-routes: false
default-namespace: shop
bootstrap-roles: kubernetes
cluster-export: true
master-namespace: main
implied-groups: none
ignore: [charts/, "*.tmpl.yaml"]
accepted: [{code: risk-exec, path: shop/, until: 2026-01-31, reason: debugging}]
`))
	if len(list) > 0 {
		t.Fatalf("got %+v", list)
	}
	want := "bootstrap-roles=\"kubernetes\"\ncluster-export=\"true\"\ndefault-namespace=\"shop\"\nimplied-groups=\"none\"\nmaster-namespace=\"main\"\nstrict-kinds=\"true\"\nstrict-routes=\"false\"\n"
	if got := f.Settings.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if at := f.Settings[settings.DefaultNamespace].At; at.String() != ".writ.yaml:4:20" {
		t.Errorf("got %s", at)
	}
	if !reflect.DeepEqual(f.Ignore, []string{"charts/", "*.tmpl.yaml"}) {
		t.Errorf("got %q", f.Ignore)
	}
	if len(f.Accepted) != 1 || f.Accepted[0].Code != "risk-exec" || f.Accepted[0].Until.Day() != 31 || f.Accepted[0].At.String() != ".writ.yaml:10:12" {
		t.Errorf("got %+v", f.Accepted)
	}
	if !f.Settings.Is(settings.StrictKinds) || f.Settings.Is(settings.StrictRoutes) {
		t.Error("a switch has the wrong state")
	}
}

func TestMistakes(t *testing.T) {
	for _, row := range []struct {
		name, text string
		code       diag.Code
		line       int
		about      string
	}{
		{"an unknown key", "strict-kind: true", diag.UnknownField, 1, "strict-kinds"},
		{"a key of a server", "\nlisten: x", diag.UnknownField, 2, "listen"},
		{"a text for a switch", "strict-kinds: yes", diag.WrongType, 1, "strict-kinds"},
		{"a number for a text", "default-namespace: 7", diag.WrongType, 1, "default-namespace"},
		{"a namespace that is not valid", "default-namespace: A_b", diag.BadValue, 1, "default-namespace"},
		{"other groups", "implied-groups: openshift", diag.BadValue, 1, "kubernetes"},
		{"other roles", "bootstrap-roles: openshift", diag.BadValue, 1, "kubernetes"},
		{"no master namespace", `master-namespace: ""`, diag.BadValue, 1, "empty"},
		{"a pattern of two lines", `ignore: ["a\nb"]`, diag.BadValue, 1, "one line"},
		{"an unknown code", `accepted: [{code: risk-exce, path: a, reason: x}]`, diag.BadValue, 1, "risk-exec"},
		{"a code that cannot be accepted", `accepted: [{code: escalation, path: a, reason: x}]`, diag.BadValue, 1, "cannot"},
		{"no reason", `accepted: [{code: risk-exec, path: a}]`, diag.Missing, 1, "reason"},
		{"no path", `accepted: [{code: risk-exec, reason: x}]`, diag.Missing, 1, "path"},
		{"an exception", `accepted: [{code: risk-exec, path: "!a", reason: x}]`, diag.BadValue, 1, "pattern"},
		{"no date", `accepted: [{code: risk-exec, path: a, reason: x, until: tomorrow}]`, diag.BadValue, 1, "2026-01-31"},
		{"a field that acceptances do not have", `accepted: [{code: risk-exec, path: a, reason: x, line: 1}]`, diag.UnknownField, 1, "line"},
		{"a repeated key", "strict-kinds: true\nstrict-kinds: false", diag.YAML, 2, "duplicate"},
		{"a list", "- a", diag.WrongType, 1, "mapping"},
		{"two documents", "strict-kinds: true\n---\nstrict-kinds: false", diag.YAML, 2, "one document"},
		{"not YAML", "a: [", diag.YAML, 1, "YAML"},
		{"not text", "\xff", diag.YAML, 1, "UTF-8"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, list := settings.Read(".writ.yaml", []byte(row.text))
			if len(list) != 1 || list[0].Code != row.code || list[0].Line != row.line || list[0].File != ".writ.yaml" ||
				!strings.Contains(list[0].Message+list[0].Hint, row.about) {
				t.Errorf("got %+v, want %s on line %d about %s", list, row.code, row.line, row.about)
			}
		})
	}
	if f, list := settings.Read(".writ.yaml", []byte("# nothing\n")); len(list) > 0 || f.Settings.String() != "" {
		t.Errorf("an empty file: got %v, %v", f, list)
	}
}

func TestPrecedence(t *testing.T) {
	file := settings.Settings{settings.StrictKinds: {Text: "true"}, settings.MasterNamespace: {Text: "main"}}
	flags := settings.Settings{settings.StrictKinds: {Text: "false"}, settings.MasterNamespace: {Text: "main"}, settings.ClusterExport: {Text: "true"}}
	if got := file.With(flags).String(); got != "cluster-export=\"true\"\nmaster-namespace=\"main\"\nstrict-kinds=\"false\"\n" {
		t.Errorf("got %s", got)
	}
	if got := file.Replaced(flags); !reflect.DeepEqual(got, []settings.Key{settings.StrictKinds}) {
		t.Errorf("got %v: the same value is not replaced, nor one that was not set", got)
	}
	if file.Is(settings.ClusterExport) || !file.Is(settings.StrictKinds) {
		t.Error("With changes its receiver")
	}
	if got := settings.Settings(nil).With(flags); got.Text(settings.MasterNamespace) != "main" {
		t.Errorf("got %v", got)
	}
}
