package tables

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// The expression matches what the pattern matches.
func TestPathGlobExpression(t *testing.T) {
	for _, pattern := range []string{
		"prod-*", "*-db", "a*a", "v?", "[a-c]x", "[^a-c]x", `\*x?`, `[\]]`, `[a\-z]`, "[&~^-]", "(a|b)+$?", "a*b*c", "ä?", "x*/y",
	} {
		t.Run(pattern, func(t *testing.T) {
			g, problem, _ := ParsePathGlob(pattern)
			if problem != "" {
				t.Fatal(problem)
			}
			matches := regexp.MustCompile(g.Expression()).MatchString
			for _, value := range []string{
				"", "prod-", "prod-eu.1", "prod-a/b", "a-db", "a/b-db", "aa", "a", "aba", "v1", "v12", "v/", "ax", "dx", "/x", "*x1", "]", `\`,
				"-", "b", "z", "&", "^", "~", "(a|b)+$x", "ab", "a\nbc", "abc", "äö", "x1/y", "x/y", g.Sample(),
			} {
				if got, want := matches(value), g.Match(value); got != want {
					t.Errorf("%q: got %v, want %v, by %s", value, got, want, g.Expression())
				}
			}
			if sample := g.Sample(); !g.Match(sample) {
				t.Errorf("the sample %q does not match", sample)
			}
		})
	}
}

// Every pattern has an RE2 expression, which agrees with Match, and a canonical text.
func FuzzPathGlob(f *testing.F) {
	for _, seed := range []string{"*", "**", "a*b", `[\*-\]^]\{a`, `[\]]`, "[^a-z]?", `\\`, "[a", `x\`, "[&&[~~]--]", "a\"]\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		pattern = strings.ToValidUTF8(pattern, "?") // documents are UTF-8
		g, _, _ := ParsePathGlob(pattern)
		got, err := regexp.MatchString(g.Expression(), pattern)
		if err != nil {
			t.Fatalf("%q gives %s: %v", pattern, g.Expression(), err)
		}
		text, err := g.MarshalText()
		var again PathGlob
		if err != nil || again.UnmarshalText(text) != nil || !reflect.DeepEqual(again, g) {
			t.Fatalf("%q: got %+v from %q (%v), want %+v", pattern, again, text, err, g)
		}
		if want := g.Match(pattern); !g.MatchesAll() && got != want {
			t.Fatalf("%q against itself: got %v, want %v, by %s", pattern, got, want, g.Expression())
		}
	})
}

// Only the text that MarshalText writes is read.
func TestPathGlobText(t *testing.T) {
	for _, text := range []string{"[a", "***", `\a`, "[a]", "{", strings.Repeat("a", maxPattern+1)} {
		var g PathGlob
		if err := g.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}

// The canonical text of each pattern that documents may have is read from a bundle.
func TestLongPathGlobText(t *testing.T) {
	for _, pattern := range []string{strings.Repeat("\\*", 126), strings.Repeat("\\", 252), strings.Repeat("[a]", 84), strings.Repeat("[a-b]", 50), "[" + strings.Repeat("a", 251) + "]"} {
		g, problem, _ := ParsePathGlob(pattern)
		text, err := g.MarshalText()
		if err := g.UnmarshalText(text); err != nil || problem != "" {
			t.Errorf("%.20s: got %q, %v", pattern, problem, err)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
