package documents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/progress"
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
	if r.Result == nil {
		if err := r.WriteDiagnostics(s.Err, "text"); err != nil {
			return nil, err
		}
		return nil, cli.Findingf("%s", Summary(r.List))
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

// boundRoles counts the roles that have a binding.
func boundRoles(access *tables.Access) int {
	bound := make(map[string]bool)
	for _, b := range access.Bindings.All() {
		bound[b.Role] = true
	}
	return len(bound)
}

// BundleFrom builds the bundle of policy directories, or reads the one at path.
func (d *Flags) BundleFrom(ctx context.Context, s cli.Streams, dirs []string, path string) (*bundles.Bundle, error) {
	switch {
	case slices.Contains(dirs, "-") || path == "-":
		return nil, errors.New("--policies and --bundle must be paths: standard input has the requests")
	case len(dirs) > 0 && path != "":
		return nil, errors.New("--policies and --bundle are mutually exclusive")
	case len(dirs) > 0:
		b, _, err := d.Build(ctx, s, dirs, false, bundles.BuildOptions{})
		return b, err
	case path != "":
		return ReadBundle(path)
	}
	return nil, errors.New("--policies DIR or --bundle PATH is required")
}

// ReadBundle reads a built bundle: a tarball or a folder.
func ReadBundle(path string) (*bundles.Bundle, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	if info.IsDir() {
		return bundles.ReadDir(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	defer file.Close()
	return bundles.Read(file)
}

// Activate creates an engine for a bundle. It returns an error if the bundle does not
// compile.
func Activate(ctx context.Context, b *bundles.Bundle, o engine.Options) (e *engine.Engine, err error) {
	err = progress.Do(ctx, progress.Activate, func(ctx context.Context) error {
		e, err = engine.Activate(ctx, b, o)
		return err
	})
	return e, err
}
