package answers

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// maxTexts bounds the texts of a revision in bytes. Texts are shared with the source, which
// keeps those of the newest documents for comparisons.
const maxTexts = 64 << 20

// texts are the documents of a revision and their text. They are known shortly after the
// revision is active.
type texts struct {
	mu      sync.Mutex // held to read and write the fields below
	files   []source.File
	isCut   bool // there are more than maxTexts bytes
	headers []syntax.Document
	origins []source.Origin // state what is accepted in files
	version int             // counts calls of set
}

// set sets the files of a revision, sorted by path, and the documents that they hold.
func (t *texts) set(files []source.File, headers []syntax.Document, origins []source.Origin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isCut = source.Size(files) > maxTexts; t.isCut {
		files = nil
	}
	t.files, t.headers, t.origins = files, headers, origins
	t.version++
}

// documents returns the documents; nil for a bundle.
func (t *texts) documents() []syntax.Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.headers
}

// find returns the text of a file by its exact name.
func (t *texts) find(name string) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return contentOf(t.files, name)
}

func contentOf(files []source.File, name string) ([]byte, bool) {
	at, ok := slices.BinarySearchFunc(files, name, func(f source.File, name string) int { return strings.Compare(f.Path, name) })
	if !ok || files[at].Object { // an object of a cluster has no lines
		return nil, false
	}
	return files[at].Content.Bytes(), true
}

// all returns the files.
func (t *texts) all() []source.File {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.files
}

// note returns why texts are left out; empty if they are not.
func (t *texts) note() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.isCut:
		return "the documents are too large to be kept beside the revision: their text is not shown"
	case t.files == nil:
		return "the revision is a bundle, without the text of its documents"
	}
	return ""
}

// linesBefore is how many lines are shown before a rule whose document is longer.
const linesBefore = 8

// excerpts returns the documents about the first rule that matched: the rule's, and the
// binding's.
func (v *viewer) excerpts(matched []console.Matched) (list []console.Excerpt, note string) {
	list = []console.Excerpt{}
	if len(matched) == 0 {
		return list, ""
	}
	sources := slices.Compact([]string{matched[0].Source, matched[0].Place()})
	for _, at := range sources {
		if e, ok := v.excerpt(at); ok {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		note = v.revision.texts.note()
	}
	return list, note
}

// excerpt returns the lines about a place, FILE:LINE.
func (v *viewer) excerpt(place string) (console.Excerpt, bool) {
	at, ok := diag.ParseSource(place)
	if !ok || at.Field != "" {
		return console.Excerpt{}, false
	}
	text, ok := v.revision.texts.find(at.File)
	if !ok {
		return console.Excerpt{}, false
	}
	lines := linesOf(text)
	if at.Line < 1 || at.Line > len(lines) {
		return console.Excerpt{}, false
	}
	e := console.Excerpt{Source: place, Mark: [2]int{at.Line, lastOf(lines, at.Line)}}
	e.From = max(headOf(lines, at.Line), at.Line-linesBefore)
	e.Lines = lines[e.From-1 : e.Mark[1]]
	e.Tokens = tokensOf(e.Lines)
	return e, true
}

// linesOf splits a text into lines.
func linesOf(text []byte) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
}

// lineOf returns a line of a text, empty if it has no such line. Large files may have many
// diagnostics: the text is not split for each.
func lineOf(text []byte, number int) string {
	for ; number > 1 && len(text) > 0; number-- {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	if number != 1 {
		return ""
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(bytes.TrimSuffix(line, []byte("\r")))
}

// headOf returns the number of the first line of the document of a line.
func headOf(lines []string, line int) int {
	for n := line; n > 1; n-- {
		if strings.HasPrefix(lines[n-2], "---") {
			return n
		}
	}
	return 1
}

// lastOf returns the number of the last line of the block that begins at a line: the lines
// below it that are indented more, or the rest of the document of a key that is not
// indented, without blank ones at the end.
func lastOf(lines []string, line int) int {
	indent := indentOf(lines[line-1])
	isWhole := indent == 0 && !strings.HasPrefix(lines[line-1], "- ")
	last := line
	for n := line + 1; n <= len(lines) && n-line < maxBlock; n++ {
		text := lines[n-1]
		if strings.TrimSpace(text) == "" {
			continue
		}
		if !isWhole && indentOf(text) <= indent || strings.HasPrefix(text, "---") {
			break
		}
		last = n
	}
	return last
}

// maxBlock bounds how many lines are marked.
const maxBlock = 60

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// tokensOf returns the tokens of lines of YAML that have a colour: keys, texts in quotes
// and comments.
func tokensOf(lines []string) [][]console.Token {
	out := make([][]console.Token, 0, len(lines))
	for _, line := range lines {
		out = append(out, tokensOfLine(line))
	}
	return out
}

func tokensOfLine(line string) []console.Token {
	tokens := []console.Token{}
	start := indentOf(line)
	for strings.HasPrefix(line[start:], "- ") {
		start += 2 + indentOf(line[start+2:])
	}
	if end := keyEnd(line[start:]); end > 0 {
		tokens = append(tokens, console.Token{From: start, To: start + end, Class: "key"})
		start += end
	}
	for at := start; at < len(line); at++ {
		switch c := line[at]; {
		case c == '#' && (at == 0 || line[at-1] == ' '):
			return append(tokens, console.Token{From: at, To: len(line), Class: "comment"})
		case c == '"' || c == '\'':
			end := strings.IndexByte(line[at+1:], c)
			if end < 0 {
				return tokens
			}
			tokens = append(tokens, console.Token{From: at, To: at + end + 2, Class: "string"})
			at += end + 1
		}
	}
	return tokens
}

// keyEnd returns the length of the key that a line begins with, zero if it has none.
func keyEnd(line string) int {
	for i := range len(line) {
		switch c := line[i]; {
		case c == ':' && i > 0 && (i+1 == len(line) || line[i+1] == ' '):
			return i
		case c == '#' || c == ' ' || c == '{' || c == '[':
			return 0
		}
	}
	return 0
}
