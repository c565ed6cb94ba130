package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	_ "github.com/writ-policy/writ/tests/gate"
)

var update = flag.Bool("update", false, "rewrite expected output in the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"writ": main, pluginName: main, completionName: main})
}

// Each archive is a command's behaviour: its files, the command lines, and what
// they print and end with.
func TestScripts(t *testing.T) {
	runScripts(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "lines": lines, "repeat": repeat, "keypair": keypair,
		},
	})
}

// runScripts runs the scripts of a folder, or rewrites what they expect. $REPOSITORY is the
// top of the repository.
func runScripts(t *testing.T, p testscript.Params) {
	t.Helper()
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update is refused in CI")
	}
	p.UpdateScripts, p.RequireExplicitExec, p.RequireUniqueNames = *update, true, true
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		root, err := filepath.Abs("../..")
		env.Setenv("REPOSITORY", root)
		if err == nil && setup != nil {
			err = setup(env)
		}
		return err
	}
	testscript.Run(t, p)
}

// status runs writ and wants an exit status: `status 2 check nowhere`. What it
// printed is for stdout and stderr, as with exec.
func status(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 1 {
		ts.Fatalf("usage: status NUMBER ARGUMENT...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("writ", args[1:]...)
	got := 0
	if err != nil {
		number, ended := strings.CutPrefix(err.Error(), "exit status ")
		if !ended {
			ts.Fatalf("writ: %v", err)
		}
		got, err = strconv.Atoi(number)
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("got exit status %d, want %d", got, want)
	}
	for _, sign := range []string{"panic:", "goroutine "} {
		if strings.Contains(ts.ReadFile("stderr"), sign) {
			ts.Fatalf("the command panicked")
		}
	}
}

// lines wants a file, or stdout, to have a number of lines.
func lines(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: lines FILE NUMBER")
	}
	if got := fmt.Sprint(strings.Count(ts.ReadFile(args[0]), "\n")); got != args[1] {
		ts.Fatalf("%s: got %s lines, want %s", args[0], got, args[1])
	}
}

// repeat writes a text many times over: `repeat FILE NUMBER TEXT`, with \n for
// a line end.
func repeat(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 3 {
		ts.Fatalf("usage: repeat FILE NUMBER TEXT")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := []byte(strings.ReplaceAll(args[2], `\n`, "\n"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat(text, n), 0o644))
}
