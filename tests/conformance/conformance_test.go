// Package conformance runs the cases of this folder through the built command.
package conformance

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// writ is the command under test.
var writ = os.Getenv("WRIT")

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run is apart from TestMain because os.Exit would leave the folder behind.
func run(m *testing.M) int {
	if writ == "" {
		folder, err := os.MkdirTemp("", "writ")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		writ = filepath.Join(folder, "writ")
		build := exec.Command("go", "build", "-o", writ, "../../cmd/writ")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build writ: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// forms are the files that make a folder a suite.
var forms = map[string]func(t *testing.T, folder string) int{
	"cases.jsonl":    testCases,
	"discover.jsonl": testDiscover,
	"expect.jsonl":   testExpect,
}

func TestConformance(t *testing.T) {
	suites := map[string][]string{} // folder to files
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && forms[entry.Name()] != nil {
			folder := filepath.Dir(path)
			suites[folder] = append(suites[folder], entry.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, folder := range slices.Sorted(maps.Keys(suites)) {
		t.Run(filepath.ToSlash(folder), func(t *testing.T) {
			for _, file := range suites[folder] {
				found := forms[file](t, folder)
				if found == 0 {
					t.Errorf("%s has no cases", file)
				}
				cases += found
			}
		})
	}
	if cases == 0 {
		t.Error("no cases at all")
	}
	t.Logf("%d cases", cases)
}
