package documents

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/source"
)

// rewrite returns a file with what edit returns for each document of at, on the line that the
// document had; nil leaves it out. A file of which no document changes stays as it is; the result
// is nil if none of its documents is left.
func rewrite(file source.File, at map[place]identity, edit func(identity, map[string]any) map[string]any) (*source.File, error) {
	if len(at) == 0 {
		return &file, nil
	}
	nodes, err := documentNodes(file.Content.Bytes())
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file.Path, err)
	}
	var text strings.Builder
	line, left, found, isChanged := 1, 0, 0, false
	for i, node := range nodes {
		found += countWithin(at, nodes[i:], file.Object)
		value, err := valueOf(node, 0)
		if err != nil {
			return nil, fmt.Errorf("read %s:%d: %w", file.Path, node.Line, err)
		}
		before := jsontext.Marshal(value)
		id, isDocument := at[placeOf(node, file.Object)]
		if document, isMapping := value.(map[string]any); isDocument && isMapping {
			value = nil
			if edited := edit(id, document); edited != nil {
				value = edited
			}
		}
		after := jsontext.Marshal(value)
		isChanged = isChanged || !bytes.Equal(before, after)
		if value == nil {
			continue
		}
		left++
		for ; line < node.Line; line++ {
			text.WriteByte('\n')
		}
		text.Write(after)
	}
	switch {
	case found != len(at):
		return nil, fmt.Errorf("read %s: %d of %d documents were not found in it; please report this as a defect",
			file.Path, len(at)-found, len(at))
	case !isChanged:
		return &file, nil
	case left == 0:
		return nil, nil
	}
	content := []byte(text.String())
	file.Content, file.Hash = source.TextOf(content), sha256.Sum256(content)
	return &file, nil
}

// countWithin returns how many places are in the first of some documents: a document of Origin may
// contain others.
func countWithin(at map[place]identity, from []*yaml.Node, isObject bool) (n int) {
	for p := range at {
		begins := func(node *yaml.Node) bool {
			return p.line > node.Line || p.line == node.Line && p.column >= node.Column
		}
		if isObject || begins(from[0]) && (len(from) == 1 || !begins(from[1])) {
			n++
		}
	}
	return n
}

// documentNodes returns the documents of a file. Those of a List are documents of their own.
func documentNodes(content []byte) (out []*yaml.Node, _ error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(document.Content) == 1 {
			out = append(out, itemsOf(document.Content[0])...)
		}
	}
}

func itemsOf(node *yaml.Node) (out []*yaml.Node) {
	items := Member(node, "items")
	if kind := Member(node, "kind"); kind == nil || kind.Value != "List" || items == nil || items.Kind != yaml.SequenceNode {
		return []*yaml.Node{node}
	}
	for _, item := range items.Content {
		out = append(out, itemsOf(item)...)
	}
	return out
}

// Member returns the value of a key of a mapping, or nil.
func Member(node *yaml.Node, key string) *yaml.Node {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// placeOf returns where the kind of a document is written.
func placeOf(node *yaml.Node, isObject bool) place {
	if isObject {
		return wholeObject
	}
	for i := 0; node.Kind == yaml.MappingNode && i < len(node.Content); i += 2 {
		if key := node.Content[i]; strings.EqualFold(key.Value, "kind") {
			return place{key.Line, key.Column}
		}
	}
	return place{}
}

// maxNesting bounds how deep documents are nested, and that an anchor contains itself.
const maxNesting = 200

// valueOf returns a node as JSON has it. A time stays a text.
func valueOf(node *yaml.Node, depth int) (any, error) {
	if depth > maxNesting {
		return nil, errors.New("the document is nested too deeply")
	}
	switch node.Kind {
	case yaml.AliasNode:
		return valueOf(node.Alias, depth+1)
	case yaml.SequenceNode:
		out := make([]any, 0, len(node.Content))
		for _, item := range node.Content {
			value, err := valueOf(item, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	case yaml.MappingNode:
		out := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i].Value
			if _, isRepeated := out[key]; isRepeated || node.Content[i].ShortTag() == "!!merge" {
				return nil, fmt.Errorf("key %q: merge keys and repeated keys cannot be applied", key)
			}
			value, err := valueOf(node.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			out[key] = value
		}
		return out, nil
	default:
		return scalarOf(node)
	}
}

func scalarOf(node *yaml.Node) (value any, err error) {
	switch tag := node.ShortTag(); tag {
	case "!!null":
		return nil, nil
	case "!!bool", "!!int", "!!float":
		if number := json.Number(node.Value); tag != "!!bool" && json.Valid([]byte(node.Value)) {
			return number, nil
		}
		err = node.Decode(&value)
		return value, err
	}
	return node.Value, nil
}
