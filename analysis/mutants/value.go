package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/syntax"
)

// value is a part of a document. The zero value is absent.
type value struct{ *yaml.Node }

// get returns a member of a mapping.
func (v value) get(keys ...string) value {
	for _, key := range keys {
		v = v.member(key)
	}
	return v
}

func (v value) member(key string) value {
	if !v.isMapping() {
		return value{}
	}
	for i := 0; i+1 < len(v.Content); i += 2 {
		if v.Content[i].Value == key {
			return value{v.Content[i+1]}
		}
	}
	return value{}
}

func (v value) isList() bool { return v.Node != nil && v.Kind == yaml.SequenceNode }

func (v value) isMapping() bool { return v.Node != nil && v.Kind == yaml.MappingNode }

// items returns the elements of a list.
func (v value) items() []value {
	if !v.isList() {
		return nil
	}
	return elements.Map(v.Content, func(n *yaml.Node) value { return value{n} })
}

// members calls visit with the keys and values of a mapping.
func (v value) members(visit func(key string, member value)) {
	if !v.isMapping() {
		return
	}
	for i := 0; i+1 < len(v.Content); i += 2 {
		visit(v.Content[i].Value, value{v.Content[i+1]})
	}
}

func (v value) text() string {
	if v.Node == nil || v.Kind != yaml.ScalarNode {
		return ""
	}
	return v.Value
}

// texts returns the elements of a list of texts.
func (v value) texts() []string {
	return elements.Map(v.items(), value.text)
}

func (v value) has(text string) bool { return slices.Contains(v.texts(), text) }

// set sets a member of a mapping.
func (v value) set(key string, to *yaml.Node) {
	for i := 0; i+1 < len(v.Content); i += 2 {
		if v.Content[i].Value == key {
			v.Content[i+1] = to
			return
		}
	}
	v.Content = append(v.Content, scalar(key), to)
}

func (v value) drop(key string) {
	for i := 0; i+1 < len(v.Content); i += 2 {
		if v.Content[i].Value == key {
			v.Content = slices.Delete(slices.Clone(v.Content), i, i+2)
			return
		}
	}
}

// add adds elements to a list.
func (v value) add(nodes ...*yaml.Node) { v.Content = append(slices.Clone(v.Content), nodes...) }

// remove removes an element of a list.
func (v value) remove(i int) { v.Content = slices.Delete(slices.Clone(v.Content), i, i+1) }

func scalar(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

func boolean(is bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(is)}
}

func number(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: text}
}

func list(texts ...string) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: elements.Map(texts, scalar)}
}

// mapping returns a mapping of keys and values in turn.
func mapping(pairs ...any) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(pairs); i += 2 {
		to, isNode := pairs[i+1].(*yaml.Node)
		if !isNode {
			to = scalar(pairs[i+1].(string))
		}
		out.Content = append(out.Content, scalar(pairs[i].(string)), to)
	}
	return out
}

// clone returns a deep copy.
func clone(n *yaml.Node) *yaml.Node {
	out := *n
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		out.Content[i] = clone(child)
	}
	return &out
}

var errAlias = errors.New("a file with anchors is not changed")

// parse returns the documents of a file. It returns an error for what is not YAML, and for
// anchors, which stand for more than one place.
func parse(content []byte) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var out []*yaml.Node
	for {
		var n yaml.Node
		switch err := decoder.Decode(&n); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		case len(n.Content) == 0 || n.Content[0].Kind != yaml.MappingNode:
			continue
		case hasAlias(n.Content[0]):
			return nil, errAlias
		}
		out = append(out, n.Content[0])
	}
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || n.Tag == "!!merge" || slices.ContainsFunc(n.Content, hasAlias)
}

// render appends a node as JSON, which is YAML too.
func render(out *bytes.Buffer, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		out.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				out.WriteString(", ")
			}
			out.Write(jsontext.AppendString(nil, n.Content[i].Value))
			out.WriteString(": ")
			render(out, n.Content[i+1])
		}
		out.WriteByte('}')
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, child := range n.Content {
			if i > 0 {
				out.WriteString(", ")
			}
			render(out, child)
		}
		out.WriteByte(']')
	default:
		switch tag := n.ShortTag(); {
		case tag == "!!null":
			out.WriteString("null")
		case (tag == "!!int" || tag == "!!float" || tag == "!!bool") && json.Valid([]byte(n.Value)):
			out.WriteString(n.Value)
		default:
			out.Write(jsontext.AppendString(nil, n.Value))
		}
	}
}

// write returns a file in which a document is another one. All else stays on its line.
func write(name string, content []byte, document, changed *yaml.Node) []byte {
	parts, _ := syntax.Parts(name, content) // the file is one that compiles
	at := slices.IndexFunc(parts, func(p syntax.Part) bool { return p.Root != nil && p.Root.Line == document.Line })
	if at < 0 {
		return content
	}
	before, own := content[:parts[at].Start], content[parts[at].Start:parts[at].End]
	var out bytes.Buffer
	out.Write(before)
	if bytes.HasPrefix(own, []byte("---")) {
		out.WriteString("--- ")
	}
	line := 1 + bytes.Count(before, []byte("\n"))
	end := line + bytes.Count(own, []byte("\n"))
	for ; line < document.Line; line++ {
		out.WriteByte('\n')
	}
	render(&out, changed)
	for ; line < end; line++ {
		out.WriteByte('\n')
	}
	out.Write(content[parts[at].End:])
	return out.Bytes()
}
