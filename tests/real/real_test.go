// Package real runs the built command over directories of documents that other projects
// publish, which are not part of the repository: make real REAL=DIR.
package real

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/process"
	"github.com/writ-policy/writ/translator/source"
)

var (
	command   = flag.String("writ", "", "the built command; without one it is built")
	documents = flag.String("real", filepath.Join("..", "..", "examples"), "a directory whose folders are projects")
	depth     = flag.Int("depth", 1, "how many folders above a project there are below the directory")
)

// report is what is read of the output of writ check.
type report struct {
	Diagnostics []struct {
		File, Severity, Code, Message string
		Line                          int
	} `json:"diagnostics"`
	Errors  int               `json:"errors"`
	Skipped []json.RawMessage `json:"skipped"`
}

// asExported are the flags for documents that lack what a cluster fills in.
var asExported = []string{"--default-namespace", "default", "--bootstrap-roles", "kubernetes", "--cluster-export"}

// together are codes of errors that files have only beside each other: a repository may
// have several variants of one installation, and folders without policy.
var together = []string{"duplicate", "no-documents"}

func TestRealDocuments(t *testing.T) {
	writ := build(t)
	projects, err := filepath.Glob(filepath.Join(*documents, strings.Repeat("*/", *depth)))
	if err != nil || len(projects) == 0 {
		t.Fatalf("got no projects below %s: %v", *documents, err)
	}
	files := 0
	for _, project := range projects {
		t.Run(filepath.Base(project), func(t *testing.T) {
			files += checkFiles(t, writ, project)
			whole := check(t, writ, append([]string{project}, asExported...)...)
			counts := map[string]int{}
			for _, d := range whole.Diagnostics {
				if d.Severity != "error" {
					continue
				}
				counts[d.Code]++
				if !slices.Contains(together, d.Code) {
					t.Errorf("%s:%d: %s: %s", d.File, d.Line, d.Code, d.Message)
				}
			}
			t.Logf("together: %d errors %v, %d skipped", whole.Errors, counts, len(whole.Skipped))
		})
	}
	if files == 0 {
		t.Fatal("got no files")
	}
	t.Logf("%d files in %d projects", files, len(projects))
}

// checkFiles checks each file of a project alone, and returns how many there are.
func checkFiles(t *testing.T, writ, project string) (files int) {
	t.Helper()
	err := filepath.WalkDir(project, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !source.IsDocument(path) || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		files++
		for _, d := range check(t, writ, append([]string{path}, asExported...)...).Diagnostics {
			if d.Severity == "error" {
				t.Errorf("%s:%d: %s: %s", path, d.Line, d.Code, d.Message)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

func check(t *testing.T, writ string, args ...string) (r report) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(writ, append([]string{"check", "-o", "json"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the report has the findings
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("writ check %v: %v: %s", args, err, &errs)
	}
	return r
}

// build returns the path of the command.
func build(t *testing.T) string {
	t.Helper()
	if *command != "" {
		path, err := filepath.Abs(*command)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	return process.Writ(t)
}
