package rego_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/process"
)

// The schemas of make lint reject a misspelt key of the input and of the data.
func TestSchemasRejectMisspeltKeys(t *testing.T) {
	opa := process.OPA(t)
	for _, row := range []struct{ file, from, to string }{
		{"writ/access/pod/pod.rego", "input.pod.spec", "input.pods.spec"},
		{"writ/access/deny/judge.rego", "input.podError != ", "input.podErrors != "},
		{"writ/access/compact/compact.rego", "data.compiled.access.bindings[key]", "data.compiled.access.binding[key]"},
		{"writ/gateway/routing/listener.rego", "input.gateway.listener", "input.gateway.listner"},
		{"writ/visibility/request/request.rego", "input.cluster.name if", "input.cluster.nam if"},
		{"writ/access/deny/deny.rego", "", ""},
	} {
		t.Run(row.to, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, row.file)
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(content), row.from) {
				t.Fatalf("%s has no %s", row.file, row.from)
			}
			changed := strings.Replace(string(content), row.from, row.to, 1)
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(opa, "check", "--strict", "--schema", filepath.Join(dir, "schemas"), dir).CombinedOutput()
			if isChanged := row.from != row.to; (err != nil) != isChanged || isChanged && !strings.Contains(string(out), "undefined ref") {
				t.Errorf("got %v\n%s", err, out)
			}
		})
	}
}
