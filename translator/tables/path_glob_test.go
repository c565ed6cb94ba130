package tables_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/translator/tables"
)

func TestPathGlobFits(t *testing.T) {
	for _, row := range []struct {
		glob, value string
		want        bool
	}{
		{"*", "", true}, {"*", "a/b", true}, {"", "", true}, {"", "a", false},
		{"prod-*", "prod-eu.1", true}, {"prod-*", "prod-", true}, {"prod-*", "prod", false}, {"prod-*", "prod-a/b", false}, {"PROD", "prod", false},
		{"**", "", true}, {"**", "a/b", false}, {"*/b", "a/b", true}, {"a,b", "a,b", true}, {"a.b", "axb", false},
		{"?", "/", false}, {"?", "", false}, {"a?", "aü", true}, {"*??", "€", false}, {"*?", "€", true},
		{"[ab]c", "bc", true}, {"[a-c]", "b", true}, {"[a-c]", "d", false}, {"[a-cx]", "x", true}, {"[^a-c]", "d", true}, {"[^a-c]", "a", false}, {"[^a]", "", false},
		{"[-a]", "-", true}, {"[a-]", "-", true}, {"[a-]", "b", false}, {`[a\-z]`, "-", true}, {`[a\-z]`, "b", false}, {`[\]]`, "]", true}, {`[\^a]`, "^", true}, {"[[]", "[", true}, {"[ä-ü]", "ö", true},
		{`\*`, "*", true}, {`\*`, "a", false}, {`\{a\}`, "{a}", true}, {`a\b`, "ab", true}, {"]^-", "]^-", true}, {`\ü*`, "üx", true},
		{"*a*b", "xaxxb", true}, {"*a*", "bbb", false}, {"*-*-*", "a-b", false}, {"*[^q]*b", "a/b", true},
	} {
		glob, problem, _ := tables.ParsePathGlob(row.glob)
		if problem != "" {
			t.Errorf("%s: got the problem %q", row.glob, problem)
			continue
		}
		if got := glob.Match(row.value); got != row.want {
			t.Errorf("%s, %q: got %v, want %v", row.glob, row.value, got, row.want)
		}
	}
}

func TestPathGlobProblems(t *testing.T) {
	for _, row := range []struct{ glob, want string }{
		{"prod-[eu", "not closed"}, {"[", "not closed"}, {"[a-", "not closed"}, {`[\`, "not closed"}, {`[\]`, "not closed"}, {"[^", "not closed"},
		{"a[]", "empty class"}, {"[^]", "empty class"}, {"[]a]", "empty class"}, {"[z-a]", "nothing can be"},
		{"[!a]", "[!"}, {"team-{a,b}", "brace"}, {"a}", "brace"}, {"[{]", "brace"}, {"[a-}]", "brace"}, {`a\`, `ends in`}, {`*\`, `ends in`},
	} {
		if _, problem, _ := tables.ParsePathGlob(row.glob); !strings.Contains(problem, row.want) {
			t.Errorf("%s: got %q, want something about %q", row.glob, problem, row.want)
		}
	}
}

func TestPathGlobLiteral(t *testing.T) {
	for _, row := range []struct {
		glob, want string
		literal    bool
	}{
		{"", "", true}, {"sre", "sre", true}, {`s\*e`, "s*e", true}, {"*", "", false}, {"s?", "", false}, {"[s]", "", false}, {"?", "", false},
	} {
		glob, _, _ := tables.ParsePathGlob(row.glob)
		if got, literal := glob.Literal(); got != row.want || literal != row.literal {
			t.Errorf("%s: got %q %v, want %q %v", row.glob, got, literal, row.want, row.literal)
		}
	}
}

// A glob matches what the regular expression of its pieces matches.
func TestPathGlobIsARegularExpression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "ü", ".", "*", "?", "[ab]", "[^ab]", `\*`}), 0, 6).Draw(t, "parts")
		var expression strings.Builder
		for _, part := range parts {
			switch part {
			case "*":
				expression.WriteString("[^/]*")
			case "?":
				expression.WriteString("[^/]")
			case "[ab]", "[^ab]", `\*`:
				expression.WriteString(part)
			default:
				expression.WriteString(regexp.QuoteMeta(part))
			}
		}
		pattern := strings.Join(parts, "")
		if pattern == "*" {
			return // matches more than its parts
		}
		value := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "ü", ".", "*"}), 0, 6).Draw(t, "value"), "")
		glob, problem, _ := tables.ParsePathGlob(pattern)
		if problem != "" {
			t.Fatalf("%s: got the problem %q", pattern, problem)
		}
		want := regexp.MustCompile(`(?s)^(?:` + expression.String() + `)$`).MatchString(value)
		if got := glob.Match(value); got != want {
			t.Errorf("%s, %q: got %v, want %v", pattern, value, got, want)
		}
	})
}

// PatternOf reads what Expression writes, and prefixes as regexp.QuoteMeta writes them.
func TestPatternOf(t *testing.T) {
	for _, pattern := range []string{"", "prod-*", "?ab", "[a-c]x", "[^a-c]", `a\*b`, "**", `cost$`, `a.b(c)|d`, `[\]\^\-]*`, "é[à-ü]", "a/b/*"} {
		g, problem, _ := tables.ParsePathGlob(pattern)
		if problem != "" {
			t.Fatalf("%s: %s", pattern, problem)
		}
		text, isWhole := tables.PatternOf(g.Expression())
		again, problem, _ := tables.ParsePathGlob(text)
		if !isWhole || problem != "" || again.Expression() != g.Expression() {
			t.Errorf("%s: got %s, %t, %s", pattern, text, isWhole, problem)
		}
	}
	for _, prefix := range []string{"/api/", "cost$", `a\b`, "a.b"} {
		if got, isWhole := tables.PatternOf("^" + regexp.QuoteMeta(prefix)); got != prefix || isWhole {
			t.Errorf("prefix %s: got %s, %t", prefix, got, isWhole)
		}
	}
}
