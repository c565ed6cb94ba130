package agreement

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/bundles"
	library "github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// runes are characters that some format does not take as they are. Others are random.
var runes = []rune{
	0, '\a', '\b', '\t', '\n', '\v', '\f', '\r', 0x1b, '"', '\'', '`', '\\', '#', '{', '}', '$', '%', ':', '/', 0x7f, 0x80, 0x85,
	0xa0, 0xad, 0x300, 0x200b, 0x200d, 0x2028, 0x2029, 0x202e, 0xfeff, 0xfffd, 0xffff, 0x1f600, 0xe0001, 0x10ffff,
}

func randomRune(r *rand.Rand) rune {
	if r.IntN(3) > 0 {
		return runes[r.IntN(len(runes))]
	}
	for {
		if c := rune(r.IntN(0x110000)); c < 0xd800 || c > 0xdfff {
			return c
		}
	}
}

// randomText is a text of one to twelve characters.
func randomText(r *rand.Rand) string {
	text := make([]rune, 1+r.IntN(12))
	for i := range text {
		text[i] = randomRune(r)
	}
	return string(text)
}

// exampleDirs are the policy directories of the examples and of the conformance cases.
func exampleDirs(t *testing.T) []*exampleDir {
	t.Helper()
	folders, err := filepath.Glob("../conformance/*/*/policies")
	if err != nil {
		t.Fatal(err)
	}
	var all []*exampleDir
	for _, folder := range append([]string{"../../examples/policies"}, folders...) {
		if d := readDir(t, folder); d != nil {
			all = append(all, d)
		}
	}
	return all
}

// exampleDir is a policy directory whose documents can be changed.
type exampleDir struct {
	folder    string
	documents map[string][]*yaml.Node
	others    map[string][]byte // files that are not documents
	// texts are the places that take a text, by kind and path of fields.
	texts map[string][]*yaml.Node
	kinds map[string]bool
}

// readDir returns nil for a directory that does not compile.
func readDir(t *testing.T, folder string) *exampleDir {
	t.Helper()
	d := &exampleDir{folder: folder, documents: map[string][]*yaml.Node{}, others: map[string][]byte{}, texts: map[string][]*yaml.Node{}, kinds: map[string]bool{}}
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			d.others[path] = content
			return nil
		}
		d.decode(path, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if result, _ := translator.New(translator.Options{}).Translate(t.Context(), d.snapshot()); result == nil {
		return nil
	}
	return d
}

func (d *exampleDir) decode(path string, content []byte) {
	for decoder := yaml.NewDecoder(bytes.NewReader(content)); ; {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			return
		}
		d.documents[path] = append(d.documents[path], &document)
		if len(document.Content) == 1 {
			kind := fieldOf(document.Content[0], "apiVersion") + " " + fieldOf(document.Content[0], "kind")
			d.kinds[kind] = true
			d.visit(kind, document.Content[0])
		}
	}
}

func fieldOf(object *yaml.Node, name string) string {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == name {
			return object.Content[i+1].Value
		}
	}
	return ""
}

// visit collects the texts below a place: values, and the keys of objects, which may be
// names that the document chooses.
func (d *exampleDir) visit(place string, n *yaml.Node) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!str" {
			d.texts[place] = append(d.texts[place], n)
		}
	case yaml.SequenceNode:
		for _, element := range n.Content {
			d.visit(place+"[]", element)
		}
	case yaml.DocumentNode, yaml.AliasNode:
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			d.texts[place+" key"] = append(d.texts[place+" key"], n.Content[i])
			d.visit(place+"."+n.Content[i].Value, n.Content[i+1])
		}
	}
}

// snapshot is the directory as it is now.
func (d *exampleDir) snapshot() source.Snapshot {
	var s source.Snapshot
	add := func(path string, content []byte) {
		s.Files = append(s.Files, source.NewFile(path, content))
	}
	for path, list := range d.documents {
		var all []string
		for _, document := range list {
			var out strings.Builder
			jsonOf(&out, document)
			all = append(all, out.String())
		}
		add(strings.TrimSuffix(path, ".json")+".yaml", []byte(strings.Join(all, "\n---\n")))
	}
	for path, content := range d.others {
		add(path, content)
	}
	slices.SortFunc(s.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return s
}

// example is a place that takes a text, in the first directory that has it.
type example struct {
	place string
	node  *yaml.Node
}

// placesOf are the places of each directory that no directory before it has.
func placesOf(dirs []*exampleDir, r *rand.Rand) map[*exampleDir][]example {
	seen := make(map[string]bool)
	places := make(map[*exampleDir][]example)
	for _, d := range dirs {
		for _, place := range slices.Sorted(maps.Keys(d.texts)) {
			if !seen[place] {
				seen[place] = true
				places[d] = append(places[d], example{place, d.texts[place][r.IntN(len(d.texts[place]))]})
			}
		}
	}
	return places
}

// Each kind has an example, so that its texts are tried.
func TestEachKindHasAnExample(t *testing.T) {
	dirs := exampleDirs(t)
	if len(dirs) < 50 {
		t.Fatalf("%d directories compile, which cannot be all", len(dirs))
	}
	for _, kind := range translator.Kinds() {
		if kind.SkippedIn != "" || kind.Suffix != "" {
			continue
		}
		name := kind.APIVersion + " " + kind.Name
		if !slices.ContainsFunc(dirs, func(d *exampleDir) bool { return d.kinds[name] }) {
			t.Errorf("no example of %s", name)
		}
	}
}

// jsonOf writes a node as JSON with escapes, which takes every character.
func jsonOf(out *strings.Builder, n *yaml.Node) {
	switch n.Kind {
	case yaml.DocumentNode:
		jsonOf(out, n.Content[0])
	case yaml.MappingNode:
		out.WriteString("{")
		for i := 0; i < len(n.Content); i += 2 {
			if i > 0 {
				out.WriteString(", ")
			}
			out.WriteString(escaped(n.Content[i].Value) + ": ")
			jsonOf(out, n.Content[i+1])
		}
		out.WriteString("}")
	case yaml.SequenceNode:
		out.WriteString("[")
		for i, inner := range n.Content {
			if i > 0 {
				out.WriteString(", ")
			}
			jsonOf(out, inner)
		}
		out.WriteString("]")
	case yaml.AliasNode:
		jsonOf(out, n.Alias)
	default:
		if n.Tag == "!!str" {
			out.WriteString(escaped(n.Value))
		} else {
			out.WriteString(n.Value)
		}
	}
}

func escaped(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, c := range text {
		switch {
		case c > 0xffff:
			c -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		case c < ' ' || c > '~' || c == '"' || c == '\\':
			fmt.Fprintf(&out, `\u%04x`, c)
		default:
			out.WriteRune(c)
		}
	}
	return out.String() + `"`
}

// A round changes the examples and one of dirsEvery other directories.
const dirsEvery = 5

// Text of any characters in any place of a document, or in the name of a file, is either
// a diagnostic, or the bundle is built, checked and activated, and a stock OPA accepts it.
func TestTextsOfAllUnicode(t *testing.T) {
	gate.Only(t)
	t.Parallel()
	r := rand.New(rand.NewPCG(uint64(firstWorld()), 12))
	accepted, activated, tried, known := 0, 0, 0, 0
	for range max(1, worlds()/20) {
		dirs := exampleDirs(t)
		all := placesOf(dirs, r)
		for i, d := range dirs {
			places := all[d]
			known += len(places)
			if len(places) == 0 || i > 0 && r.IntN(dirsEvery) > 0 {
				continue
			}
			changes := d.change(t, places, r)
			tried += len(places)
			accepted += len(changes)
			result, list := translator.New(translator.Options{Tests: true}).Translate(t.Context(), d.renamed(r))
			if result == nil {
				t.Fatalf("%s: documents without errors have some in another translation: %v\nchanged:\n%s", d.folder, list, strings.Join(changes, "\n"))
			}
			if err := activates(t.Context(), result); err != nil {
				t.Fatalf("%s: %v\nchanged:\n%s", d.folder, err, strings.Join(changes, "\n"))
			}
			activated++
		}
	}
	t.Logf("%d of %d changes of %d places are accepted, %d bundles are active", accepted, tried, known, activated)
	if accepted < 50 || known < 200 {
		t.Errorf("%d changes of %d places are accepted, which cannot be all", accepted, known)
	}
}

// change writes a random text into each place and keeps it where the documents still have
// no error. It returns what it changed.
func (d *exampleDir) change(t *testing.T, places []example, r *rand.Rand) (changes []string) {
	one := translator.New(translator.Options{})
	for _, at := range places {
		old := []rune(at.node.Value)
		cut := r.IntN(len(old) + 1)
		at.node.Value = string(old[:cut]) + randomText(r) + string(old[cut:])
		if result, _ := one.Translate(t.Context(), d.snapshot()); result == nil {
			at.node.Value = string(old)
			continue
		}
		changes = append(changes, at.place+": "+strconv.QuoteToASCII(at.node.Value))
	}
	return changes
}

// renamed is the directory with random texts in the names of its files. Documents without
// errors have none in another file.
func (d *exampleDir) renamed(r *rand.Rand) source.Snapshot {
	s := d.snapshot()
	for i := range s.Files {
		if f := &s.Files[i]; strings.HasSuffix(f.Path, ".yaml") {
			name := strings.NewReplacer("/", "", "\x00", "").Replace(randomText(r))
			f.Path = strings.TrimSuffix(f.Path, ".yaml") + name + ".yaml"
		}
	}
	slices.SortFunc(s.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return s
}

// activates builds, checks and activates a bundle, and loads it as a stock OPA does.
func activates(ctx context.Context, result *translator.Result) error {
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		return err
	}
	if err := bundles.Check(b); err != nil {
		return err
	}
	if _, err := engine.Activate(ctx, b, engine.Options{}); err != nil {
		return err
	}
	return stockChecks(b)
}

// stockChecks is what the command opa check does with a bundle.
func stockChecks(b *bundles.Bundle) error {
	var tar bytes.Buffer
	if err := b.WriteTar(&tar); err != nil {
		return err
	}
	read, err := bundle.NewCustomReader(bundle.NewTarballLoaderWithBaseURL(&tar, "")).WithProcessAnnotations(true).Read()
	if err != nil {
		return fmt.Errorf("stock OPA reads the bundle: %w", err)
	}
	modules := make(map[string]*ast.Module)
	for _, module := range read.Modules {
		modules[module.Path] = module.Parsed
	}
	compiler := ast.NewCompiler().WithStrict(true)
	if library.Compile(func() { compiler.Compile(modules) }); compiler.Failed() {
		return fmt.Errorf("stock OPA compiles the bundle: %w", compiler.Errors)
	}
	return nil
}
