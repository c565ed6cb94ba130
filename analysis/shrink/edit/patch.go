package edit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/writ-policy/writ/internal/linediff"
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

// maxEdits bounds the changed lines that the shortest script is searched for. Above it the
// lines between the first and the last change are replaced.
const maxEdits = 1000

// script returns the lines of two texts as lines that stay, go and are added.
func script(a, b []string) []op {
	ops := make([]op, 0, max(len(a), len(b)))
	i, j := 0, 0
	for _, c := range append(linediff.Common(a, b, maxEdits), [2]int{len(a), len(b)}) {
		for ; i < c[0]; i++ {
			ops = append(ops, op{'-', a[i], i, j})
		}
		for ; j < c[1]; j++ {
			ops = append(ops, op{'+', b[j], i, j})
		}
		if i < len(a) && j < len(b) {
			ops = append(ops, op{' ', a[i], i, j})
			i, j = i+1, j+1
		}
	}
	return ops
}
