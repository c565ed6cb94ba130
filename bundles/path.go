package bundles

import (
	"fmt"
	"io/fs"
	"strings"
)

// patchPath is the file that makes a bundle a delta to another one.
const patchPath = "patch.json"

// checkPath refuses a path that is not one of a bundle's files: absolute or
// leaving the bundle, outside of the roots, or of a kind a bundle of ours never
// has. OPA takes meaning from names, so what is not known cannot be left in.
func checkPath(path string) error {
	switch path {
	case ManifestPath, DataPath, SignaturesPath:
		return nil
	case patchPath:
		return fmt.Errorf("%q: a delta bundle; deltas cannot be signed and are not taken", path)
	}
	if !fs.ValidPath(path) || strings.ContainsAny(path, "\\\x00\n\r") {
		return fmt.Errorf("%q: not a path within a bundle", path)
	}
	for _, part := range strings.Split(path, "/") {
		if strings.HasPrefix(part, ".") {
			return fmt.Errorf("%q: not a file of a bundle", path)
		}
	}
	root, _, below := strings.Cut(path, "/")
	if !below || (root != "compiled" && root != "writ") {
		return fmt.Errorf("%q: outside of the roots of a bundle", path)
	}
	if !strings.HasSuffix(path, moduleSuffix) {
		return fmt.Errorf("%q: not a file of a bundle", path)
	}
	return nil
}

// names keeps the paths of a bundle apart on every file system.
type names map[string]string

// add refuses a path that is there already, differs from one in case alone, or
// needs a folder where there is a file.
func (n names) add(path string) error {
	folded := strings.ToLower(path)
	if other, ok := n[folded]; ok && other == path {
		return fmt.Errorf("%q: twice in the bundle", path)
	} else if ok {
		return fmt.Errorf("%q: differs from %q in case alone", path, other)
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
