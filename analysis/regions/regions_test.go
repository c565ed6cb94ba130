package regions

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/gate"
)

// pieces are parts of expressions over the letters a, b and c.
var pieces = []string{"a", "b", "a*", "b+", ".", ".*", "[ab]", "[^b]", "(a|bc)", "(ab)?", "c{2}", "(?i)B", "(?i)C*", "[ -~]", "[^ -~]", "[a-c]"}

// Of the sets of expressions that short texts match, each one has a value, and one alone.
func TestRegions(t *testing.T) {
	t.Parallel()
	seed := gate.Seed()
	r := rand.New(rand.NewPCG(seed, 1))
	var texts []string
	for n := range 4 {
		texts = append(texts, over("abcBé", n)...)
	}
	for range 100 * gate.Times(1) {
		var expressions []string
		for range 1 + r.IntN(3) {
			e := ""
			for range 1 + r.IntN(3) {
				e += pieces[r.IntN(len(pieces))]
			}
			if r.IntN(4) > 0 {
				e = "^(" + e + ")$"
			}
			expressions = append(expressions, e)
		}
		values, whole := Of(expressions)
		if !whole {
			t.Fatalf("%q: the search was cut", expressions)
		}
		found := make(map[string]string)
		for _, v := range values {
			s := matches(expressions, v)
			if other, twice := found[s]; twice {
				t.Errorf("%q: both %q and %q match %s", expressions, other, v, s)
			}
			found[s] = v
		}
		for _, text := range texts {
			if s := matches(expressions, text); !has(found, s) {
				t.Fatalf("%q: %q matches %s, and none of %q does", expressions, text, s, values)
			}
		}
	}
}

func has(found map[string]string, key string) bool {
	_, ok := found[key]
	return ok
}

// matches says which expressions match a value.
func matches(expressions []string, value string) string {
	var out strings.Builder
	for _, e := range expressions {
		fmt.Fprintf(&out, "%t ", regexp.MustCompile(e).MatchString(value))
	}
	return out.String()
}

// over returns the texts of a length over some letters.
func over(letters string, length int) []string {
	out := []string{""}
	for range length {
		var longer []string
		for _, text := range out {
			for _, letter := range letters {
				longer = append(longer, text+string(letter))
			}
		}
		out = longer
	}
	return out
}

// What is not understood makes the answer incomplete, and never wrong.
func TestIncomplete(t *testing.T) {
	for _, e := range []string{`(`, `\bword`, `x\By`, "(?m)^line$"} {
		if _, whole := Of([]string{"^a$", e}); whole {
			t.Errorf("%q: got a complete answer", e)
		}
	}
}

// However many patterns are asked about, a bounded number is kept.
func TestKeptIsBounded(t *testing.T) {
	for i := range 2 * maxKept {
		Of([]string{fmt.Sprintf("^kept-%d$", i)})
	}
	if n := len(kept.regions); n > maxKept {
		t.Errorf("%d are kept, want at most %d", n, maxKept)
	}
}
