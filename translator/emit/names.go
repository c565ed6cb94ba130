package emit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// longestName bounds a file name without its suffix, in bytes. File systems refuse
// more than 255 with it.
const longestName = 200

// FileName returns the name of the file of a document, without its suffix, from the
// names that distinguish the document from others of its kind: the same number of names
// for every document of the kind. The result is readable for the names that Kubernetes accepts: "net", "edge" gives
// net-edge. No two lists of names share a result, not even where the file system
// ignores case, and a result neither leaves its folder nor is too long.
//
// A name that would not fit is cut, and "~" and a hash follow: no other result has "~".
func FileName(names ...string) string {
	parts := make([]string, len(names))
	separator := "-"
	for i, name := range names {
		parts[i] = fileText(name)
		if i < len(names)-1 && strings.Contains(parts[i], "-") {
			separator = "__" // "-" would not show where the name ends
		}
	}
	return shortened(strings.Join(parts, separator))
}

// PathName is fileName for a path: "/" becomes "__", so that paths of any depth
// have results of their own.
func PathName(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = fileText(part)
	}
	return shortened(strings.Join(parts, "__"))
}

// fileText encodes one name. Lower-case letters, digits and "-" stand for
// themselves, and so does "." between letters and digits; any other byte is "_" and
// two hexadecimal digits.
func fileText(name string) string {
	var out strings.Builder
	for i := range len(name) {
		b := name[i]
		if isPlain(b) || b == '-' || b == '.' && isInner(name, i) {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "_%02x", b)
		}
	}
	return out.String()
}

func shortened(text string) string {
	if len(text) <= longestName {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return text[:longestName-2*len(sum)-1] + "~" + hex.EncodeToString(sum[:])
}

// identifierText encodes one name. Lower-case letters and digits stand for themselves,
// "-" between them is "_"; any other byte is "__" and two hexadecimal digits.
func identifierText(name string) string {
	var out strings.Builder
	for i := range len(name) {
		switch b := name[i]; {
		case isPlain(b):
			out.WriteByte(b)
		case b == '-' && isInner(name, i):
			out.WriteByte('_')
		default:
			fmt.Fprintf(&out, "__%02x", b)
		}
	}
	return out.String()
}

func isPlain(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' }

// isInner reports whether the byte stands between letters or digits.
func isInner(name string, at int) bool {
	return at > 0 && at < len(name)-1 && isPlain(name[at-1]) && isPlain(name[at+1])
}
