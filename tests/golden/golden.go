// Package golden compares what tests make with files that people have read.
package golden

import (
	"bytes"
	"os"
	"testing"
)

// Compare fails the test unless a file has the content. With isUpdate it writes the file, which CI
// refuses: the difference has to be read. The failure shows the first line that differs.
func Compare(t *testing.T, path string, got []byte, isUpdate bool) {
	t.Helper()
	if isUpdate {
		if os.Getenv("CI") != "" {
			t.Fatal("-update is refused in CI")
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if line, one, other, differ := firstDifference(got, want); differ {
		t.Fatalf("%s:%d: got\n%s\nwant\n%s\nrun with -update and read the difference", path, line, one, other)
	}
}

// firstDifference returns the number of the first line that differs, from 1, and both lines.
func firstDifference(got, want []byte) (line int, one, other []byte, differ bool) {
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(gotLines), len(wantLines)) {
		one, other = []byte("(no line)"), []byte("(no line)")
		if i < len(gotLines) {
			one = gotLines[i]
		}
		if i < len(wantLines) {
			other = wantLines[i]
		}
		if i >= min(len(gotLines), len(wantLines)) || !bytes.Equal(one, other) {
			return i + 1, one, other, true
		}
	}
	return 0, nil, nil, false
}
