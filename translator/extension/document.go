package extension

import (
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/syntax"
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
