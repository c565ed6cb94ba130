package linediff_test

import (
	"math/rand/v2"
	"testing"

	"github.com/writ-policy/writ/internal/linediff"
)

// most is more edits than the texts need.
const most = 100

// The lines that a difference has after the edit are the text after it, whatever the texts.
func TestCommonLinesAreThoseOfBothTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() []string {
		lines := make([]string, random.IntN(12))
		for i := range lines {
			lines[i] = string(rune('a' + random.IntN(4)))
		}
		return lines
	}
	for range 2000 {
		a, b := draw(), draw()
		x, y := 0, 0
		for _, c := range linediff.Common(a, b, most) {
			if c[0] < x || c[1] < y || a[c[0]] != b[c[1]] {
				t.Fatalf("%v and %v: got %v", a, b, linediff.Common(a, b, most))
			}
			x, y = c[0]+1, c[1]+1
		}
		if got, want := len(linediff.Common(a, b, most)), longest(a, b); got != want {
			t.Fatalf("%v and %v: got %d common lines, want %d", a, b, got, want)
		}
	}
}

// longest is the length of the longest common subsequence, by its definition.
func longest(a, b []string) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if a[0] == b[0] {
		return 1 + longest(a[1:], b[1:])
	}
	return max(longest(a[1:], b), longest(a, b[1:]))
}
