package editor

import (
	"bytes"
	"cmp"
	"path"
	"slices"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// Analysis is what a directory was at one moment. It is immutable.
type Analysis struct {
	// List are the diagnostics, sorted.
	List diag.List
	// Result is nil if List has errors.
	Result *translator.Result
	// Snapshot is what was analysed.
	Snapshot source.Snapshot

	words    func() *words // that the last documents without errors name; nil before
	master   string
	contents map[string][]byte
	names    map[string][]name // by file, in the order of positions
	byTarget map[directory.Identity][]name
}

// name is a place where a document is named: by itself, or by another one.
type name struct {
	at         diag.Position
	target     directory.Identity
	isDeclared bool
	by         directory.Identity // the document that names it
}

func newAnalysis(t *translator.Translator, snapshot source.Snapshot) *Analysis {
	a := &Analysis{
		master:   t.Master(),
		contents: make(map[string][]byte, len(snapshot.Files)),
		names:    make(map[string][]name),
		byTarget: make(map[directory.Identity][]name),
	}
	for _, f := range snapshot.Files {
		a.contents[f.Path] = f.Content.Bytes()
	}
	for _, d := range t.Documents() {
		h := d.Meta()
		id := directory.Identity{Family: h.Family, Kind: h.Kind, Namespace: h.Namespace, Name: h.Name}
		a.add(name{h.NameAt, id, true, id})
		referrer, ok := d.(syntax.Referrer)
		if !ok {
			continue
		}
		for _, r := range referrer.References(a.master) {
			a.add(name{r.At, directory.Identity{Family: r.Family, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}, false, id})
		}
	}
	return a
}

func (a *Analysis) add(n name) {
	if n.target.Name == "" || n.at.Line == 0 {
		return
	}
	a.names[n.at.File] = append(a.names[n.at.File], n)
	a.byTarget[n.target] = append(a.byTarget[n.target], n)
}

// Range is a part of a line: from a position, so many runes.
type Range struct {
	diag.Position
	Length int
}

// Definition returns where the document is declared that is named at a position.
func (a *Analysis) Definition(at diag.Position) []Range {
	return a.places(at, func(n name) bool { return n.isDeclared })
}

// References returns where the document is named that is named at a position; withDeclared
// adds its declaration.
func (a *Analysis) References(at diag.Position, withDeclared bool) []Range {
	return a.places(at, func(n name) bool { return withDeclared || !n.isDeclared })
}

func (a *Analysis) places(at diag.Position, take func(name) bool) (out []Range) {
	for _, n := range a.names[at.File] {
		if !covers(n.at, len([]rune(n.target.Name)), at) {
			continue
		}
		for _, other := range a.byTarget[n.target] {
			if take(other) {
				out = append(out, Range{other.at, len([]rune(other.target.Name))})
			}
		}
		break
	}
	slices.SortFunc(out, func(a, b Range) int { return a.Compare(b.Position) })
	return out
}

// covers reports whether a position is in a part of a line, or at its end. A quoted text
// has two more runes.
func covers(from diag.Position, length int, at diag.Position) bool {
	return at.Line == from.Line && from.Column <= at.Column && at.Column <= from.Column+length+2
}

// named returns the names of the documents that have the family, kind and namespace of a
// reference.
func (a *Analysis) named(r syntax.Reference) (out []string) {
	for id, names := range a.byTarget {
		isSought := id.Family == r.Family && id.Kind == r.Kind && id.Namespace == r.Namespace
		if isSought && slices.ContainsFunc(names, func(n name) bool { return n.isDeclared }) {
			out = append(out, id.Name)
		}
	}
	return out
}

// Declaration is a document of a file, at its name.
type Declaration struct {
	Range
	// Title is the kind, the namespace and the name.
	Title string
}

// Declared returns the documents of a file, in their order.
func (a *Analysis) Declared(file string) (out []Declaration) {
	for _, n := range a.names[file] {
		if n.isDeclared {
			out = append(out, Declaration{Range{n.at, len([]rune(n.target.Name))}, titleOf(n.target)})
		}
	}
	slices.SortFunc(out, func(a, b Declaration) int { return a.Compare(b.Position) })
	return out
}

func titleOf(id directory.Identity) string { return id.Kind + " " + path.Join(id.Namespace, id.Name) }

// At returns the diagnostics that cover a position.
func (a *Analysis) At(at diag.Position) (out diag.List) {
	for _, d := range a.List {
		if d.File == at.File && covers(d.Position, max(d.Length, 1), at) {
			out = append(out, d)
		}
	}
	return out
}

// Content returns the text of a file, nil if the directory does not have it. It must not be
// modified.
func (a *Analysis) Content(file string) []byte { return a.contents[file] }

// Explanation returns what a diagnostic means, as Markdown.
func Explanation(d diag.Diagnostic) string {
	var out bytes.Buffer
	out.WriteString("**" + string(d.Code) + "**: " + d.Message + "\n")
	part := func(text string) {
		if text != "" {
			out.WriteString("\n" + text + "\n")
		}
	}
	part(d.Hint)
	e, _ := diag.Explain(d.Code)
	part(cmp.Or(e.Text, e.Summary))
	for _, example := range [][2]string{{"For example:", e.Example}, {"Instead:", e.Instead}} {
		if example[1] != "" {
			part(example[0] + "\n\n```yaml\n" + trimEnd(example[1]) + "\n```")
		}
	}
	return out.String()
}

func trimEnd(text string) string { return string(bytes.TrimRight([]byte(text), "\n")) }
