package syntax

import (
	"bytes"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/writ-policy/writ/translator/diag"
)

// File is a decoded file.
type File struct {
	// Documents are in their order. A document with errors is among them if its identity
	// and its references are known, so that references to it can be checked.
	Documents []Document
	// Skipped are the documents that belong to no family.
	Skipped []Skipped
	// Undecoded are the documents of the families whose identity is not known.
	Undecoded []Undecoded
	List      diag.List
}

// Undecoded is a document whose mistakes hide its identity: references to it must not be
// reported as dangling. Kind and Name are as written. Both are empty if the text is not
// valid YAML, so that it may hold any document.
type Undecoded struct {
	At         diag.Position
	Kind, Name string
}

// Options state how the documents of a source are decoded. The zero value has no defaults.
type Options struct {
	// DefaultNamespace is the namespace of documents of namespaced kinds that have none,
	// except Origin ones; empty means none.
	DefaultNamespace string
	// Bootstrap marks documents that are part of writ, whose positions have no lines.
	Bootstrap bool
	// ClusterExport marks documents of a cluster, which may refer to what does not exist.
	ClusterExport bool
	// Observer, unless nil, notes how the document is read. The decoder must then decode a
	// single document.
	Observer *Observer
}

// Decode decodes the documents of a file. The name of the file determines its format: a
// suffix of a kind selects that kind, *.json is JSON, and all other files are YAML. Decode
// does not panic and is safe for concurrent use.
func (k Kinds) Decode(file string, content []byte, o Options) File {
	for i := range k {
		if k[i].Suffix != "" && strings.HasSuffix(file, k[i].Suffix) {
			documents, list := k[i].DecodeFile(file, content)
			return File{Documents: documents, List: list}
		}
	}
	if len(content) > maxFileBytes {
		message := fmt.Sprintf("file of %d bytes, at most %d are read", len(content), maxFileBytes)
		return brokenFile(file, syntaxError{Line: 1, Column: 1, Message: message, Hint: "split it into several files"})
	}
	content, err := Readable(content)
	if err != nil {
		return brokenFile(file, *err)
	}
	parts, err := split(content)
	if err != nil {
		return brokenFile(file, *err)
	}
	return join(k.decodeParts(file, parts, o))
}

// Parse parses a file of one YAML document and returns its root, with a decoder that reads
// it and has the diagnostics. The root is nil if the file is empty or not valid.
func Parse(file string, content []byte) (*Decoder, *Node) {
	d := &Decoder{file: file}
	reject := func(e syntaxError) (*Decoder, *Node) {
		d.Add(syntaxDiagnostic(file, e))
		return d, nil
	}
	content, err := Readable(content)
	if err != nil {
		return reject(*err)
	}
	parts, err := split(content)
	switch {
	case err != nil:
		return reject(*err)
	case len(parts) == 0:
		return d, nil
	case len(parts) > 1:
		return reject(syntaxError{Line: parts[1].line, Column: 1, Message: "the file must be one document"})
	}
	root, err := parse(file, parts[0], &d.flaws)
	if err != nil {
		return reject(*err)
	}
	if root != nil {
		d.reportFlaws(root, "")
	}
	return d, root
}

// notPolicy is the hint for a file that is not valid YAML.
const notPolicy = "list the file in .writignore if it is not policy, such as a template"

func joinHints(hint, more string) string {
	if hint == "" {
		return more
	}
	return hint + "; " + more
}

// brokenFile returns the result for a file that cannot be split into documents.
func brokenFile(file string, e syntaxError) File {
	d := syntaxDiagnostic(file, e)
	return File{Undecoded: []Undecoded{{At: d.Position}}, List: diag.List{d}}
}

func syntaxDiagnostic(file string, e syntaxError) diag.Diagnostic {
	return diag.Diagnostic{
		Position: diag.Position{File: file, Line: e.Line, Column: e.Column},
		Code:     diag.YAML, Message: e.Message, Hint: e.Hint,
	}
}

// decoded is the result of decoding one part of a file.
type decoded struct {
	File
	broken bool // the part is not valid YAML
}

// decodeParts decodes the parts of a file, on all cores if there are many.
func (k Kinds) decodeParts(file string, parts []part, o Options) []decoded {
	const batch = 64
	out := make([]decoded, len(parts))
	decodeRange := func(from, to int) {
		for i := from; i < to; i++ {
			out[i] = k.decodePart(file, parts[i], o)
		}
	}
	workers := min(runtime.GOMAXPROCS(0), (len(parts)+batch-1)/batch)
	if workers <= 1 {
		decodeRange(0, len(parts))
		return out
	}
	var group sync.WaitGroup
	next := make(chan int)
	for range workers {
		group.Go(func() {
			for from := range next {
				decodeRange(from, min(from+batch, len(parts)))
			}
		})
	}
	for from := 0; from < len(parts); from += batch {
		next <- from
	}
	close(next)
	group.Wait()
	return out
}

// join combines the parts of a file. Diagnostics after a part that is not valid YAML are
// dropped, because they often result from an unclosed quote or bracket. Documents after
// it are kept, so that references to them are not reported as dangling.
func join(parts []decoded) (whole File) {
	broken := false
	for _, p := range parts {
		whole.Documents = append(whole.Documents, p.Documents...)
		whole.Skipped = append(whole.Skipped, p.Skipped...)
		whole.Undecoded = append(whole.Undecoded, p.Undecoded...)
		if !broken {
			whole.List = append(whole.List, p.List...)
		}
		broken = broken || p.broken
	}
	return whole
}

// decodePart decodes one document of a file.
func (k Kinds) decodePart(file string, p part, o Options) decoded {
	d := &Decoder{file: file, kinds: k, Options: o}
	root, err := parse(file, p, &d.flaws)
	if err != nil {
		err.Hint = joinHints(err.Hint, notPolicy)
		return decoded{File: brokenFile(file, *err), broken: true}
	}
	if root != nil {
		d.Observer.begin(root)
		d.decode(root)
	}
	d.noteDropped(root)
	return decoded{File: File{Documents: d.Out, Skipped: d.Skipped, Undecoded: d.undecoded, List: d.Diags}}
}

// flaw is a mistake that does not prevent parsing, such as a repeated key.
type flaw struct {
	in *Node // the mapping or value that has it
	syntaxError
}

// flaws collects the flaws of a document.
type flaws []flaw

func (f *flaws) add(in *Node, e syntaxError) { *f = append(*f, flaw{in, e}) }

// reportFlaws reports the flaws in a document of a family, except below the key without.
// Flaws of other documents are not reported.
func (d *Decoder) reportFlaws(n *Node, without string) {
	if len(d.flaws) == 0 {
		return
	}
	nodes := make(map[*Node]bool)
	n.visit(without, nodes)
	d.flaws = slices.DeleteFunc(d.flaws, func(f flaw) bool {
		switch {
		case nodes[f.in] && d.fields != nil:
			d.Add(d.objectDiagnostic(f.syntaxError))
		case nodes[f.in]:
			d.Add(syntaxDiagnostic(d.file, f.syntaxError))
		}
		return nodes[f.in]
	})
}

// visit adds n and the nodes below it, except those below the key without.
func (n *Node) visit(without string, nodes map[*Node]bool) {
	if nodes[n] {
		return // reached by an alias
	}
	nodes[n] = true
	for _, item := range n.Items {
		item.visit("", nodes)
	}
	for _, f := range n.Fields {
		nodes[f.Key] = true
		if without == "" || f.Key.Value != without {
			f.Value.visit("", nodes)
		}
	}
}

// parse parses a part in the format of its file. A YAML document that looks like JSON is
// parsed as JSON if that succeeds, because the YAML parser does not support surrogate
// pairs.
func parse(file string, p part, found *flaws) (*Node, *syntaxError) {
	if err := tooLarge(p); err != nil {
		return nil, err
	}
	if path.Ext(file) == ".json" {
		root, err := parseJSON(p, found)
		if err != nil {
			err.Message = "not JSON: " + err.Message
		}
		return root, err
	}
	if looksLikeJSON(p.content) {
		if root, err := parseJSON(p, found); err == nil {
			return root, nil
		}
	}
	root, err := parseYAML(p, found)
	if err != nil {
		err.Message = "not YAML: " + err.Message
	}
	return root, err
}

// tooLarge rejects a large document before it is parsed. It estimates the number of
// values by counting separators, which is never too low.
func tooLarge(p part) *syntaxError {
	const harmless = 8 << 20 // bytes that cannot hold too many values
	if len(p.content) > maxDocumentBytes {
		message := fmt.Sprintf("document of %d bytes, at most %d are read", len(p.content), maxDocumentBytes)
		return &syntaxError{Line: p.line, Column: 1, Message: message, Hint: "split it at \"---\""}
	}
	if len(p.content) <= harmless {
		return nil
	}
	count := 0
	for _, separator := range []string{",", "\n", ":", "[", "{", "- ", "? "} {
		count += bytes.Count(p.content, []byte(separator))
	}
	if count > maxDocumentNodes {
		message := fmt.Sprintf("document of more than %d values", maxDocumentNodes)
		return &syntaxError{Line: p.line, Column: 1, Message: message, Hint: "split it at \"---\""}
	}
	return nil
}

func looksLikeJSON(content []byte) bool {
	text := strings.TrimLeft(string(content[:min(len(content), 64)]), "- \t\r\n")
	return strings.HasPrefix(text, "{")
}

// noteDropped reports how many diagnostics were left out.
func (d *Decoder) noteDropped(root *Node) {
	if d.dropped == 0 {
		return
	}
	severity := diag.Warning
	if d.droppedError {
		severity = diag.Error
	}
	d.Diags.Add(diag.Diagnostic{
		Position: d.At(root), Severity: severity, Code: diag.TooManyMistakes,
		Message: fmt.Sprintf("%d further mistakes in this document are not shown", d.dropped),
	})
}
