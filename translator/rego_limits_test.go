package translator_test

import (
	"crypto/sha256"
	"fmt"
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
			var snapshot source.Snapshot
			for path, content := range row.files {
				snapshot.Files = append(snapshot.Files, source.File{Path: path, Content: []byte(content), Hash: sha256.Sum256([]byte(content))})
			}
			began := time.Now()
			_, list := translator.New(translator.Options{AllowEmpty: true}).Translate(t.Context(), snapshot)
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
