package answers

import (
	"github.com/writ-policy/writ/internal/linediff"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/source"
)

// Bounds of the difference of a file: its lines, how many of them may differ before it is
// shown as one block, and how many equal lines are shown around a change.
const (
	maxDiffLines = 400
	maxEdits     = 500
	aroundChange = 3
)

// gap stands for lines that a difference leaves out.
const gap = "@"

// textDiffs returns the differences of files by line; none if a text is not known.
func textDiffs(a, b []source.File) []console.TextDiff {
	out := []console.TextDiff{}
	if a == nil || b == nil {
		return out
	}
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Path < b[0].Path:
			out = append(out, textDiff(a[0].Path, linesOf(a[0].Content.Bytes()), nil))
			a = a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			out = append(out, textDiff(b[0].Path, nil, linesOf(b[0].Content.Bytes())))
			b = b[1:]
		default:
			if a[0].Hash != b[0].Hash {
				out = append(out, textDiff(a[0].Path, linesOf(a[0].Content.Bytes()), linesOf(b[0].Content.Bytes())))
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// textDiff returns the lines that differ, with equal lines around them.
func textDiff(name string, a, b []string) console.TextDiff {
	var lines []string
	add := func(mark string, part []string) {
		for _, line := range part {
			lines = append(lines, mark+line)
		}
	}
	x, y := 0, 0
	for _, c := range append(linediff.Common(a, b, maxEdits), [2]int{len(a), len(b)}) {
		add("-", a[x:c[0]])
		add("+", b[y:c[1]])
		if c[0] < len(a) {
			add(" ", a[c[0]:c[0]+1])
		}
		x, y = c[0]+1, c[1]+1
	}
	return console.TextDiff{File: name, Lines: withGaps(lines)}
}

// withGaps replaces equal lines that are far from a change by gaps.
func withGaps(lines []string) []string {
	near := make([]bool, len(lines))
	for i, line := range lines {
		if line[0] != ' ' {
			for n := max(0, i-aroundChange); n < min(len(lines), i+aroundChange+1); n++ {
				near[n] = true
			}
		}
	}
	out := []string{}
	for i, line := range lines {
		switch {
		case near[i] && len(out) < maxDiffLines:
			out = append(out, line)
		case len(out) == 0 || out[len(out)-1] != gap:
			out = append(out, gap)
		}
	}
	return out
}
