package cli

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// YAML for people reads as what was written, and has nothing that acts on a terminal.
func TestWriteYAML(t *testing.T) {
	want := map[string]any{"a\u202eb": "x\n::stop-commands::y", "\x1b[2J": "\u009b\u2028\U000e0041\x00", "::k": "##[group]x", "rego": "allow if {\n\ttrue\n}\n", "n": 7, "tabs": "a\tb"}
	var out strings.Builder
	if err := WriteYAML(&out, want, want); err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(out.String(), "\n---\n")
	for _, document := range documents {
		var got map[string]any
		if err := yaml.Unmarshal([]byte(document), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, %v, want %q from %s", got, err, want, document)
		}
	}
	if len(documents) != 2 || !strings.Contains(out.String(), "rego: |\n  allow if {\n  \ttrue\n") {
		t.Errorf("got %s, want two documents, with lines", &out)
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(out.String(), "\t", " "), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("got the line %q", line)
		}
	}
}
