package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A file is replaced as a whole: who has it open reads the former content to its end. Its mode and
// a link to it stay, and nothing else is left in the folder.
func TestWriteFileReplaces(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "base.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(path, []byte("former"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("base.json", link); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := WriteFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	former := make([]byte, 10)
	if n, _ := open.Read(former); string(former[:n]) != "former" {
		t.Errorf("the open file has %q: it was written in place", former[:n])
	}
	wantContent(t, path, "new")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("got %v, %v", entries, err)
	}
}

// A file that is a mount by itself, as containers have them, cannot be renamed over.
func TestWriteFileOfAMount(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "base.json")
	path := filepath.Join(dir, "base.json")
	for _, file := range []string{path, outside} {
		if err := os.WriteFile(file, []byte("former, and longer"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("mount", "--bind", outside, path).CombinedOutput(); err != nil {
		t.Skipf("no mount: %v, %s", err, bytes.TrimSpace(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", path).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	if err := WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	wantContent(t, outside, "new")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v", entries, err)
	}
}

// A device is written to and stays what it is.
func TestWriteFileToADevice(t *testing.T) {
	if err := WriteFile(os.DevNull, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("got %v, %v", info, err)
	}
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	if content, err := os.ReadFile(path); err != nil || string(content) != want {
		t.Errorf("%s has %q, %v, want %q", path, content, err, want)
	}
}
