package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var project = flag.String("project", "", "folder of argo-cd's published RBAC documents, of whose history the reports are compared")

// A history is a repository of policies: its commits, and for each the report of writ diff
// as a reviewer would read it.
func TestHistories(t *testing.T) {
	runScripts(t, testscript.Params{
		Dir:       "testdata/history",
		Condition: func(name string) (bool, error) { return name == "project" && *project != "", nil },
		Setup: func(env *testscript.Env) error {
			env.Setenv("PROJECT", *project)
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": startHistory, "replace": replace, "commit": commit,
		},
	})
}

// startHistory makes a repository whose first commit has the documents of a folder:
// `start FOLDER`.
func startHistory(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: start FOLDER")
	}
	ts.Check(os.CopyFS(ts.MkAbs("policies"), os.DirFS(args[0])))
	ts.Check(ts.Exec("git", "init", "-q"))
	gitCommit(ts, "The policies")
}

// replace replaces a text of a file wherever it stands: `replace FILE OLD [NEW]`, with \n for a
// line end and \t for a tab.
func replace(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD [NEW]")
	}
	args = append(args, "")
	escapes := strings.NewReplacer(`\n`, "\n", `\t`, "\t")
	text, old := ts.ReadFile(args[0]), escapes.Replace(args[1])
	if !strings.Contains(text, old) {
		ts.Fatalf("%s does not contain %q", args[0], old)
	}
	text = strings.ReplaceAll(text, old, escapes.Replace(args[2]))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// commit commits all files and compares the revision with the one before, and wants an exit
// status: `commit STATUS MESSAGE`.
func commit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: commit STATUS MESSAGE")
	}
	gitCommit(ts, args[1])
	status(ts, false, []string{args[0], "diff", "HEAD~1..HEAD", "policies"})
}

func gitCommit(ts *testscript.TestScript, message string) {
	ts.Check(ts.Exec("git", "add", "policies"))
	ts.Check(ts.Exec("git", "-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-qm", message))
}
