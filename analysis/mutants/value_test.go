package mutants

import (
	"bytes"
	"testing"
)

// A changed document leaves the others, and all lines, where they are.
func TestWriteKeepsLines(t *testing.T) {
	for _, content := range []string{
		"a: 1\n", "# text\n\na: 1\nb:\n  - c\n---\n\n# more\nd: 2\n\n---\ne: 3", "--- {a: 1}\n--- {b: 2}\n", "--- # text\na: 1\n...\n---\nb: 2\n",
		`{"a": 1,` + "\n" + ` "c": 3}` + "\n", "---\n---\na: 1\n---\nb: 2\r\n---\r\nc: 3\r\n", "\ufeffa: 1\n---\nb: 2\n",
	} {
		documents, err := parse([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		for at, d := range documents {
			changed := clone(d)
			value{changed}.set("z", scalar("new"))
			text := write("f.yaml", []byte(content), d, changed)
			got, err := parse(text)
			if err != nil || len(got) != len(documents) {
				t.Fatalf("%q with document %d changed is %q: %v", content, at, text, err)
			}
			for i := range got {
				want := documents[i]
				if i == at {
					want = changed
				}
				var a, b bytes.Buffer
				render(&a, got[i])
				render(&b, want)
				if a.String() != b.String() || got[i].Line != documents[i].Line {
					t.Errorf("%q with document %d changed is %q: document %d is %s on line %d", content, at, text, i, a.String(), got[i].Line)
				}
			}
		}
	}
}
