package regotext

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// special are characters that a scanner of Rego, JSON or YAML may treat in a way of
// its own.
var special = []rune("\"\\/`'{}#:\x00\a\b\t\n\v\f\r\x1f\x7f\u0085\u00a0\u00ad\u200b\u200e\u2028\u2029\u202e\ufdd0\ufeff\ufffd\ufffe\uffff\U0001f600\U000e0001\U0010ffff")

func randomText(random *rand.Rand) string {
	var text strings.Builder
	for range random.IntN(12) {
		switch random.IntN(4) {
		case 0:
			text.WriteRune(special[random.IntN(len(special))])
		case 1:
			text.WriteRune(rune(random.IntN(0x100)))
		case 2:
			text.WriteRune(rune(random.IntN(0x110000))) // surrogates become U+FFFD
		default:
			text.WriteByte("abc ${}"[random.IntN(7)])
		}
	}
	return text.String()
}

// TestParserReadsTheSameText writes random text at each place that generated modules
// have, and reads the module again.
func TestParserReadsTheSameText(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 3000 {
		text := randomText(random)
		if i < len(special) {
			text = "a" + string(special[i]) + "b"
		}
		source := fmt.Sprintf("# %s\n# METADATA\n# description: %s\npackage a\n\nb := %s\n\nc := %s\n\nd := %s\n",
			Comment(text), Metadata(text), Quote(text), Constant([]string{text}), Indented([]string{text}))
		module, err := ast.ParseModuleWithOpts("a.rego", source, ast.ParserOptions{ProcessAnnotation: true})
		if err != nil {
			t.Fatalf("%q: %v\n%s", text, err, source)
		}
		want := ast.NewTerm(ast.String(text))
		for rule, want := range map[int]*ast.Term{0: want, 1: ast.ArrayTerm(want), 2: ast.ArrayTerm(want)} {
			if got := module.Rules[rule].Head.Value; !got.Equal(want) {
				t.Fatalf("%q: rule %d is %s, want %s", text, rule, got, want)
			}
		}
		if len(module.Rules) != 3 || len(module.Annotations) != 1 {
			t.Fatalf("%q: %d rules and %d annotations", text, len(module.Rules), len(module.Annotations))
		}
		if got := module.Annotations[0].Description; got != text {
			t.Fatalf("description %q, want %q", got, text)
		}
	}
}

func TestQuoteEscapesWhatDoesNotPrint(t *testing.T) {
	for text, want := range map[string]string{
		"é<&>😀":         `"é<&>😀"`,
		"\x7f\ufeff":    `"\u007f\ufeff"`,
		"\U000e0001":    `"\udb40\udc01"`,
		"a\"b\\c\n\x01": `"a\"b\\c\n\u0001"`,
		"\xff":          `"` + "\ufffd" + `"`,
	} {
		if got := Quote(text); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got, want := Metadata("\U000e0001"), `"\U000e0001"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
