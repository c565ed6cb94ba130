package bundles

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/writ-policy/writ/translator/footprint"
)

// patchPath is the file that makes a bundle a delta bundle.
const patchPath = "patch.json"

// checkPath returns an error for a path that this package does not write: one that is
// absolute, leaves the bundle, is outside of the roots or has another suffix. OPA derives
// meaning from names, so unknown files must not be ignored.
func checkPath(path string) error {
	switch path {
	case ManifestPath, dataPath, SignaturesPath, footprint.Path:
		return nil
	case patchPath:
		return fmt.Errorf("%q: a delta bundle, which cannot be signed and is not supported", path)
	}
	if !fs.ValidPath(path) || strings.ContainsAny(path, "\\\x00\n\r") {
		return fmt.Errorf("%q: must be a relative path within the bundle", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, ".") {
			return fmt.Errorf("%q: unknown kind of file in a bundle", path)
		}
	}
	root, _, below := strings.Cut(path, "/")
	if !below || (root != "compiled" && root != "writ") {
		return fmt.Errorf("%q: must be below compiled/ or writ/", path)
	}
	if !strings.HasSuffix(path, moduleSuffix) {
		return fmt.Errorf("%q: unknown kind of file in a bundle", path)
	}
	return nil
}

// names are the paths of a bundle, by their lower-case form. A folder has the value "".
type names map[string]string

// add returns an error if the path is a duplicate, differs from another only in case, or
// needs a folder where a file is: each is ambiguous on some file system.
func (n names) add(path string) error {
	folded := strings.ToLower(path)
	if other, ok := n[folded]; ok && other == path {
		return fmt.Errorf("%q: duplicate file in the bundle", path)
	} else if ok {
		return fmt.Errorf("%q: differs from %q only in case", path, other)
	}
	for at := strings.LastIndexByte(folded, '/'); at > 0; at = strings.LastIndexByte(folded[:at], '/') {
		parent := folded[:at]
		if other, ok := n[parent]; ok && other != "" {
			return fmt.Errorf("%q: %q is a file", path, other)
		}
		if _, ok := n[parent]; ok {
			break
		}
		n[parent] = ""
	}
	n[folded] = path
	return nil
}
