package kubernetes

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is committed is what the library of this version gives: go run ./export
// writes it anew.
func TestBootstrapIsCommitted(t *testing.T) {
	files, err := Bootstrap()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("testdata", "default")
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what Kubernetes gives; run: go run ./export", name)
		}
		if !bytes.Contains(want, []byte("\nkind: ")) {
			t.Errorf("%s holds no documents", name)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != len(files) {
		t.Errorf("got %d files (%v), want %d", len(entries), err, len(files))
	}
}
