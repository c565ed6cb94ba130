package answers

import (
	"slices"

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
			out = append(out, textDiff(a[0].Path, linesOf(a[0].Content), nil))
			a = a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			out = append(out, textDiff(b[0].Path, nil, linesOf(b[0].Content)))
			b = b[1:]
		default:
			if a[0].Hash != b[0].Hash {
				out = append(out, textDiff(a[0].Path, linesOf(a[0].Content), linesOf(b[0].Content)))
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
	for _, c := range append(commonLines(a, b), [2]int{len(a), len(b)}) {
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

// commonLines returns the pairs of equal lines that a shortest edit of a to b keeps. Beyond
// maxEdits it keeps those at both ends.
func commonLines(a, b []string) [][2]int {
	var pairs [][2]int
	from, end := 0, 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		pairs = append(pairs, [2]int{from, from})
		from++
	}
	for end < min(len(a), len(b))-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	for _, c := range keptLines(a[from:len(a)-end], b[from:len(b)-end]) {
		pairs = append(pairs, [2]int{from + c[0], from + c[1]})
	}
	for n := end; n > 0; n-- {
		pairs = append(pairs, [2]int{len(a) - n, len(b) - n})
	}
	return pairs
}

// keptLines is commonLines by the algorithm of Myers, "An O(ND) Difference Algorithm and Its
// Variations". furthest has the furthest line of a that a number of edits reaches on each
// diagonal, the difference of the lines of a and b. It returns nil beyond maxEdits.
func keptLines(a, b []string) [][2]int {
	const center = maxEdits + 1
	var earlier [][]int
	furthest := make([]int, 2*center+1)
	for edits := 0; edits <= maxEdits; edits++ {
		earlier = append(earlier, slices.Clone(furthest))
		for k := -edits; k <= edits; k += 2 {
			x := furthest[center+k+1] // by a line of b
			if k != -edits && (k == edits || furthest[center+k-1] >= x) {
				x = furthest[center+k-1] + 1 // by a line of a
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			if furthest[center+k] = x; x >= len(a) && x-k >= len(b) {
				return pathOf(earlier, len(a), len(b))
			}
		}
	}
	return nil
}

// pathOf goes back from the ends of both texts and returns the pairs of equal lines.
func pathOf(earlier [][]int, x, y int) (pairs [][2]int) {
	const center = maxEdits + 1
	for edits := len(earlier) - 1; edits >= 0; edits-- {
		before, k := earlier[edits], x-y
		from := before[center+k+1]
		isInsert := k == -edits || k != edits && before[center+k-1] < from
		start := from // of the equal lines, after the edit
		if !isInsert {
			from = before[center+k-1]
			start = from + 1
		}
		if edits == 0 {
			start = 0
		}
		for ; x > start; x, y = x-1, y-1 {
			pairs = append(pairs, [2]int{x - 1, y - 1})
		}
		if isInsert {
			y--
		} else {
			x--
		}
	}
	slices.Reverse(pairs)
	return pairs
}
