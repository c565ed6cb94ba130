// Package regotext writes text of documents into generated Rego. Every string of a
// document, and every value that holds one, goes through it: it decides what can
// stand in Rego source. It knows nothing of documents or rules.
//
// # Design
//
// Strings are JSON with everything escaped that does not print. Go's %q and OPA's
// own formatting write escapes that Rego cannot read (\a, \x00), and encoding/json
// leaves U+FEFF as it is, which OPA rejects anywhere but at the start of a module.
// Escapes also keep bidirectional controls from changing how a module looks.
package regotext

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/writ-policy/writ/internal/jsontext"
)

// Quote returns text as a Rego string. Bytes that are not UTF-8 become U+FFFD.
func Quote(text string) string {
	return string(escape(jsontext.AppendString(nil, text), appendPair))
}

// Constant returns the Rego of a value that encoding/json accepts, on one line and
// with sorted keys, as opa fmt writes it. It panics on any other value.
func Constant(value any) string {
	text := encode(value, "")
	var out strings.Builder
	inText, escaped := false, false
	for i := range len(text) {
		b := text[i]
		out.WriteByte(b)
		switch {
		case escaped:
			escaped = false
		case b == '\\':
			escaped = true
		case b == '"':
			inText = !inText
		case !inText && (b == ':' || b == ','):
			out.WriteByte(' ')
		}
	}
	return out.String()
}

// Indented is Constant over several lines, indented with tabs, an entry a line.
func Indented(value any) string {
	lines := strings.Split(encode(value, "\t"), "\n")
	for i := range lines[:len(lines)-1] {
		next := strings.TrimLeft(lines[i+1], "\t")
		if next[0] == '}' || next[0] == ']' {
			lines[i] += ","
		}
	}
	return strings.Join(lines, "\n")
}

// Hash returns the hash of a value that encoding/json accepts, and HashOf the Rego that computes
// it of a reference: generated tests compare large values by it.
func Hash(value any) string {
	// As json.marshal of OPA writes the value: decoded, and with sorted keys.
	decoder := json.NewDecoder(bytes.NewReader(jsontext.Marshal(value)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(jsontext.Marshal(value)))
}

// HashOf returns the Rego of the hash of the value at a reference. See [Hash].
func HashOf(ref string) string { return "crypto.sha256(json.marshal(" + ref + "))" }

// Key returns what selects a key within a reference: ".name", or ["any text"]. A key
// at the end of the head of a rule takes [Quote] in brackets.
func Key(text string) string {
	if isVariable(text) {
		return "." + text
	}
	return "[" + Quote(text) + "]"
}

// keywords cannot follow a dot.
var keywords = []string{
	"as", "contains", "default", "else", "every", "false", "if", "import", "in", "not", "null", "package", "some", "true", "with",
}

func isVariable(text string) bool {
	for i := range len(text) {
		b := text[i]
		if !(b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || i > 0 && b >= '0' && b <= '9') {
			return false
		}
	}
	return text != "" && !slices.Contains(keywords, text)
}

func encode(value any, indent string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		panic(err) // the tables hold text, numbers and lists alone
	}
	return string(escape(bytes.TrimSuffix(out.Bytes(), []byte("\n")), appendPair))
}

// Metadata returns text as a string of a METADATA comment, which is YAML: it reads
// the escapes of JSON except surrogate pairs.
func Metadata(text string) string {
	return string(escape(jsontext.AppendString(nil, text), func(out []byte, r rune) []byte {
		return fmt.Appendf(out, `\U%08x`, r)
	}))
}

// Comment makes text fit for one line of a Rego comment: a character that does not
// print becomes "?".
func Comment(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// escape escapes what does not print in a JSON text, save the white space between
// its values. appendWide writes the escape of a character beyond U+FFFF.
func escape(text []byte, appendWide func([]byte, rune) []byte) []byte {
	unsafe := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
	if !bytes.ContainsFunc(text, unsafe) {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case !unsafe(r):
			out = append(out, text[:size]...)
		case r > 0xffff:
			out = appendWide(out, r)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}

func appendPair(out []byte, r rune) []byte {
	high, low := utf16.EncodeRune(r)
	return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
}
