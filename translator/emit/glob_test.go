package emit

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

func TestGlob(t *testing.T) {
	for name, row := range map[string]struct {
		pattern   string
		fits, not []string
	}{
		"literal":            {"prod-eu.1", []string{"prod-eu.1"}, []string{"prod-eux1", ""}},
		"star alone":         {"*", []string{"", "a", "a/b"}, nil},
		"prefix":             {"prod-*", []string{"prod-", "prod-eu.1"}, []string{"prod-a/b", "xprod-", "Prod-a"}},
		"suffix":             {"*-db", []string{"-db", "a-db"}, []string{"a/b-db", "a-dbx"}},
		"both ends":          {"a*a", []string{"aa", "aba"}, []string{"a", "ab"}},
		"question mark":      {"v?", []string{"v1"}, []string{"v", "v12", "v/"}},
		"class":              {"[a-c]x", []string{"ax", "cx"}, []string{"dx", "x"}},
		"negated class":      {"[^a-c]x", []string{"dx"}, []string{"ax"}},
		"escaped":            {`\*`, []string{"*"}, []string{"a", `\*`}},
		"escaped in class":   {`[\]]`, []string{"]"}, []string{`\`, "a"}},
		"hyphen in class":    {`[a\-z]`, []string{"a", "-", "z"}, []string{"b"}},
		"what RE2 would eat": {"(a|b)+$", []string{"(a|b)+$"}, []string{"a", "ab"}},
		"newline":            {"a*b", []string{"a\nb"}, nil},
		"not ASCII":          {"ä?", []string{"äö"}, []string{"ä"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := parseGlob(row.pattern)
			fits := func(value string) bool {
				if g.star && g.prefix == "" && g.suffix == "" {
					return true
				}
				return g.literal && value == g.prefix || !g.literal && g.matches(value)
			}
			for _, value := range row.fits {
				if !fits(value) {
					t.Errorf("%q does not fit %q, by %s", value, row.pattern, g.expression)
				}
			}
			for _, value := range row.not {
				if fits(value) {
					t.Errorf("%q fits %q, by %s", value, row.pattern, g.expression)
				}
			}
			if sample := sampleGlob(row.pattern); !fits(sample) {
				t.Errorf("the sample %q does not fit %q", sample, row.pattern)
			}
		})
	}
}

// Whatever the pattern, its conditions are Rego, and its expression is RE2.
func FuzzGlob(f *testing.F) {
	for _, seed := range []string{"*", "a*b", `[\]]`, "[^a-z]?", `\\`, "[a", `x\`, "[&&[~~]--]", "a\"]\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		g := parseGlob(strings.ToValidUTF8(pattern, "?"))
		for _, condition := range g.conditions("input.x") {
			if _, err := ast.ParseBody(condition); err != nil {
				t.Fatalf("%q gives %s: %v", pattern, condition, err)
			}
		}
	})
}
