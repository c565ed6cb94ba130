// Package release tests what `make release` builds.
package release

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/process"
)

// Two builds of the same sources in different folders must be equal byte by byte, state their
// version and commit, and be without templates, which would make them a fifth larger.
func TestReleaseIsReproducible(t *testing.T) {
	gate.Only(t)
	process.ReadSources(t)
	other := t.TempDir()
	copySources(t, "../..", other)
	first, second := build(t, "../.."), build(t, other)
	if !bytes.Equal(read(t, first), read(t, second)) {
		t.Error("two builds of the same sources differ")
	}
	out, err := exec.Command(first, "version").CombinedOutput()
	if err != nil {
		t.Fatalf("writ version: %v\n%s", err, out)
	}
	if want := "writ v1.2.3\ncommit 0123abc\n"; !strings.HasPrefix(string(out), want) {
		t.Errorf("got %q, want it to begin with %q", out, want)
	}
	if bytes.Contains(read(t, first), []byte("text/template.(*state).evalField")) {
		t.Error("the program can run templates, and keeps every method of its types for them: tests/bench/PROFILES.md has how to find what links them")
	}
	sums := string(read(t, filepath.Join(filepath.Dir(first), "SHA256SUMS")))
	if !strings.Contains(sums, "  "+filepath.Base(first)+"\n") {
		t.Errorf("SHA256SUMS does not name %s:\n%s", filepath.Base(first), sums)
	}
}

// build runs the release script of a source tree for this machine and returns the
// path of the binary.
func build(t *testing.T, top string) string {
	t.Helper()
	folder := t.TempDir()
	script := exec.Command("bash", filepath.Join(top, ".ci", "release.sh"), folder, runtime.GOOS+"/"+runtime.GOARCH)
	script.Env = append(os.Environ(), "VERSION=v1.2.3", "COMMIT=0123abc")
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("release.sh: %v\n%s", err, out)
	}
	return filepath.Join(folder, "writ_v1.2.3_"+runtime.GOOS+"_"+runtime.GOARCH)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// copySources copies what the command is built from.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && (rel == ".git" || rel == "bin" || rel == "tests"):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), content, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}
