// Package generated checks what is true of all generated Rego, for the tests that build
// bundles.
package generated

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
)

// IsRego reports whether a file of a bundle is generated Rego. Rego of a document stays as
// its author wrote it.
func IsRego(path string) bool {
	return strings.HasPrefix(path, "compiled/") && strings.HasSuffix(path, ".rego") && !strings.HasPrefix(path, "compiled/gateway/rego/")
}

// CheckFormat returns an error for each generated file that is not formatted as opa fmt
// writes it. Names with control characters, or beyond 16 bits, are outside of it: opa fmt
// replaces their escapes in references by those of Go, some of which Rego does not read.
func CheckFormat(files map[string][]byte) error {
	var errs []error
	for path, content := range files {
		if !IsRego(path) {
			continue
		}
		formatted, err := format.SourceWithOpts(path, content, format.Opts{RegoVersion: ast.RegoV1})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		} else if !bytes.Equal(content, formatted) {
			errs = append(errs, fmt.Errorf("%s: got\n%s\nopa fmt writes\n%s", path, content, formatted))
		}
	}
	return errors.Join(errs...)
}
