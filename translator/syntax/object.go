package syntax

import (
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// DecodeObject decodes one object of an API server, which is JSON in one line. Positions
// have its name as the file and the paths of fields. It does not panic and is safe for
// concurrent use.
func (k Kinds) DecodeObject(name string, content []byte, o Options) File {
	d := &Decoder{file: name, kinds: k, Options: o, fields: fieldPaths{}}
	p := part{content: content, line: 1}
	if err := tooLarge(p); err != nil {
		return File{List: diag.List{d.objectDiagnostic(*err)}}
	}
	root, err := parseJSON(p, &d.flaws)
	switch {
	case err != nil:
		return File{List: diag.List{d.objectDiagnostic(*err)}}
	case root == nil:
		return File{List: diag.List{d.objectDiagnostic(syntaxError{Message: "the object is empty"})}}
	}
	d.fields.add(root, "")
	d.decode(root)
	d.noteDropped(root)
	return File{Documents: d.Out, Skipped: d.Skipped, Undecoded: d.undecoded, List: d.Diags}
}

func (d *Decoder) objectDiagnostic(e syntaxError) diag.Diagnostic {
	g := syntaxDiagnostic(d.file, e)
	g.Field, g.Hint = diag.WholeObject, ""
	return g
}

// fieldPaths are the paths of the nodes of an object by line and column. Nodes that
// decoders derive from others have the positions of those.
type fieldPaths map[[2]int]string

// of returns the path of a node, empty if the paths are nil.
func (p fieldPaths) of(n *Node) string {
	if p == nil {
		return ""
	}
	if path := p[[2]int{n.Line, n.Column}]; path != "" {
		return path
	}
	return diag.WholeObject
}

// add adds the paths of n, which is at path, and of all nodes below it.
func (p fieldPaths) add(n *Node, path string) {
	p[[2]int{n.Line, n.Column}] = path
	for i, item := range n.Items {
		p.add(item, path+"["+strconv.Itoa(i)+"]")
	}
	for _, f := range n.Fields {
		below := joinPath(path, f.Key.Value)
		p.add(f.Value, below)
		p[[2]int{f.Key.Line, f.Key.Column}] = p.of(f.Value)
	}
}

// joinPath returns the path of a field, as Kubernetes writes it: a key that is not a plain
// name is in brackets.
func joinPath(path, key string) string {
	plain := key != "" && strings.IndexFunc(key, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
	switch {
	case !plain:
		return path + "[" + Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
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
