package edit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// change applies what becomes of the items of a list, by the path of fields to it.
func change(t *testing.T, name, text, path string, items []Item) string {
	t.Helper()
	f, err := Open(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	n := f.Parts[0].Root
	key := n
	for step := range strings.SplitSeq(path, ".") {
		field := n.Find(step, false)
		if field == nil {
			n = n.Items[0]
			continue
		}
		key, n = field.Key, field.Value
	}
	cuts, err := f.List(key, n, items)
	if err != nil {
		return err.Error()
	}
	return string(f.Apply(0, len(f.Text), cuts))
}

func TestList(t *testing.T) {
	gone, stays := Item{Drop: true}, Item{}
	to := func(values ...string) Item { return Item{Values: values} }
	tests := []struct {
		name, file, text, path string
		items                  []Item
		want                   string
	}{
		{"flow, the first", "a.yaml", "a: [x, y, z] # c\n", "a", []Item{gone, stays, stays}, "a: [y, z] # c\n"},
		{"flow, the last two", "a.yaml", "a: [x, y, z]\n", "a", []Item{stays, gone, gone}, "a: [x]\n"},
		{"flow, the middle", "a.yaml", "a: [ x , y , z ]\n", "a", []Item{stays, gone, stays}, "a: [ x , z ]\n"},
		{"flow, all", "a.yaml", "a: [x, y] # c\n", "a", []Item{gone, gone}, "a: [] # c\n"},
		{"flow over lines", "a.yaml", "a: [x, 'y',\n    z]\n", "a", []Item{stays, stays, gone}, "a: [x, 'y']\n"},
		{"flow over lines, the end of a line", "a.yaml", "a: [x, y,\n    z]\n", "a", []Item{stays, gone, stays}, "a: [x,\n    z]\n"},
		{"a trailing comma", "a.yaml", "a: [\n  x,\n  y, # why\n]\n", "a", []Item{stays, gone}, "a: [\n  x,\n]\n"},
		{"quotes and brackets", "a.yaml", "a: [\"x,]\", 'it''s', z]\n", "a", []Item{stays, gone, stays}, "a: [\"x,]\", z]\n"},
		{"a star", "a.yaml", "a: [\"*\"]\n", "a", []Item{to("get", "list")}, "a: [get, list]\n"},
		{"a star among quotes", "a.yaml", "a: ['x', '*']\n", "a", []Item{stays, to("get", "on")}, "a: ['x', 'get', \"on\"]\n"},
		{"the empty value", "a.yaml", "a: ['*']\n", "a", []Item{to("", "apps")}, "a: [\"\", apps]\n"},
		{"block with comments", "a.yaml", "a:\n# of x\n- x # x\n# of y\n# again\n- y # y\n# of z\n- z\nb: 1\n", "a", []Item{stays, gone, stays}, "a:\n# of x\n- x # x\n# of z\n- z\nb: 1\n"},
		{"block, all", "a.yaml", "a: # c\n  - x\n  - y\nb: 1\n", "a", []Item{gone, gone}, "a: [] # c\nb: 1\n"},
		{"block, a star", "a.yaml", "a:\n  - '*' # all\n  - x\n", "a", []Item{to("get", "list"), stays}, "a:\n  - get # all\n  - list\n  - x\n"},
		{"block, CR LF", "a.yaml", "a:\r\n- x\r\n- \"*\"\r\n", "a", []Item{gone, to("p", "q")}, "a:\r\n- p\r\n- q\r\n"},
		{"block without a newline at the end", "a.yaml", "a:\n- x\n- '*'", "a", []Item{stays, to("p", "q")}, "a:\n- x\n- p\n- q"},
		{"block of mappings", "a.yaml", "a:\n- b: 1\n  c:\n  - 2\n\n- b: 3\n", "a", []Item{gone, stays}, "a:\n\n- b: 3\n"},
		{"JSON", "a.json", "{\n\t\"a\": [\n\t\t\"x\",\n\t\t\"*\"\n\t]\n}\n", "a", []Item{gone, to("p", "q")}, "{\n\t\"a\": [\n\t\t\"p\",\n\t\t\"q\"\n\t]\n}\n"},
		{"JSON, the last", "a.json", "{\"a\": [\n \"x\",\n \"y\"\n]}", "a", []Item{stays, gone}, "{\"a\": [\n \"x\"\n]}"},
		{"fields of a mapping", "a.yaml", "a:\n  x: 1\n  # of y\n  y:\n    z: 2\n  w: 3\n", "a", []Item{stays, gone, stays}, "a:\n  x: 1\n  w: 3\n"},
		{"fields between braces", "a.yaml", "a: {x: 1, y: {z: 2}}\n", "a", []Item{stays, gone}, "a: {x: 1}\n"},
		{"an alias", "a.yaml", "b: &l [x, y]\na: *l\n", "a", []Item{gone, stays}, "a.yaml:1: the text cannot be changed in place"},
		{"a list in a list", "a.yaml", "a:\n- - x\n  - y\n", "a.0", []Item{gone, stays}, "a.yaml:2: the text cannot be changed in place"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := change(t, test.file, test.text, test.path, test.items); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// A document goes with its marker and the comments directly above it.
func TestDropPart(t *testing.T) {
	const text = "# License\n\n# of a\na: 1\n---\n# of b\nb: 1\n# of c\n---\nc: 1 # c\n"
	for index, want := range map[int]string{
		0: "# License\n\n---\n# of b\nb: 1\n# of c\n---\nc: 1 # c\n",
		1: "# License\n\n# of a\na: 1\n---\n# of c\n---\nc: 1 # c\n",
		2: "# License\n\n# of a\na: 1\n---\n# of b\nb: 1\n# of c\n",
	} {
		f, err := Open("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.Apply(0, len(f.Text), []Cut{f.DropPart(index)})); got != want {
			t.Errorf("%d: got\n%s\nwant\n%s", index, got, want)
		}
	}
}

// git apply makes the new text of the old one, whatever changes.
func TestPatchIsThatOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	var long strings.Builder
	for i := range 60 {
		long.WriteString(strings.Repeat("x", i) + "\n")
	}
	const name = "in/a b.yaml"
	for _, test := range []struct{ before, after string }{
		{"a\nb\nc\n", "a\nc\n"},
		{"a\nb", "a\nb\nc"},
		{"a\nb\n", "a\nb"},
		{"a\r\nb\r\n", "b\r\nc\r\n"},
		{"a\n", ""},
		{long.String(), strings.Replace(strings.Replace(long.String(), "xxxxx\n", "y\n", 1), strings.Repeat("x", 50)+"\n", "", 1)},
		{"a\nb\na\nb\na\n", "b\na\na\nc\n"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(test.before), 0o600); err != nil {
			t.Fatal(err)
		}
		after := []byte(test.after)
		if test.after == "" {
			after = nil
		}
		cmd := exec.Command("git", "apply", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(Patch(name, []byte(test.before), after))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q to %q: %v %s", test.before, test.after, err, out)
			continue
		}
		got, _ := os.ReadFile(path) // it may be deleted
		if string(got) != test.after {
			t.Errorf("%q: got %q, want %q", test.before, got, test.after)
		}
	}
}
