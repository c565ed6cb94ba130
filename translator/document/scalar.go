package document

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

// taggedKind is what a core tag makes of a node.
var taggedKind = map[string]kind{
	"!!null": null, "!!bool": boolean, "!!int": integer, "!!float": float,
	"!!str": text, "!!seq": list, "!!map": mapping,
}

// tag refuses tags that are not of the core schema: no family knows them, and
// the parser would let them through unseen.
func (c *converter) tag(n *yaml.Node) *syntaxError {
	if n.Style&yaml.TaggedStyle == 0 {
		return nil
	}
	want, known := taggedKind[n.Tag]
	if !known {
		return c.fail(n, "tag %s is not known", quote(n.Tag))
	}
	isScalar := want != list && want != mapping
	if isScalar != (n.Kind == yaml.ScalarNode) || want == list && n.Kind != yaml.SequenceNode || want == mapping && n.Kind != yaml.MappingNode {
		return c.fail(n, "tag %s does not fit", quote(n.Tag))
	}
	return nil
}

// scalarKind resolves a scalar by the core schema. The parser's own answer is
// that of YAML 1.1 in part (dates, underscores, sexagesimals).
func scalarKind(n *yaml.Node) kind {
	if n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!str" {
		return text
	}
	if n.Style&^(yaml.TaggedStyle|yaml.FlowStyle) != 0 {
		return text
	}
	k := plainKind(n.Value)
	if n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!float" && k == integer {
		return float
	}
	return k
}

var (
	integerForm = regexp.MustCompile(`^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	floatForm   = regexp.MustCompile(`^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

func plainKind(value string) kind {
	switch value {
	case "", "~", "null", "Null", "NULL":
		return null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return boolean
	}
	if c := value[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if integerForm.MatchString(value) {
			return integer
		}
		if floatForm.MatchString(value) {
			return float
		}
	}
	return text
}
