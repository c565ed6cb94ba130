package tables_test

import (
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/tables"
)

func TestGlob(t *testing.T) {
	for _, row := range []struct {
		pattern, value string
		want           bool
	}{
		{"*", "", true},
		{"*", "a/b.c\nd", true},
		{"?", "", false},
		{"?", "é", true},
		{"?", "ab", false},
		{"a*", "a", true},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"*-tmp", "x-tmp", true},
		{"*-tmp", "x-tmp2", false},
		{"a**b", "ab", true},
		{"ab*ba", "aba", false},
		{"*a*b*", "xxbxxa", false},
		{"*a?c*", "abd abc", true},
		{"[a-z]*", "b", false},
		{"[a-z]*", "[a-z]b", true},
		{"a.c*", "abc", false},
		{"* * * * *", "a b c d", false},
		{"* * * * *", "a b c d e", true},
		{"*?", "", false},
		{"*??", "é", false},
		{"x*?b", "xb", false},
	} {
		if got := tables.ParseGlob(row.pattern).Match(row.value); got != row.want {
			t.Errorf("%q of %q: got %v, want %v", row.pattern, row.value, got, row.want)
		}
	}
}

// A glob matches the values that its expression matches.
func TestGlobIsAnExpression(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(alphabet string, most int) string {
		var b strings.Builder
		letters := []rune(alphabet)
		for range random.IntN(most + 1) {
			b.WriteRune(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	fitted := 0
	for range 20_000 {
		pattern, value := text("ab**??é.", 7), text("abé.\n", 8)
		expression := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
		want := regexp.MustCompile(`(?s)^` + expression + `$`).MatchString(value)
		if got := tables.ParseGlob(pattern).Match(value); got != want {
			t.Fatalf("%q of %q: got %v, want %v", pattern, value, got, want)
		}
		if want {
			fitted++
		}
	}
	if fitted < 1000 {
		t.Errorf("got %d values that fit, want enough for a comparison", fitted)
	}
}

func TestGlobExpression(t *testing.T) {
	for _, row := range []struct {
		name, pattern string
		fits, misses  []string
	}{
		{"a run", "a*", []string{"a", "ab", "a/b", "a\nb", "a\n"}, []string{"ba", "A"}},
		{"stars together", "a**b", []string{"ab", "axxb"}, []string{"abx", "a"}},
		{"everything", "*", []string{"", "x", "\n"}, nil},
		{"one character", "a?", []string{"ab", "aü", "a\n", "a\U0001f600"}, []string{"a", "abc", "ab\n"}},
		{"the end is the end", "*b", []string{"ab", "b"}, []string{"b\n", "bb "}},
		{"all else is literal", `a.b[c](d)+^$\{e}|f*`, []string{`a.b[c](d)+^$\{e}|f`}, []string{`axb[c](d)+^$\{e}|f`, "f"}},
		{"not ASCII", "ü*", []string{"ü", "üx"}, []string{"u"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, err := tables.ParseGlob(row.pattern).MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			expression := regexp.MustCompile(string(text))
			for _, text := range row.fits {
				if !expression.MatchString(text) {
					t.Errorf("%s does not fit %q", expression, text)
				}
			}
			for _, text := range row.misses {
				if expression.MatchString(text) {
					t.Errorf("%s fits %q", expression, text)
				}
			}
		})
	}
}

// Patterns are equal after encoding and decoding; other expressions are rejected.
func TestGlobText(t *testing.T) {
	for _, pattern := range []string{"", "a", "*", "?", "a**b", `a.b[c](d)+^$\{e}|f*`, "ü?*", "$", `\`, "a*?"} {
		want := tables.ParseGlob(pattern)
		text, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got tables.Glob
		if err := got.UnmarshalText(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, %v from %s", pattern, got, err, text)
		}
	}
	for _, text := range []string{"", "a*", "^a$", "(?s)^a", "(?s)^[ab]$", "(?s)^a.*.*b$", `(?s)^a\?$`, `(?s)^\*$`, `(?s)^a\`, "(?s)^a|b$", `(?s)^\d$`, "(?s)^(?s)^$$"} {
		var got tables.Glob
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}
