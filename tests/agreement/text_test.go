package agreement

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/engine"
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

// text is a place in the documents of the examples.
type text struct {
	file string
	node *yaml.Node
}

// examples reads the documents of the examples and all places in them that have text.
func examples(t *testing.T) (documents map[string][]*yaml.Node, texts []text) {
	t.Helper()
	documents = make(map[string][]*yaml.Node)
	root := os.DirFS("../../examples/policies")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		for decoder := yaml.NewDecoder(strings.NewReader(string(content))); ; {
			var document yaml.Node
			if err := decoder.Decode(&document); err != nil {
				break
			}
			documents[path] = append(documents[path], &document)
			var visit func(*yaml.Node)
			visit = func(n *yaml.Node) {
				if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
					texts = append(texts, text{path, n})
				}
				for _, inner := range n.Content {
					visit(inner)
				}
			}
			visit(&document)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return documents, texts
}

func write(t *testing.T, documents map[string][]*yaml.Node) source.Snapshot {
	t.Helper()
	var s source.Snapshot
	for path, list := range documents {
		var all []string
		for _, document := range list {
			var out strings.Builder
			jsonOf(&out, document)
			all = append(all, out.String())
		}
		content := []byte(strings.Join(all, "\n---\n"))
		s.Files = append(s.Files, source.File{Path: path, Content: content, Hash: sha256.Sum256(content)})
	}
	for _, name := range []string{"extensions/owned_by_team.rego"} {
		if content, err := os.ReadFile("../../examples/policies/" + name); err == nil {
			s.Files = append(s.Files, source.File{Path: name, Content: content, Hash: sha256.Sum256(content)})
		}
	}
	return s
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

// Text with any character in any place is either a diagnostic, or the bundle is built,
// checked and activated.
func TestTextsOfAllUnicode(t *testing.T) {
	const batch = 40
	r := rand.New(rand.NewPCG(uint64(*firstWorld), 12))
	documents, texts := examples(t)
	one := translator.New(translator.Options{})
	if result, list := one.Translate(t.Context(), write(t, documents)); result == nil {
		t.Fatal(list)
	}
	accepted, activated, tried := 0, 0, 0
	for range *worlds {
		var changed []text
		var before []string
		for range batch {
			at := texts[r.IntN(len(texts))]
			old := at.node.Value
			cut := 0
			if len(old) > 0 {
				cut = r.IntN(len([]rune(old)) + 1)
			}
			at.node.Value = string([]rune(old)[:cut]) + string(randomRune(r)) + string([]rune(old)[cut:])
			tried++
			if result, _ := one.Translate(t.Context(), write(t, documents)); result == nil {
				at.node.Value = old
				continue
			}
			changed, before = append(changed, at), append(before, old)
		}
		accepted += len(changed)
		result, list := translator.New(translator.Options{Tests: true}).Translate(t.Context(), write(t, documents))
		if result == nil {
			t.Fatalf("documents without errors have some in another translation: %v", list)
		}
		if err := activates(t.Context(), result); err != nil {
			var values []string
			for _, c := range changed {
				values = append(values, c.file+": "+strconv.QuoteToASCII(c.node.Value))
			}
			t.Fatalf("%v\nchanged:\n%s", err, strings.Join(values, "\n"))
		}
		activated++
		for i := len(changed) - 1; i >= 0; i-- {
			changed[i].node.Value = before[i]
		}
	}
	t.Logf("%d of %d changes are accepted, %d bundles are active", accepted, tried, activated)
	if accepted == 0 {
		t.Error("no change is accepted")
	}
}

func activates(ctx context.Context, result *translator.Result) error {
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		return err
	}
	if err := bundles.Check(b); err != nil {
		return err
	}
	_, err = engine.Activate(ctx, b, engine.Options{})
	return err
}
