package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// context is how many lines a patch has around a change.
const context = 3

// Patch returns the difference of a file as git apply takes it. A nil text after stands for
// a file that is deleted. It is empty if nothing differs.
func Patch(name string, before, after []byte) string {
	if bytes.Equal(before, after) && after != nil {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "diff --git %s %s\n", quoted("a/"+name), quoted("b/"+name))
	if after == nil {
		fmt.Fprintf(&out, "deleted file mode 100644\n--- %s\n+++ /dev/null\n", quoted("a/"+name))
	} else {
		fmt.Fprintf(&out, "--- %s\n+++ %s\n", quoted("a/"+name), quoted("b/"+name))
	}
	ops := script(splitLines(before), splitLines(after))
	for start := 0; start < len(ops); {
		for start < len(ops) && ops[start].kind == ' ' {
			start++
		}
		if start == len(ops) {
			break
		}
		end, same := start, 0
		for i := start; i < len(ops) && same <= 2*context; i++ {
			if same++; ops[i].kind != ' ' {
				same, end = 0, i+1
			}
		}
		writeHunk(&out, ops, max(0, start-context), min(len(ops), end+context))
		start = end
	}
	return out.String()
}

// quoted returns a path as git writes it.
func quoted(name string) string {
	if strings.ContainsAny(name, "\"\\\t\n") {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// op is a line that stays, goes or is added, with the lines before it in both texts.
type op struct {
	kind   byte
	text   string
	before int
	after  int
}

func writeHunk(out *strings.Builder, ops []op, from, to int) {
	removed, added := 0, 0
	for _, o := range ops[from:to] {
		if o.kind != '+' {
			removed++
		}
		if o.kind != '-' {
			added++
		}
	}
	place := func(before, count int) string {
		if count > 0 {
			before++
		}
		return fmt.Sprintf("%d,%d", before, count)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", place(ops[from].before, removed), place(ops[from].after, added))
	for _, o := range ops[from:to] {
		out.WriteByte(o.kind)
		out.WriteString(o.text)
		if !strings.HasSuffix(o.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// splitLines cuts a text after its newlines.
func splitLines(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// maxDistance bounds the changed lines that the shortest script is searched for. Above it
// the lines between the first and the last change are replaced.
const maxDistance = 1000

// script returns the lines of two texts as lines that stay, go and are added.
func script(a, b []string) []op {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	kinds := shortest(a[head:len(a)-tail], b[head:len(b)-tail])
	ops := make([]op, 0, len(a)+len(b))
	i, j := 0, 0
	add := func(kind byte) {
		o := op{kind: kind, before: i, after: j}
		if kind == '+' {
			o.text = b[j]
		} else {
			o.text = a[i]
			i++
		}
		if kind != '-' {
			j++
		}
		ops = append(ops, o)
	}
	for range head {
		add(' ')
	}
	for _, kind := range kinds {
		add(kind)
	}
	for range tail {
		add(' ')
	}
	return ops
}

// shortest returns the shortest script of two texts (Myers, "An O(ND) difference algorithm").
func shortest(a, b []string) []byte {
	most := len(a) + len(b)
	if most > maxDistance {
		most = maxDistance
	}
	reach := make([]int, 2*most+2) // by diagonal: how far in a
	var trace [][]int
	for d := 0; d <= most; d++ {
		trace = append(trace, append([]int(nil), reach...))
		for k := -d; k <= d; k += 2 {
			x := step(reach, most, k, d)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[most+k] = x
			if x >= len(a) && x-k >= len(b) {
				return walk(trace, most, len(a), len(b))
			}
		}
	}
	return append(bytes.Repeat([]byte{'-'}, len(a)), bytes.Repeat([]byte{'+'}, len(b))...)
}

// step returns where the path with d changes begins on a diagonal: after a line that goes, or
// one that is added.
func step(reach []int, most, k, d int) int {
	switch {
	case d == 0:
		return 0
	case k == -d || k != d && reach[most+k-1] < reach[most+k+1]:
		return reach[most+k+1]
	}
	return reach[most+k-1] + 1
}

// walk returns the script that a search has found, from its end.
func walk(trace [][]int, most, x, y int) []byte {
	var out []byte
	for d := len(trace) - 1; d >= 0; d-- {
		reach, k := trace[d], x-y
		start := step(reach, most, k, d)
		for x > start {
			out = append(out, ' ')
			x, y = x-1, y-1
		}
		if d == 0 {
			break
		}
		if k == -d || k != d && reach[most+k-1] < reach[most+k+1] {
			out = append(out, '+')
			y--
		} else {
			out = append(out, '-')
			x--
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
