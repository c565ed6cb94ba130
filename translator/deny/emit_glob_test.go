package deny

import (
	"regexp"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// What Rego is told of a pattern is what the pattern means.
func TestGlobExpression(t *testing.T) {
	for _, pattern := range []string{
		"prod-*", "*-db", "a*a", "v?", "[a-c]x", "[^a-c]x", `\*x?`, `[\]]`, `[a\-z]`, "[&~^-]", "(a|b)+$?", "a*b*c", "ä?", "x*/y",
	} {
		t.Run(pattern, func(t *testing.T) {
			g := globOf(pattern)
			fits := regexp.MustCompile(expression(g)).MatchString
			for _, value := range []string{
				"", "prod-", "prod-eu.1", "prod-a/b", "a-db", "a/b-db", "aa", "a", "aba", "v1", "v12", "v/", "ax", "dx", "/x", "*x1", "]", `\`,
				"-", "b", "z", "&", "^", "~", "(a|b)+$x", "ab", "a\nbc", "abc", "äö", "x1/y", "x/y", sampleGlob(pattern),
			} {
				if got, want := fits(value), g.Fits(value); got != want {
					t.Errorf("%q: got %v, want %v, by %s", value, got, want, expression(g))
				}
			}
			if sample := sampleGlob(pattern); !g.Fits(sample) {
				t.Errorf("the sample %q does not fit", sample)
			}
		})
	}
}

// Whatever the pattern, its conditions are Rego and its expression is RE2.
func FuzzGlob(f *testing.F) {
	for _, seed := range []string{"*", "a*b", `[\]]`, "[^a-z]?", `\\`, "[a", `x\`, "[&&[~~]--]", "a\"]\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		pattern = strings.ToValidUTF8(pattern, "?") // documents are UTF-8
		for _, condition := range globConditions("input.x", pattern) {
			if _, err := ast.ParseBody(condition); err != nil {
				t.Fatalf("%q gives %s: %v", pattern, condition, err)
			}
		}
		g := globOf(pattern)
		fits, err := regexp.MatchString(expression(g), pattern)
		if err != nil {
			t.Fatalf("%q gives %s: %v", pattern, expression(g), err)
		}
		if want := g.Fits(pattern); !g.Everything && fits != want {
			t.Fatalf("%q against itself: got %v, want %v, by %s", pattern, fits, want, expression(g))
		}
	})
}
