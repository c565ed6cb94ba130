package bundles

import (
	"fmt"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator"
)

// Build builds a bundle from a translated directory and the Rego library. Equal results give
// equal bundles. It returns an error if a path is not valid in a bundle, or the documents and
// the library have the same file. It does not compile the Rego; Check does.
func Build(r *translator.Result, o BuildOptions) (*Bundle, error) {
	library := o.Library
	if library == nil {
		library = rego.Files()
	}
	b, err := assemble(r.Tables, r.Counts, o, library, r.Files)
	if err != nil {
		return nil, fmt.Errorf("build the bundle: %w", err)
	}
	b.Manifest.Metadata.Skipped = len(r.Skipped)
	b.Footprint = r.Footprint
	return b, nil
}
