// Package conformance runs the cases of this folder through the commands of writ, some of them
// by the built command.
package conformance

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	_ "github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/process"
)

// writ is the command under test: the one that the environment names, or this
// repository's.
func writ(t *testing.T) string {
	if path := os.Getenv("WRIT"); path != "" {
		return path
	}
	return process.Writ(t)
}

// forms are the files that make a folder a suite.
var forms = map[string]func(t *testing.T, folder string) int{
	"cases.jsonl":    testCases,
	"discover.jsonl": testDiscover,
	"expect.jsonl":   testExpect,
	"expect.json":    testWhole,
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
	var cases atomic.Int64
	t.Cleanup(func() { // the suites run in parallel, after this function returns
		if cases.Load() == 0 {
			t.Error("no cases found")
		}
		t.Logf("%d cases", cases.Load())
	})
	for _, folder := range slices.Sorted(maps.Keys(suites)) {
		t.Run(filepath.ToSlash(folder), func(t *testing.T) {
			t.Parallel()
			for _, file := range suites[folder] {
				found := forms[file](t, folder)
				if found == 0 {
					t.Errorf("%s has no cases", file)
				}
				cases.Add(int64(found))
			}
		})
	}
}
