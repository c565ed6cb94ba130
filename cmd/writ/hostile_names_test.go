package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/tests/gate"
)

// hostileDocuments have a name, as a JSON string, wherever documents accept any text, and
// references with it that lead nowhere.
const hostileDocuments = `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [
  {"verbs": ["get", NAME], "apiGroups": ["", NAME], "resources": ["secrets", NAME], "resourceNames": [NAME]}, {"verbs": ["get"], "nonResourceURLs": [NAME]}]}
---
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
  "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}, "subjects": [{"kind": "User", "name": NAME}, {"kind": "Group", "name": NAME}]}
---
{"apiVersion": "writ.dev/v1", "kind": "DecisionTest", "metadata": {"name": "t"}, "spec": {"point": "access", "cases": [
  {"name": NAME, "request": {"user": NAME, "verb": "get", "resource": "secrets"}, "expect": {"allowed": false}},
  {"name": "other", "request": {"user": NAME, "verb": "get", "resource": NAME}, "expect": {"allowed": true}}]}}
---
{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "edge", "namespace": "net"}, "spec": {"gatewayClassName": "any", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}}
---
{"apiVersion": "kuadrant.io/v1", "kind": "AuthPolicy", "metadata": {"name": "p", "namespace": "net"}, "spec": {"targetRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "edge"},
  "rules": {"authorization": {NAME: {"patternMatching": {"patterns": [{"selector": "request.path", "operator": "eq", "value": NAME}]}}}}}}
`

const mistakenDocuments = `
---
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": NAME, NAME: 1},
  "roleRef": {"apiGroup": NAME, "kind": NAME, "name": NAME}, "subjects": [{"kind": NAME, "name": NAME}]}
---
{"apiVersion": NAME, "kind": NAME, "metadata": {"name": NAME}}
`

// Names in what a command writes for people neither begin a line, which a runner of pipelines
// may take for a command, nor act on a terminal: in reports, diagnostics and errors alike.
func TestCommandsEscapeNames(t *testing.T) {
	namesEvery := 4 // one of so many pairs of a name and a command: each command has some names
	if gate.Effort() > 100 {
		namesEvery = 1
	}
	for i, name := range []string{
		"mallory\n::stop-commands::x", "mallory\r::add-mask::x", "::notice::mallory", "mallory\x1b[1A\x1b[2K", "mallory\u009b2K",
		"mallory\u202ecilbup", "mallory\u2028::notice::x", "mallory\u200bx", "mallory\x7f", "##[group]mallory", "mallory\tx",
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			good, bad := documentsWith(t, hostileDocuments, name), documentsWith(t, hostileDocuments+mistakenDocuments, name)
			empty := t.TempDir()
			write(t, filepath.Join(empty, "d.yaml"), `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": []}`)
			bundle, log := filepath.Join(t.TempDir(), "b.tar.gz"), filepath.Join(t.TempDir(), "log.json")
			quoted := string(jsontext.EscapeControls(jsontext.AppendString(nil, name)))
			write(t, log, fmt.Sprintf(`{"point": "access", "request": {"user": %s, "verb": "get", "resource": "pods"}, "decision": {"allowed": true}}`, quoted))
			for j, row := range []struct {
				args  string // separated by blanks; NAME is the name
				names bool   // whether the name is in what it writes
			}{
				{"check " + good, false}, {"check " + bad, true}, {"lint " + good, false}, {"check " + good + " --show-skipped", false}, {"check " + bad + " --show-skipped", true},
				{"build " + good + " -o " + bundle, false}, {"inspect " + bundle, false},
				{"test " + good, true}, {"test " + good + " --verbose --coverage", true},
				{"effective " + good + " --kind AuthPolicy --target Gateway/net/edge", true},
				{"effective " + good + " --kind AuthPolicy --target Gateway/net/edge -o yaml", true},
				{"effective " + good + " --kind AuthPolicy --reach rules.authorization.NAME", true},
				{"effective " + good + " --kind AuthPolicy --target NAME", true},
				{"replay --log " + log + " --policies " + good, true}, {"replay --log " + log + " --policies " + good + " --unused", true},
				{"replay --log NAME --policies " + good, true},
				{"what-can --user NAME -A --policies " + good, true}, {"who-can get secrets -A --policies " + good, true}, {"who-can NAME secrets -A --policies " + good, false},
				{"diff " + good + " NAME", false}, {"diff " + good + " " + bad, true}, {"explain NAME", true}, {"NAME", true}, {"check NAME", true},
				{"inspect NAME", true}, {"schema NAME", true}, {"check " + good + " --NAME", true}, {"check " + good + " -o NAME", true},
				// JSON, in a terminal too.
				{"check " + bad + " -o json", true}, {"check " + bad + " -o sarif", true}, {"who-can get secrets -A -o json --policies " + good, true},
				{"what-can --user NAME -A -o json --policies " + good, true}, {"diff " + empty + " " + good + " -o json", true},
				{"diff " + empty + " " + good + " -o sarif", true}, {"diff " + empty + " " + good + " --point access -o requests", true},
				{"test " + good + " -o json", true}, {"replay -o json --log " + log + " --policies " + good, true},
				{"effective " + good + " --kind AuthPolicy --target Gateway/net/edge -o json", true},
				{"eval --policies " + good + " --now NAME", true}, {"status --server NAME", true},
			} {
				if (i+j)%namesEvery != 0 {
					continue
				}
				var out, errs bytes.Buffer
				args := strings.Fields(row.args)
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "NAME", name)
				}
				if strings.Contains(row.args, " -o ") && strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
					continue // encoders of JSON escape these
				}
				status := run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
				if all := out.String() + errs.String(); row.names && !strings.Contains(all, "mallory") {
					t.Errorf("%s: got status %d and %q, want the name in it", row.args, status, all)
				}
				for line := range strings.SplitSeq(out.String()+"\n"+errs.String(), "\n") {
					if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") && !strings.Contains(row.args, " -o ") ||
						strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
						t.Errorf("%s: got the line %q", row.args, line)
					}
				}
			}
		})
	}
}

// documentsWith writes documents with a name to a directory.
func documentsWith(t *testing.T, text, name string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "d.yaml"), strings.ReplaceAll(text, "NAME", string(jsontext.EscapeControls(jsontext.AppendString(nil, name)))))
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
