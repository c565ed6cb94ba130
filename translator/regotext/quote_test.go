package regotext

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Whatever a document says, it stays the text it was in Rego source.
func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"", "plain", `"`, `\`, "\a\x00\x1b", "a\nb", "\u2028\u2029", "`", "${x}", "ä\U0001F600", "</script>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?") // documents are UTF-8
		module, err := ast.ParseModuleWithOpts("x.rego", "package x\n\nv := "+Quote(text)+"\n", ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if len(module.Rules) != 1 {
			t.Fatalf("%q: got %d rules, want 1", text, len(module.Rules))
		}
		if got := module.Rules[0].Head.Value.Value; got.Compare(ast.String(text)) != 0 {
			t.Fatalf("got %v, want %q", got, text)
		}
	})
}
