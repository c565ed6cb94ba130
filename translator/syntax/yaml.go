package syntax

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// parseYAML parses one YAML document. A nil node without an error is an empty document.
// Errors that do not prevent parsing, such as a repeated key, are added to found.
func parseYAML(p part, found *flaws) (root *Node, err *syntaxError) {
	if p.parsed == nil {
		own, e := unmarshal(p.content, 1)
		if e != nil {
			return nil, locate(p, e)
		}
		p.parsed, own[0].Line = &own[0], 1
	}
	if len(p.parsed.Content) == 0 {
		return nil, nil
	}
	c := converter{shift: p.line - p.parsed.Line, found: found}
	root, err = c.node(p.parsed.Content[0], 1)
	if err != nil || root.Type == null {
		return nil, err
	}
	return root, nil
}

// parseTogether parses parts with one parser: a parser for each takes a quarter more time and half
// more memory. Parts that hold or may hold what a document states for the next ones, an anchor or a
// directive, are left for a parser of their own, and so are all if one has a mistake.
func parseTogether(parts []part) {
	var together []*part
	var texts [][]byte
	for i := range parts {
		if parts[i].isPlain() {
			together, texts = append(together, &parts[i]), append(texts, parts[i].content)
		}
	}
	nodes, err := unmarshal(bytes.Join(texts, nil), len(texts))
	if err == nil && len(nodes) > 0 && nodes[len(nodes)-1].Kind != 0 {
		for i, p := range together {
			p.parsed = &nodes[i]
		}
	}
}

// isPlain reports whether a part may be parsed together with others: it is small, and begins with a
// marker, so that it is a document wherever it stands.
func (p *part) isPlain() bool {
	end, _ := lineEnd(p.content, 0)
	return isMarker(p.content[:end], "---") && len(p.content) <= 1<<12 && !p.isJSON && !looksLikeJSON(p.content) &&
		bytes.IndexByte(p.content, '&') < 0 && bytes.IndexByte(p.content, '%') < 0
}

// unmarshal parses the n documents of content. It returns an error for text after them, which
// yaml.Unmarshal ignores, and for a panic of the parser. Documents that are not there have no kind.
func unmarshal(content []byte, n int) (documents []yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	documents = make([]yaml.Node, n+1)
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for i := range documents {
		if err = decoder.Decode(&documents[i]); err != nil {
			break
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, cmp.Or(err, errors.New("yaml: text after the document"))
	}
	return documents[:n], nil
}

// converter converts the nodes of the parser to Nodes and enforces the limits.
type converter struct {
	shift int // lines before the document
	found *flaws
	// anchors holds what an anchored node became and how many nodes it stands
	// for; a nil entry is one that is being built, so that an alias to it is a
	// circle.
	anchors map[*yaml.Node]*anchored
	// built is the weight of the nodes built so far, those behind aliases
	// included; aliased of those behind aliases alone.
	built, aliased int
	free           []Node // room for the next nodes
}

type anchored struct {
	node  *Node
	count int
	depth int
}

func (c *converter) fail(n *yaml.Node, format string, args ...any) *syntaxError {
	return &syntaxError{Line: n.Line + c.shift, Column: n.Column, Message: fmt.Sprintf(format, args...)}
}

// node converts one node and everything below it.
func (c *converter) node(n *yaml.Node, depth int) (*Node, *syntaxError) {
	if depth > maxDepth {
		return nil, c.fail(n, "nested deeper than %d levels", maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		return c.alias(n, depth)
	}
	if n.Anchor == "" {
		return c.plain(n, depth)
	}
	if c.anchors == nil {
		c.anchors = map[*yaml.Node]*anchored{}
	}
	c.anchors[n] = nil
	before := c.built
	out, err := c.plain(n, depth)
	if err != nil {
		return nil, err
	}
	c.anchors[n] = &anchored{node: out, count: c.built - before, depth: out.depth()}
	return out, nil
}

// depth returns the number of levels from n down.
func (n *Node) depth() int {
	deepest := 0
	for _, item := range n.Items {
		deepest = max(deepest, item.depth())
	}
	for _, f := range n.Fields {
		deepest = max(deepest, f.Value.depth())
	}
	return deepest + 1
}

func (c *converter) alias(n *yaml.Node, depth int) (*Node, *syntaxError) {
	target := c.anchors[n.Alias]
	if target == nil {
		return nil, c.fail(n, "alias *%s is inside what it stands for", n.Value)
	}
	c.built += target.count
	c.aliased += target.count
	if c.aliased > maxAliasNodes {
		return nil, c.fail(n, "aliases stand for more than %d values", maxAliasNodes)
	}
	if depth+target.depth-1 > maxDepth {
		return nil, c.fail(n, "nested deeper than %d levels", maxDepth)
	}
	return target.node, nil
}

func (c *converter) plain(n *yaml.Node, depth int) (*Node, *syntaxError) {
	c.built += 1 + len(n.Value)/64 // a long text behind an alias is many nodes
	if len(c.free) == 0 {
		c.free = make([]Node, 10) // they fill a piece of memory
	}
	out := &c.free[0]
	out.Line, out.Column, c.free = n.Line+c.shift, n.Column, c.free[1:]
	unfit := c.tag(n)
	if unfit != nil {
		c.found.add(out, *unfit)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		out.Value = n.Value
		out.Quoted = n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
		out.Explicit = !out.Quoted && isString(n)
		out.Type = scalarKind(n)
		if unfit == nil && n.Style&yaml.TaggedStyle != 0 && out.Type != taggedKind[n.Tag] {
			c.found.add(out, *c.fail(n, "%s is not %s", Quote(n.Value), n.Tag))
		}
		return out, nil
	case yaml.SequenceNode:
		out.Type = List
		out.Items = make([]*Node, len(n.Content))
		for i, item := range n.Content {
			child, err := c.node(item, depth+1)
			if err != nil {
				return nil, err
			}
			out.Items[i] = child
		}
		n.Content = nil // a big document is not held twice
		return out, nil
	default:
		out.Type = Mapping
		return out, c.mapping(n, out, depth)
	}
}

// mapping converts the entries of a mapping. Entries that "<<" merges follow its own
// entries and do not replace them.
func (c *converter) mapping(n *yaml.Node, out *Node, depth int) *syntaxError {
	out.Fields = make([]Field, 0, len(n.Content)/2)
	keys := new(keySet)
	var merge *Field // the entry "<<"
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		child, err := c.node(value, depth+1)
		if err != nil {
			return err
		}
		if key.Kind == yaml.ScalarNode && key.Tag == "!!merge" {
			f := &Field{&Node{Type: String, Value: key.Value, Line: key.Line + c.shift, Column: key.Column}, child}
			if merge != nil {
				c.found.addRepeated(out, *f, merge.Key)
			} else {
				merge = f
			}
			continue
		}
		name, err := c.node(key, depth+1)
		if err != nil {
			return err
		}
		if name.Type == null || name.Type == List || name.Type == Mapping {
			flaw := c.fail(key, "%s as a key", name.Type)
			if name.Type == Mapping { // {{ .Values.name }}
				flaw.Hint = notPolicy
			}
			c.found.add(out, *flaw)
			continue
		}
		if first := keys.add(out.Fields, name); first != nil {
			c.found.addRepeated(out, Field{name, child}, first)
			continue
		}
		out.Fields = append(out.Fields, Field{name, child})
	}
	n.Content = nil
	if merge == nil {
		return nil
	}
	return c.merge(merge.Value, out, keys)
}
