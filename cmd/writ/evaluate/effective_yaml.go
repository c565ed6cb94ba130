package evaluate

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/effective"
	"github.com/writ-policy/writ/translator/tables"
)

// writeBare writes each variant of an effective policy as a document with bare rules.
// A comment before each rule has its policy and line.
func writeBare(w io.Writer, found *effective.Effective) error {
	documents := elements.Map(found.Each(), func(v effective.Variant) any { return bareDocument(found, v) })
	return cli.WriteYAML(w, documents...)
}

func bareDocument(found *effective.Effective, v effective.Variant) *yaml.Node {
	spec := mappingNode()
	if target, err := effective.ParseTarget(found.Target); err == nil {
		ref := mappingNode()
		enter(ref, "group", stringNode("gateway.networking.k8s.io"))
		enter(ref, "kind", stringNode(target.Kind))
		enter(ref, "name", stringNode(target.Name))
		if target.Section != "" {
			enter(ref, "sectionName", stringNode(target.Section))
		}
		enter(spec, "targetRef", ref)
	}
	if v.Detail != nil {
		for i := range v.Detail.Rules {
			rule := &v.Detail.Rules[i]
			enterRule(spec, rule, v.Rules[rule.Key])
		}
	}
	document := mappingNode()
	enter(document, "apiVersion", stringNode(tables.PolicyVersion(found.Kind)))
	enter(document, "kind", stringNode(found.Kind))
	enter(document, "spec", spec)
	head := []string{fmt.Sprintf("%s in force on %s", found.Kind, found.Target)}
	for _, path := range v.Paths {
		head = append(head, "on "+path)
	}
	for i, line := range head {
		head[i] = "# " + diag.Line(line)
	}
	document.HeadComment = strings.Join(head, "\n")
	return document
}

// enterRule adds a rule, with the value to show, at its path below spec.
func enterRule(spec *yaml.Node, rule *tables.EffectiveRule, value any) {
	path := tables.RulePath(rule.Key)
	for _, name := range path[:len(path)-1] {
		inner := documents.Member(spec, name)
		if inner == nil {
			inner = mappingNode()
			enter(spec, name, inner)
		}
		spec = inner
	}
	key := enter(spec, path[len(path)-1], valueNode(value))
	key.HeadComment = "# " + diag.Line(tables.BareName(rule.Policy)+", "+rule.Source)
}

func mappingNode() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func stringNode(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// enter adds an entry to a mapping and returns its key.
func enter(mapping *yaml.Node, name string, value *yaml.Node) *yaml.Node {
	key := stringNode(name)
	mapping.Content = append(mapping.Content, key, value)
	return key
}

// valueNode converts a JSON value to YAML. Numbers keep their spelling.
func valueNode(value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		n := mappingNode()
		for _, name := range slices.Sorted(maps.Keys(value)) {
			enter(n, name, valueNode(value[name]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		n.Content = append(n.Content, elements.Map(value, valueNode)...)
		return n
	case string:
		return stringNode(value)
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: value.String()}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(value)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}
