package extension

import (
	"path"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// family is the family of Rego modules.
const family = "extension"

// Extension is a *.rego file whose package is below writ.extensions.
type Extension struct {
	syntax.Header // Kind "Extension", Name the path below writ.extensions
	Module        *ast.Module
	// Source is the text of the file without a byte order mark.
	Source []byte
	File   string
	// ReadsClock says that it calls time.now_ns, the engine's evaluation time: a
	// decision by it holds for no longer than that instant.
	ReadsClock bool
	// took is how long the module took to compile alone; negative if it was refused.
	took time.Duration
}

// Family is modules of Rego.
type Family struct{}

// moduleTable is the modules of a directory. A bundle has them as files alone.
type moduleTable struct{ modules []*Extension }

// Key is empty: no data.
func (*moduleTable) Key() string { return "" }

// IsEmpty reports whether a directory has no module.
func (t *moduleTable) IsEmpty() bool { return len(t.modules) == 0 }

// Features is empty.
func (*moduleTable) Features() tables.Features { return nil }

// Entrypoint is empty: rules of roles call the modules.
func (*moduleTable) Entrypoint() string { return "" }

// JSON is empty.
func (*moduleTable) JSON() (tables.Text, error) { return tables.Text{}, nil }

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(moduleTable) }

// Lower compiles the modules together.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	return &moduleTable{resolve(d)}, nil
}

// Emit returns the modules as they were read.
func (*Family) Emit(table tables.Table, _ emit.Options) map[string][]byte {
	return emitFiles(table.(*moduleTable).modules)
}

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
