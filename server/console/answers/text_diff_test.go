package answers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/source"
)

// numbered returns n lines.
func numbered(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d", i+1)
	}
	return lines
}

func TestTextDiff(t *testing.T) {
	long := numbered(100)
	two := slices.Clone(long)
	two[10], two[80] = "eleven", "eighty-one"
	for name, row := range map[string]struct {
		a, b []string
		want string
	}{
		"equal":           {long, long, "@"},
		"one line":        {[]string{"a"}, []string{"b"}, "-a|+b"},
		"a new file":      {nil, []string{"a", "b"}, "+a|+b"},
		"a removed file":  {[]string{"a", ""}, nil, "-a|-"},
		"a line between":  {[]string{"a", "b"}, []string{"a", "x", "b"}, " a|+x| b"},
		"a repeated line": {[]string{"a", "a", "b"}, []string{"a", "b"}, " a|-a| b"},
		"two changes": {long, two, "@| line 8| line 9| line 10|-line 11|+eleven| line 12| line 13| line 14|@|" +
			" line 78| line 79| line 80|-line 81|+eighty-one| line 82| line 83| line 84|@"},
		"a change at each end": {[]string{"a", "b", "c"}, []string{"x", "b", "y"}, "-a|+x| b|-c|+y"},
	} {
		if got := strings.Join(textDiff("f", row.a, row.b).Lines, "|"); got != row.want {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
	}
	if got := textDiff("f", long, numbered(3000)[100:]).Lines; len(got) != maxDiffLines+1 || got[maxDiffLines] != gap {
		t.Errorf("got %d lines of texts without a common line, want %d and a gap", len(got), maxDiffLines)
	}
}

// A single line of a text is the one that its lines have.
func TestLineOf(t *testing.T) {
	for _, content := range []string{"", "\n", "a", "a\n", "a\r\nb\r\n", "\n\nc\n"} {
		lines := linesOf([]byte(content))
		for i := -1; i <= len(lines)+2; i++ {
			want := ""
			if i >= 1 && i <= len(lines) {
				want = lines[i-1]
			}
			if got := lineOf([]byte(content), i); got != want {
				t.Errorf("line %d of %q: got %q, want %q", i, content, got, want)
			}
		}
	}
}

func TestTextDiffs(t *testing.T) {
	file := func(name, text string) source.File {
		return source.File{Path: name, Content: source.TextOf([]byte(text)), Hash: [32]byte{byte(len(text))}}
	}
	got := textDiffs([]source.File{file("a", "1\n"), file("c", "3\n")}, []source.File{file("b", "2\n"), file("c", "33\n")})
	if text(t, got) != `[{"file":"a","lines":["-1"]},{"file":"b","lines":["+2"]},{"file":"c","lines":["-3","+33"]}]` {
		t.Errorf("got %s", text(t, got))
	}
	if got := textDiffs(nil, []source.File{file("a", "1\n")}); len(got) != 0 {
		t.Errorf("got %s of a text that is not known", text(t, got))
	}
}
