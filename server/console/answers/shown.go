package answers

import (
	"bytes"
	"crypto/sha256"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// shown returns files as they may be shown, and keeps them: few of many change at a time. The
// zero value keeps none.
type shown struct {
	kept map[string]shownFile // by path
}

// shownFile is a file with what it is shown for: its content, and the lines of its documents.
type shownFile struct {
	hash  [sha256.Size]byte
	lines []int
	file  source.File
}

// files returns the files that may be shown: those that hold a document of a family,
// or something that looks like one. A repository has more than policy, such as Secrets:
// other documents of a file are one line, and the values of data and stringData are masked
// everywhere. The numbers of lines stay. Files are sorted by path, as they are returned.
func (s *shown) files(files []source.File, documents []syntax.Document, found diag.List) []source.File {
	if files == nil {
		return nil
	}
	lines := linesOfDocuments(documents)
	for i := range found {
		line, _ := found[i].Shown()
		lines[found[i].File] = append(lines[found[i].File], line)
	}
	before := s.kept
	s.kept = make(map[string]shownFile, len(files))
	out := make([]source.File, 0, len(files))
	for _, f := range files {
		own := lines[f.Path]
		switch {
		case f.Object: // of a kind that is asked for
		case len(own) == 0:
			continue
		case path.Ext(f.Path) != ".rego":
			last, isKept := before[f.Path]
			if !isKept || last.hash != f.Hash || !slices.Equal(last.lines, own) {
				last = shownFile{f.Hash, own, f}
				content := f.Content.Bytes()
				if text := shownText(content, own); !bytes.Equal(text, content) {
					last.file = source.NewFile(f.Path, text)
				}
			}
			s.kept[f.Path] = last
			f.Content, f.Hash = last.file.Content, last.file.Hash
		}
		out = append(out, f)
	}
	return out
}

// linesOfDocuments returns a line of each document by file.
func linesOfDocuments(documents []syntax.Document) map[string][]int {
	lines := make(map[string][]int)
	for _, d := range documents {
		at := d.Meta().At
		lines[at.File] = append(lines[at.File], at.Line)
	}
	return lines
}

// shownText returns the text of a file of YAML or JSON in which documents without one of
// the lines are left out, and values that may be secret are masked.
func shownText(content []byte, own []int) []byte {
	lines := linesOf(content)
	isOwn := make(map[int]bool, len(own))
	for _, line := range own {
		isOwn[line] = true
	}
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && !isSeparator(lines[to]) {
			to++
		}
		keep := false
		for n := from; n < to; n++ {
			keep = keep || isOwn[n+1]
		}
		if keep {
			maskData(lines[from:to])
		} else {
			leaveOut(lines[from:to])
		}
		from = to
	}
	text := strings.Join(lines, "\n")
	if bytes.HasSuffix(content, []byte("\n")) {
		text += "\n"
	}
	return []byte(text)
}

// isSeparator reports whether a document of YAML begins after a line.
func isSeparator(line string) bool {
	return line == "---" || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "---\t")
}

// kindOf is the kind of a document that is left out, as far as a line shows it.
var kindOf = regexp.MustCompile(`^kind:\s*["']?([A-Za-z][A-Za-z0-9]{0,62})["']?\s*(?:#.*)?$`)

// leaveOut replaces the lines of a document by one with its kind.
func leaveOut(lines []string) {
	at, kind := -1, ""
	for i, line := range lines {
		if m := kindOf.FindStringSubmatch(line); m != nil {
			kind = m[1]
		}
		if isSeparator(line) {
			lines[i] = "---"
			continue
		}
		if at < 0 && strings.TrimSpace(line) != "" {
			at = i
		}
		lines[i] = ""
	}
	switch {
	case at >= 0 && kind != "":
		lines[at] = "# kind: " + kind + ", not shown"
	case at >= 0:
		lines[at] = "# not shown"
	}
}

// dataKey is a key whose value may be secret: those of a Secret that is part of a list.
// Base64 and annotations with a copy of an object have them in quotes.
var dataKey = regexp.MustCompile(`(?:^|[\s{,\[?])\\?["']?(?:data|stringData)\\?["']?\s*:`)

// masked stands for values that are not shown.
const masked = "***"

// maskData masks the values of data and stringData. It reads lines, not YAML, because a text
// with errors is shown too: what may belong to a value is masked.
func maskData(lines []string) {
	for i := 0; i < len(lines); i++ {
		if !strings.Contains(lines[i], "ata") { // of most lines nothing else is looked at
			continue
		}
		at := dataKey.FindStringIndex(lines[i])
		if at == nil || isRemark(lines[i][:at[0]]) {
			continue
		}
		indent, rest := keyIndent(lines[i], at), lines[i][at[1]:]
		depth, isEmpty := depthOf(rest), strings.TrimSpace(rest) == ""
		if !isEmpty {
			lines[i] = lines[i][:at[1]] + " " + masked
		}
		for ; i+1 < len(lines); i++ {
			next := strings.TrimSpace(lines[i+1])
			isValue := next == "" || depth > 0 || indentOf(lines[i+1]) > indent || isEmpty && strings.ContainsAny(next[:1], `{["'|>`)
			if !isValue {
				break
			}
			if next != "" {
				depth, isEmpty = depth+depthOf(next), false
				lines[i+1] = strings.Repeat(" ", indentOf(lines[i+1])) + masked
			}
		}
	}
}

// isRemark reports whether what is before a key is the beginning of a comment.
func isRemark(before string) bool { return strings.HasPrefix(strings.TrimSpace(before), "#") }

// keyIndent is the column of a key: entries of a list begin with a dash.
func keyIndent(line string, at []int) int {
	if strings.Trim(line[:at[0]], " -") != "" {
		return indentOf(line) // within braces: the line is masked to its end
	}
	return at[1] - len(strings.TrimLeft(line[at[0]:at[1]], " \t"))
}

// depthOf is how many braces and brackets of a text are not closed in it.
func depthOf(text string) int {
	return strings.Count(text, "{") + strings.Count(text, "[") - strings.Count(text, "}") - strings.Count(text, "]")
}
