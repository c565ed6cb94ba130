package syntax

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Objects that follow each other, as tools print them, are documents of their own, each at
// its position.
func TestObjectsThatFollowEachOther(t *testing.T) {
	tests := []struct {
		name, file, text string
		want             []string // line:column of each root
		failed           string   // line:column and message of the first error
	}{
		{"on lines", "a.json", "{\n  \"a\": 1\n}\n{\"b\": \"}{\"}\n", []string{"1:1", "4:1"}, ""},
		{"on one line", "a.json", "{\"ä\": {}}{} {\"b\": []}", []string{"1:1", "1:10", "1:13"}, ""},
		{"in a file of YAML", "a.yaml", "{\"a\": 1}\n\n  {\"b\": 2}\n---\nc: 3\n", []string{"1:1", "3:3", "5:1"}, ""},
		{"after a marker", "a.json", "--- {\"a\": 1} {\"b\": 2}\r\n{}", []string{"1:5", "1:14", "2:1"}, ""},
		{"the second is broken", "a.yaml", "{\"a\": 1}\n {\"b\": 2,}\n{}", []string{"1:1"}, "2:10 not JSON: "},
		{"the last is not closed", "a.json", "{}\n{\"a\": 1", []string{"1:1"}, "2:8 not JSON: "},
		{"a comma between them", "a.json", "{},\n{}", nil, "1:3 not JSON: "},
		{"a list after an object", "a.json", "{}\n[]", nil, "2:1 not JSON: "},
		{"braces in YAML's quotes", "a.yaml", "{a: '} {'}", []string{"1:1"}, ""},
		{"a brace in a JSON text", "a.json", "{\"a\": \"} {\"}", []string{"1:1"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			roots, errs := read(t, test.file, test.text)
			var got []string
			for _, root := range roots {
				got = append(got, fmt.Sprintf("%d:%d", root.Line, root.Column))
			}
			if strings.Join(got, " ") != strings.Join(test.want, " ") {
				t.Errorf("got roots at %v, want %v", got, test.want)
			}
			failed := ""
			if len(errs) > 0 {
				failed = fmt.Sprintf("%d:%d %s", errs[0].Line, errs[0].Column, errs[0].Message)
			}
			if !strings.HasPrefix(failed, test.failed) || test.failed == "" && failed != "" {
				t.Errorf("got error %q, want %q", failed, test.failed)
			}
		})
	}
}

// The time to cut objects grows with their number, not with its square.
func TestManyObjectsThatFollowEachOther(t *testing.T) {
	const objects = 1 << 20
	begin := time.Now()
	parts := cutObjects("a.json", []part{{content: []byte(strings.Repeat("{}", objects)), line: 1}})
	if len(parts) != objects || parts[objects-1].before != 2*(objects-1) {
		t.Errorf("got %d parts", len(parts))
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}
