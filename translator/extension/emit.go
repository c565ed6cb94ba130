package extension

import (
	"path"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
)

// emitFiles returns the modules as they were read.
func emitFiles(extensions []*Extension) map[string][]byte {
	files := make(map[string][]byte, len(extensions))
	for _, extension := range extensions {
		files[extensionPath(extension)] = extension.Source
	}
	return files
}

// extensionPath keeps the package's path and adds the file it came from, since
// several files may share a package. A package of tests ends up in a file that is
// known as one.
func extensionPath(extension *Extension) string {
	dir := strings.ReplaceAll(extension.Name, ".", "/")
	suffix := ".rego"
	if strings.HasSuffix(extension.Name, "_test") {
		suffix = "_test.rego"
	}
	return path.Join("writ/extensions", dir, emit.PathName(strings.TrimSuffix(extension.File, ".rego"))+suffix)
}
