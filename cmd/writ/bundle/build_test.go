package bundle

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe stays one, as /dev/null must: a bundle is written to it, and not in its place.
func TestBundleIsWrittenToAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0) // it does not wait for the other end
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	err = writeAtomically(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "bundle")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Fatalf("got %v, %v, want a pipe", info.Mode(), err)
	}
	got := make([]byte, len("bundle"))
	if _, err := io.ReadFull(pipe, got); err != nil || string(got) != "bundle" {
		t.Errorf("got %q, %v, want %q", got, err, "bundle")
	}
}
