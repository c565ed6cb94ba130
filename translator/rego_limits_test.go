package translator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// policyWith is a gateway with a policy that has Rego.
func policyWith(rego string) string {
	return `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: net}
spec: {gatewayClassName: any, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: p, namespace: net}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  rules: {authorization: {x: {opa: {rego: ` + fmt.Sprintf("%q", rego) + `}}}}
`
}

// Rego of authors is compiled in time, or is a diagnostic at its place: types that double
// forty times would never be compared.
func TestRegoCompilesInTime(t *testing.T) {
	const soon = time.Minute
	doubled := "x0 := [1, 2]\ny0 := [1, 2]\n"
	for i := range 40 {
		doubled += fmt.Sprintf("x%d := [x%[2]d, x%[2]d]\ny%[1]d := [y%[2]d, y%[2]d]\n", i+1, i)
	}
	doubled += "equal if x40 == y40\n"
	for name, row := range map[string]struct {
		files map[string]string
		want  []string // the positions and codes of errors
	}{
		"an extension": {
			map[string]string{"a.rego": "package writ.extensions.a\n\n" + doubled + "\nholds(_, _) := true\n"},
			[]string{"a.rego:31:1 rego"},
		},
		"two extensions": {
			map[string]string{
				"a.rego": "package writ.extensions.a\n\n" + doubled, "b.rego": "package writ.extensions.b\n\nholds(_, _) := true\n",
			},
			[]string{"a.rego:31:1 rego"},
		},
		"a policy": {map[string]string{"p.yaml": policyWith(doubled + "allow if equal")}, []string{"p.yaml:11:37 rego"}},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, list := translator.New(translator.Options{AllowEmpty: true}).Translate(t.Context(), snapshotOf(row.files))
			if took := time.Since(began); took > soon {
				t.Errorf("took %s, want at most %s", took, soon)
			}
			var got []string
			for _, d := range list {
				if d.Severity == diag.Error && strings.Contains(d.Message, "has more than 100000 parts") {
					got = append(got, fmt.Sprintf("%s:%d:%d %s", d.File, d.Line, d.Column, d.Code))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(row.want) {
				t.Errorf("got %v, want %v: %v", got, row.want, list)
			}
		})
	}
}

// closures is a body within the limits, in the order that takes OPA longest: each expression
// has a closure over the variable of the next one.
func closures(n int) string {
	var b strings.Builder
	b.WriteString("slow if {\n")
	for i := range n {
		fmt.Fprintf(&b, "x%d = [1 | x%d]\n", i, i+1)
	}
	fmt.Fprintf(&b, "x%d = input.user\n}\n", n)
	return b.String()
}

func snapshotOf(files map[string]string) (snapshot source.Snapshot) {
	for path, content := range files {
		snapshot.Files = append(snapshot.Files, source.NewFile(path, []byte(content)))
	}
	return snapshot
}

// Rego that no limit of its form refuses and that compiles for long is a diagnostic with its
// place. The documents without it are translated while the compiler still runs.
func TestRegoThatTakesTooLong(t *testing.T) {
	files := map[string]string{
		"a.rego": "package writ.extensions.a\n\n" + closures(194),
		"p.yaml": policyWith(closures(195) + "allow if slow\n"),
	}
	translate := translator.New(translator.Options{AllowEmpty: true})
	_, list := translate.Translate(t.Context(), snapshotOf(files))
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%s: %s: %s", d.Position, d.Code, d.Message))
	}
	slices.Sort(got)
	if len(got) != 2 || !strings.HasPrefix(got[0], "a.rego:1:1: rego: the module takes more than 5s to compile") ||
		!strings.HasPrefix(got[1], "p.yaml:11:37: rego: the Rego takes more than 5s to compile") {
		t.Errorf("got %q", got)
	}
	began := time.Now()
	if _, again := translate.Translate(t.Context(), snapshotOf(files)); len(again) != 2 || time.Since(began) > 4*time.Second {
		t.Errorf("the same documents: got %v after %v", again, time.Since(began))
	}
	delete(files, "a.rego")
	files["p.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"
	if result, list := translate.Translate(t.Context(), snapshotOf(files)); result == nil {
		t.Errorf("without them: got %v", list)
	}
}
