package syntax

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fragments are lines that documents are made of: what one document could state for the next, what ends
// in another place than its document, and mistakes.
var fragments = []string{
	"a: b", "a: b", "c: [d, e]", "- f", "  - g", "  h: {i: j}", "k: |", "  text", "  ---", "l: >-", `m: "n`, `o"`, "p: 'q", "r: [s,", "t]", "]", "u: {v: w", "}",
	"a: &x 1", "b: *x", "<<: *x", "%YAML 1.1", "%TAG !e! tag:e,2000:", "c: !e!f g", "d: !!str 1", "# comment", "  # inner", "", "\t", "?", ": y", "? z", "text", `"text"`, "-", "- - -",
	"e: \u00e9", "{}", "[]", "~", "!", "@", "`", "f: @g", "h: `", "\"\\ud83d\\ude00\"", "--", "----", ". ..", "x: %", "x: a & b", "x: a * b",
}

// documents are whole ones.
var documents = []string{
	"a: b\n", "- c\n- d\n", "# head\ne: {f: g} # line\n# foot\n", "text\n", "i: |\n  j\n\n\n", "k: \"l\n  m\"\n", "n:\n# o\n  p: q\n  # r\n\n  # s\n",
	"t: >+\n  u\n\n", "[v,\n# w\n x]\n", "- # y\n  z: 1\n# foot\n\n# foot\n", "? a\n: b\n", "a:\n- b\n# c\n- d\ne: !!str f\n", "{a: b}\n", "a: |\n", "a: *\n", "a: 'b''c'\r\nd: e\r\n",
}

var markers = []string{"---\n", "---\n", "---\n", "---\n", "--- ", "---\t", "...\n", "--- # c\n", "---\r\n", "...\n%YAML 1.2\n---\n", "----\n", "---\r"}

// Parts that are parsed together are what a parser for each makes of them, mistakes and their places
// included.
func TestTogetherIsAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	together := 0
	for range 10000 {
		var text strings.Builder
		for range 1 + random.IntN(5) {
			if random.IntN(4) > 0 {
				text.WriteString("---\n" + documents[random.IntN(len(documents))])
				continue
			}
			text.WriteString(markers[random.IntN(len(markers))])
			for range random.IntN(4) {
				text.WriteString(fragments[random.IntN(len(fragments))] + "\n")
			}
		}
		content := text.String()
		if random.IntN(4) == 0 {
			content = strings.TrimSuffix(content, "\n")
		}
		parts, err := split([]byte(content))
		if err != nil {
			continue
		}
		parts = cutObjects("f.yaml", parts)
		alone := rootsOf(parts)
		parseTogether(parts)
		for i := range parts {
			if parts[i].parsed != nil {
				together++
			}
		}
		if got := rootsOf(parts); !reflect.DeepEqual(got, alone) {
			t.Fatalf("%q: together %+v, alone %+v", content, got, alone)
		}
	}
	if together < 5000 {
		t.Errorf("%d parts were parsed together", together)
	}
}

// parsed is what a part was parsed to.
type parsed struct {
	root  *Node
	err   *syntaxError
	found []flaw
}

func rootsOf(parts []part) []parsed {
	out := make([]parsed, len(parts))
	for i, p := range parts {
		var found flaws
		out[i].root, out[i].err = parse("f.yaml", p, &found)
		for _, list := range found.by {
			out[i].found = append(out[i].found, list...)
		}
		slices.SortFunc(out[i].found, func(a, b flaw) int {
			return cmp.Or(a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Message, b.Message))
		})
	}
	return out
}
