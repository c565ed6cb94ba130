package bundles

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"hash"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/writ-policy/writ/internal/jsontext"
)

// hashers are the accepted hash algorithms. OPA supports weaker ones, for which collisions
// are known.
var hashers = map[string]func() hash.Hash{
	"SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New, "SHA-512-256": sha512.New512_256,
}

// fileHash returns what OPA hashes of a file: its bytes or, of a JSON file, the value with
// sorted keys and without white space. OPA decodes the file for that, which takes several
// times as long. It returns an error for a JSON file that checkJSON rejects.
func fileHash(path string, content []byte, h hash.Hash) (string, error) {
	if !bundle.IsStructuredDoc(path) {
		h.Write(content)
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	if err := checkJSON(content); err != nil {
		return "", err
	}
	w := canonicalWriter{out: bufio.NewWriterSize(h, 1<<16)}
	w.value(bytes.TrimSpace(content))
	_ = w.out.Flush() // a hash has no errors
	return hex.EncodeToString(h.Sum(nil)), nil
}

// canonicalWriter writes checked JSON in the form that OPA hashes.
type canonicalWriter struct{ out *bufio.Writer }

func (w *canonicalWriter) byte(b byte) { _ = w.out.WriteByte(b) }

func (w *canonicalWriter) value(text []byte) {
	switch text[0] {
	case '{':
		w.object(text)
	case '[':
		w.byte('[')
		first := true
		for element := range jsontext.Elements(text) {
			if !first {
				w.byte(',')
			}
			first = false
			w.value(element)
		}
		w.byte(']')
	case '"':
		w.text(text)
	default:
		_, _ = w.out.Write(text)
	}
}

func (w *canonicalWriter) object(text []byte) {
	type member struct {
		key   string
		value []byte
	}
	var members []member
	for key, value := range jsontext.Members(text) {
		members = append(members, member{key, value})
	}
	byKey := func(a, b member) int { return cmp.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(members, byKey) {
		slices.SortFunc(members, byKey)
	}
	w.byte('{')
	for i, m := range members {
		if i > 0 {
			w.byte(',')
		}
		w.plain(m.key)
		w.byte(':')
		w.value(m.value)
	}
	w.byte('}')
}

// text writes a string, as it is unless it has escapes or a character that may need one.
func (w *canonicalWriter) text(text []byte) {
	if bytes.IndexByte(text, '\\') < 0 && bytes.IndexByte(text, separatorByte) < 0 {
		_, _ = w.out.Write(text)
		return
	}
	var plain string
	_ = json.Unmarshal(text, &plain) // checked
	w.plain(plain)
}

// separatorByte begins U+2028 and U+2029, which encoding/json escapes.
const separatorByte = 0xe2

// plain writes a decoded string.
func (w *canonicalWriter) plain(text string) {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' }) {
		w.byte('"')
		_, _ = w.out.WriteString(text)
		w.byte('"')
		return
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always has a JSON form
	_, _ = w.out.Write(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}
