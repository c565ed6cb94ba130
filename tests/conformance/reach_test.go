package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// whole is an expect.json: of paths, or of a smaller directory where the folder has a log.
type whole struct {
	About string         `json:"about"`
	Paths []expectedPath `json:"paths"`
	None  []expectedPath `json:"none"`

	// Gone and Kept are files and texts, the other two are files.
	Gone      [][2]string `json:"gone"`
	Kept      [][2]string `json:"kept"`
	Unchanged []string    `json:"unchanged"`
	Deleted   []string    `json:"deleted"`
	// Minimal is false where something is protected, which judges that take grants away must
	// know; writ proves it itself.
	Minimal *bool `json:"minimal"`
}

// expectedPath is a pair that has a path of a class and a length, or none of a class.
type expectedPath struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Class string `json:"class"`
	Hops  int    `json:"hops"`
}

func testWhole(t *testing.T, folder string) int {
	text, err := os.ReadFile(filepath.Join(folder, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want whole
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "log.jsonl")); err == nil {
		want.testShrink(t, folder)
		return 1
	}
	for _, p := range want.Paths {
		if class, hops := bestPath(t, folder, p); class != p.Class || hops != p.Hops {
			t.Errorf("%s reaches %s: got %q in %d hops, want %s in %d", p.From, p.To, class, hops, p.Class, p.Hops)
		}
	}
	for _, p := range want.None {
		if class, hops := bestPath(t, folder, p); class != "" {
			t.Errorf("%s reaches %s: %s in %d hops", p.From, p.To, class, hops)
		}
	}
	return len(want.Paths) + len(want.None)
}

// bestPath returns the class and the length of the path of a pair, of its class or a better one
// if it states one. The command decides each hop by its engine.
func bestPath(t *testing.T, folder string, p expectedPath) (class string, hops int) {
	t.Helper()
	arguments := []string{"reach", filepath.Join(folder, "policies"), "--from", p.From, "--to", p.To, "-o", "json"}
	if p.Class != "" {
		arguments = append(arguments, "--class", p.Class)
	}
	out, talk, _ := start(t, nil, arguments...)
	var report struct {
		Paths []struct {
			Class string `json:"class"`
			Hops  []any  `json:"hops"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v: %s%s", err, out, talk)
	}
	if len(report.Paths) == 0 {
		return "", 0
	}
	return report.Paths[0].Class, len(report.Paths[0].Hops)
}

// testShrink makes a copy of a directory smaller: what the case names goes or stays, the proof
// holds, and a second run changes nothing.
func (want *whole) testShrink(t *testing.T, folder string) {
	dir, before := t.TempDir(), os.DirFS(filepath.Join(folder, "policies"))
	if err := os.CopyFS(dir, before); err != nil {
		t.Fatal(err)
	}
	shrink := func() string {
		out, talk, status := start(t, nil, "shrink", "--log", filepath.Join(folder, "log.jsonl"), "--min-events", "0", "--min-days", "0", "--grace", "0", "--holdout", "0", dir)
		if status != 0 {
			t.Fatalf("exit status %d: %s%s", status, out, talk)
		}
		return out
	}
	first := shrink()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%v\n%s", err, first)
		}
		return string(text)
	}
	for _, gone := range want.Gone {
		if strings.Contains(read(gone[0]), gone[1]) {
			t.Errorf("%s has %q\n%s", gone[0], gone[1], first)
		}
	}
	for _, kept := range want.Kept {
		if !strings.Contains(read(kept[0]), kept[1]) {
			t.Errorf("%s lacks %q\n%s", kept[0], kept[1], first)
		}
	}
	for _, name := range want.Unchanged {
		old, err := os.ReadFile(filepath.Join(folder, "policies", name))
		if err != nil || read(name) != string(old) {
			t.Errorf("%s differs (%v)\n%s", name, err, first)
		}
	}
	for _, name := range want.Deleted {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is there\n%s", name, first)
		}
	}
	if second := shrink(); !strings.Contains(second, "Nothing to do") {
		t.Errorf("a second time: %s", second)
	}
}
