package diag

import (
	"strings"
	"testing"
	"unicode"
)

func TestLine(t *testing.T) {
	for give, want := range map[string]string{
		"plain é 名 | \\u":          "plain é 名 | \\u",
		"a\n::stop-commands::x":    `a\u000a::stop-commands::x`,
		"\x1b[2K\u009b\x7f\t\r":    `\u001b[2K\u009b\u007f\u0009\u000d`,
		"\u202e\u2028\u2029\u00ad": `\u202e\u2028\u2029\u00ad`,
		"\U000e0001":               `\udb40\udc01`,
		"\xff":                     "\ufffd",
		"::notice::x":              `\u003a:notice::x`,
		"  ::notice::x":            `  \u003a:notice::x`,
		"a ##[group]b #[c":         `a \u0023#[group]b #[c`,
		"a ##vso[task]":            `a \u0023#vso[task]`,
		"":                         "",
	} {
		if got := Line(give); got != want {
			t.Errorf("%q: got %q, want %q", give, got, want)
		}
	}
}

// A report has the lines that it began, and no character but these acts on a terminal.
func FuzzLines(f *testing.F) {
	for _, name := range []string{"dev", "a\n::b", "::a", "\x1b[2K\u009b", "a\tb\v\f", "\u202e\u2028", "##[group]", "\xff\n"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		var l Lines
		l.Addf("user %s", name)
		l.Addf("%s", name)
		l.AddTable([][]string{{"WHO", "WHY"}, {name, name}})
		lines := strings.Split(l.String(), "\n")
		if len(lines) != 5 {
			t.Errorf("%q: got %q, want 4 lines", name, lines)
		}
		for _, line := range lines {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q: got the line %q", name, line)
			}
		}
	})
}
