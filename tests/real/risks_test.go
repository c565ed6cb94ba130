package real

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/lint/risk"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
)

// Every finding is true: the engine allows its request to each of its subjects, and
// names the same line if it names the binding.
func TestFindingsAreAllowed(t *testing.T) {
	projects, err := filepath.Glob(filepath.Join(*documents, strings.Repeat("*/", *depth)))
	if err != nil || len(projects) == 0 {
		t.Fatalf("got no projects below %s: %v", *documents, err)
	}
	findings := make(map[string]int)
	for _, project := range projects {
		t.Run(filepath.Base(project), func(t *testing.T) {
			if info, err := os.Stat(project); err != nil || !info.IsDir() {
				t.Skip("not a directory")
			}
			snapshot, list, err := source.Dir(project, source.DirOptions{}).Snapshot(t.Context())
			if err != nil || len(list) > 0 {
				t.Fatal(err, list)
			}
			if confirm(t, findings, project, snapshot) {
				return
			}
			// A repository has variants of one installation: each file is one alone.
			for _, file := range snapshot.Files {
				confirm(t, findings, file.Path, source.Snapshot{Files: []source.File{file}})
			}
		})
	}
	total := 0
	for _, code := range slices.Sorted(maps.Keys(findings)) {
		t.Logf("%4d %s", findings[code], code)
		total += findings[code]
	}
	t.Logf("%4d findings in %d projects", total, len(projects))
}

// confirm asks for what the findings in documents claim. It returns false for
// documents with errors.
func confirm(t *testing.T, findings map[string]int, path string, snapshot source.Snapshot) bool {
	t.Helper()
	own := settings.Settings{
		settings.DefaultNamespace: {Text: "default"}, settings.BootstrapRoles: {Text: "kubernetes"}, settings.ClusterExport: {Text: "true"},
	}
	result, _ := translator.New(translator.Options{AllowEmpty: true, Settings: own}).Translate(t.Context(), snapshot)
	if result == nil {
		return false
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), b, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := risk.Of(t.Context(), statement.Of(e))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		findings[string(found[i].Code)]++
		confirmFinding(t, e, path, &found[i])
	}
	return true
}

func confirmFinding(t *testing.T, e *engine.Engine, path string, f *risk.Finding) {
	t.Helper()
	for _, principal := range f.Subjects {
		request := maps.Clone(f.Example)
		delete(request, "groups")
		asked, _ := statement.RequestOf(statement.PointAccess, []string{principal})
		if request["user"] = asked.User; len(asked.Groups) > 0 {
			request["groups"] = asked.Groups
		}
		text, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		q, err := decision.Decode[decision.Request](text)
		if err != nil {
			t.Errorf("%s: %s of %s: %s: %v", path, f.Code, f.Binding, text, err)
			continue
		}
		d := e.Access(t.Context(), q)
		if f.Condition != "" && !d.Allowed && len(d.Warnings) > 0 {
			continue // the warning names the condition
		}
		if !d.Allowed || len(d.Matched) == 0 {
			t.Errorf("%s: %s of %s: %s is decided %s", path, f.Code, f.Binding, text, d.AppendJSON(nil))
			continue
		}
		if m := &d.Matched[0]; m.Name == f.Binding.Name && m.Namespace == f.Binding.Namespace && m.Place() != f.Binding.Source {
			t.Errorf("%s: %s of %s is at %s, and the engine names %s", path, f.Code, f.Binding, f.Binding.Source, m.Place())
		}
	}
}
