package changes

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// oldBundle writes a bundle as versions did that had no table of deny policies.
func oldBundle(t *testing.T, path string) {
	t.Helper()
	document := `{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}}`
	result, list := translator.New(translator.Options{}).Translate(t.Context(), source.Snapshot{Files: []source.File{source.NewFile("d.yaml", []byte(document))}})
	if result == nil {
		t.Fatal(list)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(result.Data.Bytes(), &members); err != nil || members["deny_tables"] == nil {
		t.Fatalf("got %v and tables %s, want one of deny policies", err, result.Data.Bytes())
	}
	delete(members, "deny_tables")
	data, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	result.Data = tables.TextOf(data)
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := errors.Join(b.WriteTar(&out), os.WriteFile(path, out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A comparison that is not possible is an error with a code, on both streams.
func TestErrorsHaveCodes(t *testing.T) {
	bundle := filepath.Join(t.TempDir(), "old.tar.gz")
	oldBundle(t, bundle)
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := NewDiff(cli.Streams{Out: &out, Err: &bytes.Buffer{}})
		cmd.SetArgs(args)
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	out, err := run(bundle, bundle, "-o", "json")
	if err == nil || !strings.HasPrefix(err.Error(), "bundle-without-tables: ") || !strings.Contains(out, `"code": "bundle-without-tables"`) {
		t.Errorf("got %v and %s, want bundle-without-tables", err, out)
	}
	if _, err := run(bundle, bundle, "--limit", "-1", "-o", "markdown"); err == nil || !strings.Contains(err.Error(), "--limit must not be below 0") {
		t.Errorf("got %v, want an error of --limit", err)
	}
	var written bytes.Buffer
	err = reportError(cli.Streams{Out: &written}, "json", &diff.DisagreementError{Request: "{}", Class: "none -> allow", Decided: "none -> none"})
	if err == nil || !strings.HasPrefix(err.Error(), "disagreement: ") || !strings.Contains(written.String(), `"code": "disagreement"`) {
		t.Errorf("got %v and %s, want disagreement", err, &written)
	}
}
