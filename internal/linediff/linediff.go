// Package linediff compares texts by line. Lines come in; those that both texts keep go out. The
// package must not know how a difference is shown.
package linediff

import "slices"

// Common returns the pairs of equal lines that a shortest edit of a to b keeps, as their indices
// in a and b. If lines between the ends that are equal need more than most edits, it keeps
// those at both ends alone.
func Common(a, b []string, most int) [][2]int {
	var pairs [][2]int
	from, end := 0, 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		pairs = append(pairs, [2]int{from, from})
		from++
	}
	for end < min(len(a), len(b))-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	for _, c := range between(a[from:len(a)-end], b[from:len(b)-end], most) {
		pairs = append(pairs, [2]int{from + c[0], from + c[1]})
	}
	for n := end; n > 0; n-- {
		pairs = append(pairs, [2]int{len(a) - n, len(b) - n})
	}
	return pairs
}

// between is Common by the algorithm of Myers, "An O(ND) Difference Algorithm and Its
// Variations". furthest has the furthest line of a that a number of edits reaches on each
// diagonal, the difference of the lines of a and b. It returns nil beyond most edits.
func between(a, b []string, most int) [][2]int {
	most = min(most, len(a)+len(b))
	center := most + 1
	var earlier [][]int
	furthest := make([]int, 2*center+1)
	for edits := 0; edits <= most; edits++ {
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
				return pathOf(earlier, center, len(a), len(b))
			}
		}
	}
	return nil
}

// pathOf goes back from the ends of both texts and returns the pairs of equal lines.
func pathOf(earlier [][]int, center, x, y int) (pairs [][2]int) {
	for edits, e := range slices.Backward(earlier) {
		before, k := e, x-y
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
