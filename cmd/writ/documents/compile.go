package documents

import (
	"context"
	"strings"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/progress"
)

// Compile compiles the Rego that a translation emits, so that documents without errors
// can be built and activated. Errors of a document's Rego are added to the diagnostics.
func (r *Translation) Compile(ctx context.Context) error {
	if r.bundle != nil {
		return progress.Do(ctx, progress.Check, func(context.Context) error { return r.CheckBundle(r.bundle) })
	}
	if r.Result == nil || !emitsRego(r.Result.Files) {
		return nil
	}
	b, err := bundles.Build(r.Result, bundles.BuildOptions{})
	if err != nil {
		return cli.Findingf("%v", err)
	}
	return progress.Do(ctx, progress.Check, func(context.Context) error { return r.CheckBundle(b) })
}

// emitsRego reports whether files have Rego of documents. Without any, nothing has to be
// compiled: the dispatch of extensions has no text of theirs.
func emitsRego(files map[string][]byte) bool {
	for path := range files {
		if strings.HasSuffix(path, ".rego") && path != "compiled/extensions/dispatch.rego" {
			return true
		}
	}
	return false
}

// CheckBundle checks the bundle of a translation. It returns an error only if the bundle is
// not valid for a reason that no document explains.
func (r *Translation) CheckBundle(b *bundles.Bundle) error {
	err := bundles.Check(b)
	if err == nil {
		return nil
	}
	list := bundles.Diagnose(b, err)
	if len(list) == 0 {
		return cli.Findingf("%v", err)
	}
	r.List = append(r.List, list...).Sorted()
	return nil
}
