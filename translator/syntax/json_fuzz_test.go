package syntax

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzJSONAgrees compares the parser with that of the standard library. It accepts the
// same texts with the same values, except where it is stricter on purpose.
func FuzzJSONAgrees(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, -0.5e3, true, null, "x\u00e9\ud83d\ude00\n"]}`, `[]`, ` {} `, `"a"`, `01`, `[1,]`, `{"a":1,"a":2}`, "\"\t\"", `"\ud83d"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if _, err := Readable(content); err != nil || bytes.HasPrefix(content, []byte("---")) || bytes.HasPrefix(content, []byte("\ufeff")) {
			return
		}
		stricter := false
		var repeated flaws
		root, err := parseJSON(part{content: content, line: 1}, &repeated)
		stricter = len(repeated.by) > 0
		if err != nil {
			stricter = strings.Contains(err.Message, "nested deeper") || strings.Contains(err.Message, "surrogate") || strings.Contains(err.Message, "half")
			if json.Valid(content) && !stricter {
				t.Fatalf("%q: %s", content, err.Message)
			}
			return
		}
		if root == nil {
			if text := bytes.TrimSpace(content); len(text) > 0 && string(text) != "null" {
				t.Fatalf("%q: nothing", content)
			}
			return
		}
		var want any
		reader := json.NewDecoder(bytes.NewReader(content))
		reader.UseNumber()
		if e := reader.Decode(&want); e != nil || !json.Valid(content) {
			t.Fatalf("%q is taken: %v", content, e)
		}
		got, ok := (&Decoder{}).Value(root)
		if !ok || stricter {
			return
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if !bytes.Equal(a, b) {
			t.Fatalf("%q: got %s, want %s", content, a, b)
		}
	})
}
