package changes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/jsontext"
)

// hostile are names that begin lines, move the cursor or turn the direction of text.
var hostile = []string{
	"mallory\n::stop-commands::x", "mallory\r::add-mask::x", "::notice::x", "mallory\x1b[1A\x1b[2K", "mallory\u009b2K", "mallory\u202ecilbup",
	"mallory\u2028::notice::x", "mallory\u200bx", "mallory\x7f", "##[group]x", "mallory\tx",
}

// roleWith writes documents in which subjects, verbs, resources and names of objects are hostile.
func roleWith(t *testing.T, subjects, words []string) string {
	t.Helper()
	quoted := func(list []string) string {
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return string(jsontext.EscapeControls(text))
	}
	var people []string
	for _, name := range subjects {
		people = append(people, fmt.Sprintf(`{"kind": "User", "name": %s}`, strings.Trim(quoted([]string{name}), "[]")))
	}
	text := fmt.Sprintf(`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [
{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": %[1]s}, {"verbs": %[1]s, "apiGroups": [""], "resources": %[1]s}]}
---
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}, "subjects": [%[2]s]}
`, quoted(words), strings.Join(people, ", "))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "r.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Names in a report for people neither begin a line, which a runner of pipelines may take for
// a command, nor act on a terminal.
func TestReportsEscapeNames(t *testing.T) {
	for _, name := range hostile {
		before, after := roleWith(t, []string{"alice"}, []string{"x"}), roleWith(t, []string{"alice", name}, []string{"x", name})
		for _, run := range []struct {
			command func(cli.Streams) *cobra.Command
			args    []string
		}{
			{NewDiff, []string{before, after, "--fail-on", "none"}},
			{NewDiff, []string{before, after, "--fail-on", "none", "-o", "markdown"}},
			{NewWhoCan, []string{"get", "secrets", "-A", "--policies", after}},
			{NewWhatCan, []string{"--user", name, "-A", "--policies", after}},
		} {
			var out, errs bytes.Buffer
			cmd := run.command(cli.Streams{Out: &out, Err: &errs})
			cmd.SetArgs(run.args)
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				t.Fatalf("%q: %s %q: %v", name, cmd.Name(), run.args, err)
			}
			if !strings.Contains(out.String(), "mallory") && !strings.Contains(out.String(), "notice") && !strings.Contains(out.String(), "group") {
				t.Errorf("%q: %s: got %s, want the name in it", name, cmd.Name(), &out)
			}
			for line := range strings.SplitSeq(out.String()+errs.String(), "\n") {
				if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%q: %s %q: got the line %q", name, cmd.Name(), run.args, line)
				}
			}
		}
	}
}
