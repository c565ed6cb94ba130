package syntax

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

// taggedKind maps the tags of the core schema to types.
var taggedKind = map[string]Type{
	"!!null": null, "!!bool": Boolean, "!!int": Integer, "!!float": float,
	"!!str": String, "!!seq": List, "!!map": Mapping,
}

// tag returns an error for a tag that is not in the core schema, because the parser
// ignores such tags.
func (c *converter) tag(n *yaml.Node) *syntaxError {
	if n.Style&yaml.TaggedStyle == 0 {
		return nil
	}
	want, known := taggedKind[n.Tag]
	if !known {
		return c.fail(n, "tag %s is not known", Quote(n.Tag))
	}
	isScalar := want != List && want != Mapping
	if isScalar != (n.Kind == yaml.ScalarNode) || want == List && n.Kind != yaml.SequenceNode || want == Mapping && n.Kind != yaml.MappingNode {
		return c.fail(n, "tag %s does not fit", Quote(n.Tag))
	}
	return nil
}

// scalarKind resolves a scalar by the core schema. The parser itself partly resolves by
// YAML 1.1 (dates, underscores, sexagesimals).
func scalarKind(n *yaml.Node) Type {
	if isString(n) {
		return String
	}
	k := plainKind(n.Value)
	if n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!float" && k == Integer {
		return float
	}
	return k
}

// isString reports whether the tag or the style of a scalar makes it a string, whatever it reads like.
func isString(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!str" || n.Style&^(yaml.TaggedStyle|yaml.FlowStyle) != 0
}

var (
	integerForm = regexp.MustCompile(`^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	floatForm   = regexp.MustCompile(`^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

func plainKind(value string) Type {
	switch value {
	case "", "~", "null", "Null", "NULL":
		return null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Boolean
	}
	if c := value[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if integerForm.MatchString(value) {
			return Integer
		}
		if floatForm.MatchString(value) {
			return float
		}
	}
	return String
}
