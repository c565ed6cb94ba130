package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/translator/diag"
)

// WriteYAML writes values as documents of YAML that are safe to print: texts that diag.Line
// changes are quoted, with the same escapes. Texts of several lines that are safe keep them.
// Comments must be safe already.
func WriteYAML(w io.Writer, documents ...any) error {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	for _, document := range documents {
		n, ok := document.(*yaml.Node)
		if !ok {
			n = new(yaml.Node)
			if err := n.Encode(document); err != nil {
				return err
			}
		}
		setStyles(n)
		if err := encoder.Encode(n); err != nil {
			return err
		}
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	_, err := w.Write(escapeYAML(out.Bytes()))
	return err
}

func setStyles(n *yaml.Node) {
	for _, child := range n.Content {
		setStyles(child)
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return
	}
	safe := true
	for line := range strings.SplitSeq(n.Value, "\n") {
		line = strings.ReplaceAll(line, "\t", " ")
		safe = safe && diag.Line(line) == line
	}
	switch {
	case !safe:
		n.Style = yaml.DoubleQuotedStyle
	case strings.Contains(n.Value, "\n"):
		n.Style = yaml.LiteralStyle
	}
}

// escapeYAML escapes what the encoder leaves in quoted texts, which are the only ones that
// have it.
func escapeYAML(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("##["), []byte(`\x23#[`))
	text = bytes.ReplaceAll(text, []byte("##vso["), []byte(`\x23#vso[`))
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			out = append(out, text[:size]...)
		case r > 0xffff:
			out = fmt.Appendf(out, `\U%08x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}
