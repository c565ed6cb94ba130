package documents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/tables"
)

// Build builds the bundle of the union of directories. If documents have errors, it writes the
// diagnostics to standard error and returns a finding. It does not write warnings,
// which are of interest only to commands that check.
func (d *Flags) Build(ctx context.Context, s cli.Streams, dirs []string, tests bool, o bundles.BuildOptions) (*bundles.Bundle, *Translation, error) {
	r, err := d.Read(ctx, s, dirs, tests)
	if err != nil {
		return nil, nil, err
	}
	b, err := r.build(ctx, s, tests, o)
	return b, r, err
}

// build builds the bundle of a translation, as Build does.
func (r *Translation) build(ctx context.Context, s cli.Streams, tests bool, o bundles.BuildOptions) (b *bundles.Bundle, err error) {
	if r.bundle != nil {
		return r.bundle, nil
	}
	if r.Result == nil {
		return nil, r.fail(s)
	}
	if bound := boundRoles(tables.Of[*tables.Access](r.Result.Tables)); tests && bound > emit.TestedRoles {
		fmt.Fprintf(s.Err, "tests are generated for %d of %d bound roles\n", emit.TestedRoles, bound)
	}
	o.Version = cli.Version()
	err = progress.Do(ctx, progress.Build, func(context.Context) (err error) {
		b, err = bundles.Build(r.Result, o)
		return err
	})
	return b, err
}

// fail writes the diagnostics of documents with errors to standard error, and returns a finding.
func (r *Translation) fail(s cli.Streams) error {
	if err := r.WriteDiagnostics(s.Err, "text"); err != nil {
		return err
	}
	return cli.Findingf("%s", Summary(r.List))
}

// OpenTables is Open for a command that reads the tables. If documents have errors, it writes the
// diagnostics to standard error and returns a finding.
func (d *Flags) OpenTables(ctx context.Context, s cli.Streams, args []string) (*Translation, error) {
	r, err := d.Open(ctx, s, args, false)
	if err == nil && r.Result == nil {
		err = r.fail(s)
	}
	return r, err
}

// boundRoles counts the roles that have a binding.
func boundRoles(access *tables.Access) int {
	bound := make(map[string]bool)
	for _, b := range access.Bindings.All() {
		bound[b.Role] = true
	}
	return len(bound)
}

// BundleFrom builds the bundle of sources, or reads the one at path.
func (d *Flags) BundleFrom(ctx context.Context, s cli.Streams, sources []string, path string) (*bundles.Bundle, error) {
	switch {
	case len(sources) > 0 && path != "":
		return nil, errors.New("--policies and --bundle are mutually exclusive")
	case path == "-":
		return nil, errors.New("--bundle must be a path or a URL, not standard input")
	case path != "":
		if err := d.CheckBundle(path); err != nil {
			return nil, err
		}
		return ReadBundle(ctx, path)
	case len(sources) == 0:
		return nil, errors.New("--policies DIR or --bundle PATH is required")
	}
	r, err := d.Open(ctx, s, sources, false)
	if err != nil {
		return nil, err
	}
	return r.build(ctx, s, false, bundles.BuildOptions{})
}

// Patience bounds an evaluation of an analysis. No client waits for it, and an evaluation that a busy
// machine interrupts is a denial, which must not be taken for what the documents decide.
const Patience = 10 * time.Second

// Activate creates an engine for a bundle. It returns an error if the bundle does not
// compile.
func Activate(ctx context.Context, b *bundles.Bundle, o engine.Options) (e *engine.Engine, err error) {
	err = progress.Do(ctx, progress.Activate, func(ctx context.Context) error {
		e, err = engine.Activate(ctx, b, o)
		return err
	})
	return e, err
}
