package syntax

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/writ-policy/writ/internal/parallel"
	"github.com/writ-policy/writ/rego"
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
	// StrictRoutes makes it an error that a route of the source matches the same requests as
	// one of another namespace.
	StrictRoutes bool
	// ForbidUnset makes it an error that a gateway policy of the source unsets rules.
	ForbidUnset bool
	// Observer, unless nil, notes how the document is read. The decoder must then decode a
	// single document.
	Observer *Observer
	// Shared, unless nil, holds what documents have in common.
	Shared *Shared
	// Rego, unless nil, bounds the time for all modules of a snapshot.
	Rego *rego.Budget
}

// pointerOfLFS begins a file whose content Git LFS stores elsewhere. It is valid YAML
// without a kind: a denial in it would be skipped as a document of others.
const pointerOfLFS = "version https://git-lfs.github.com/spec/"

// Decode decodes the documents of a file. The name of the file determines its format: a
// suffix of a kind selects that kind, *.json is JSON, and all other files are YAML. Decode
// does not panic and is safe for concurrent use.
func (k Kinds) Decode(file string, content []byte, o Options) File {
	return k.DecodeAgain(file, content, o, nil)
}

// DecodeAgain is Decode for a file that was decoded before, unless before is nil: documents that
// have the same text on the same lines are the same values, so that what they were lowered to
// can be kept.
func (k Kinds) DecodeAgain(file string, content []byte, o Options, before *Former) File {
	if bytes.HasPrefix(content, []byte(pointerOfLFS)) {
		return brokenFile(file, syntaxError{
			Line: 1, Column: 1, Message: "the file is a pointer of Git LFS, not its content",
			Hint: "run git lfs pull, or keep documents out of Git LFS",
		})
	}
	for i := range k {
		if k[i].Suffix != "" && strings.HasSuffix(file, k[i].Suffix) {
			return k[i].DecodeFile(file, content, o)
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
	parts = cutObjects(file, parts)
	return join(k.decodeParts(file, parts, before.decoded(parts, o), o))
}

// decoded is the result of decoding one part of a file.
type decoded struct {
	File
	broken bool // the part is not valid YAML
}

// decodeParts decodes the parts of a file that are not known, on all cores if there are many.
func (k Kinds) decodeParts(file string, parts []part, known []*decoded, o Options) []decoded {
	out := make([]decoded, len(parts))
	parallel.Each(len(parts), 16, func(from, end int) {
		if known == nil {
			parseTogether(parts[from:end])
		}
		for i := from; i < end; i++ {
			if known != nil && known[i] != nil {
				out[i] = *known[i]
				continue
			}
			out[i] = k.decodePart(file, parts[i], o)
		}
	})
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

// parse parses a part in the format of its file. A YAML document that looks like JSON is
// parsed as JSON if that succeeds, because the YAML parser does not support surrogate
// pairs.
func parse(file string, p part, found *flaws) (*Node, *syntaxError) {
	if err := tooLarge(p); err != nil {
		return nil, err
	}
	if p.isJSON || path.Ext(file) == ".json" {
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
	return bytes.HasPrefix(bytes.TrimLeft(content[:min(len(content), 64)], "- \t\r\n"), []byte("{"))
}

// Former is what a file was decoded to before.
type Former struct {
	// Content returns the text.
	Content func() []byte
	Options Options
	File
}

// decoded returns what some parts of the file were decoded to before, nil for those that must be
// decoded. It returns nil for none: only files without a diagnostic are known part by part.
func (f *Former) decoded(parts []part, o Options) []*decoded {
	if f == nil || f.Options != o || len(f.List)+len(f.Undecoded) > 0 {
		return nil
	}
	content, err := Readable(f.Content())
	if err != nil {
		return nil
	}
	former, err := split(content)
	if err != nil {
		return nil
	}
	by := f.byPart(former)
	if by == nil {
		return nil
	}
	out := make([]*decoded, len(parts))
	for i, p := range parts {
		at, isThere := slices.BinarySearchFunc(former, p.line, func(p part, line int) int { return p.line - line })
		if isThere && p.before == 0 && !p.isJSON && bytes.Equal(former[at].content, p.content) && !mayHaveRego(p.content) {
			out[i] = &by[at]
		}
	}
	return out
}

// mayHaveRego reports whether a text may have modules of Rego, whose time is counted when they are
// decoded. A key may be written with escapes.
func mayHaveRego(content []byte) bool {
	return bytes.IndexByte(content, '\\') >= 0 || bytes.Contains(bytes.ToLower(content), []byte("rego"))
}

// byPart returns what each part was decoded to, nil if that is not known.
func (f *Former) byPart(parts []part) []decoded {
	out := make([]decoded, len(parts))
	partOf := func(at diag.Position) *decoded {
		i := sort.Search(len(parts), func(i int) bool { return parts[i].line > at.Line }) - 1
		if i < 0 {
			return nil
		}
		return &out[i]
	}
	for _, d := range f.Documents {
		p := partOf(d.Meta().At)
		if p == nil {
			return nil
		}
		p.Documents = append(p.Documents, d)
	}
	for _, s := range f.Skipped {
		p := partOf(s.At)
		if p == nil {
			return nil
		}
		p.Skipped = append(p.Skipped, s)
	}
	return out
}
