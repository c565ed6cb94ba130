package accept

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// Baseline is the findings that a directory had at some time. It has no lines, so that a
// document may move.
type Baseline struct {
	path    string
	entries []entry
}

// entry is the findings of a document that are equal but for their lines.
type entry struct {
	Code     diag.Code `json:"code"`
	Document string    `json:"document"`
	Message  string    `json:"message"`
	// Subjects are all of them: a message shortens a long list.
	Subjects []string `json:"subjects,omitempty"`
	// Count is how many findings there are; zero stands for one.
	Count int `json:"count,omitempty"`

	line int
}

func entryOf(d *diag.Diagnostic, names func(diag.Position) string) entry {
	return entry{Code: d.Code, Document: names(d.Position), Message: d.Message, Subjects: d.Subjects}
}

func (e entry) key() string {
	return strings.Join(append([]string{string(e.Code), e.Document, e.Message}, e.Subjects...), "\x00")
}

func (e entry) acceptance(path string) *acceptance {
	return &acceptance{
		Suppression: diag.Suppression{Position: diag.Position{File: path, Line: e.line, Column: 1}, Reason: "known since the baseline was written"},
		code:        e.Code, left: max(e.Count, 1),
	}
}

// NewBaseline returns the warnings of a list. Those about acceptances are left out.
func NewBaseline(path string, list diag.List, documents []syntax.Document) *Baseline {
	b := &Baseline{path: path}
	names := namesOf(documents)
	counts := make(map[string]int)
	for _, d := range list.Sorted() {
		if d.Severity == diag.Error || !diag.IsAcceptable(d.Code) {
			continue
		}
		e := entryOf(&d, names)
		if counts[e.key()]++; counts[e.key()] == 1 {
			b.entries = append(b.entries, e)
		}
	}
	for i := range b.entries {
		if n := counts[b.entries[i].key()]; n > 1 {
			b.entries[i].Count = n
		}
	}
	slices.SortFunc(b.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Document, b.Document), cmp.Compare(a.key(), b.key()))
	})
	return b
}

// Encode returns the file of the baseline: JSON with a line for each entry.
func (b *Baseline) Encode() []byte {
	var out bytes.Buffer
	out.WriteString("{\"findings\": [")
	for i, e := range b.entries {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n")
		out.Write(jsontext.Encode(e))
	}
	out.WriteString("\n]}\n")
	return out.Bytes()
}

// ParseBaseline reads what Encode wrote.
func ParseBaseline(path string, content []byte) (*Baseline, error) {
	b := &Baseline{path: path}
	var file struct {
		Findings []json.RawMessage `json:"findings"`
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", path, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("read baseline %s: must be one JSON object", path)
	}
	read := 0 // what of content lies before the next entry
	for i, raw := range file.Findings {
		var e entry
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("read baseline %s: findings[%d]: %w", path, i, err)
		}
		if e.Code == "" || e.Document == "" || e.Message == "" || e.Count < 0 {
			return nil, fmt.Errorf("read baseline %s: findings[%d] must have code, document and message, and count must not be negative", path, i)
		}
		at := read + max(bytes.Index(content[read:], raw), 0)
		e.line = bytes.Count(content[:at], []byte("\n")) + 1
		read = at + len(raw)
		b.entries = append(b.entries, e)
	}
	return b, nil
}
