package documents

import (
	"context"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator/diag"
)

// Compiler returns what compiles documents that assertions compare with. Judges decide at the
// time that now returns.
func (d *Flags) Compiler(now func() time.Time) (*assertions.Compiler, error) {
	given, err := d.Settings()
	if err != nil {
		return nil, err
	}
	var last *engine.Engine
	activate := func(ctx context.Context, b *bundles.Bundle) (*diff.Side, error) {
		e, err := Activate(ctx, b, engine.Options{Now: now, Last: last, Timeout: Patience})
		if err != nil {
			return nil, err
		}
		last = e
		return SideOf(e), nil
	}
	return &assertions.Compiler{Settings: given, AllowEmpty: d.AllowEmpty, Activate: activate}, nil
}

// SideOf returns the revision of an engine for analyses.
func SideOf(e *engine.Engine) *diff.Side {
	return &diff.Side{World: statement.Of(e), Judge: judge.Of(e), Revision: e.Loaded().Revision}
}

// Assertions returns the assertions of a translation's documents. Mistakes in what they refer to
// are written to standard error, and a finding.
func (d *Flags) Assertions(ctx context.Context, s cli.Streams, r *Translation, now func() time.Time) (*assertions.Set, error) {
	compiler, err := d.Compiler(now)
	if err != nil {
		return nil, err
	}
	if r.bundle != nil {
		set, err := assertions.Carried(r.bundle, compiler.Compile)
		if err != nil {
			return nil, err
		}
		return set, CheckSet(ctx, s, set)
	}
	set := assertions.Of(r.Result.Directory.Documents(), r.snapshot, compiler.Compile)
	return set, CheckSet(ctx, s, set)
}

// CheckAssertions adds what the assertions of a directory refer to and what is not there to the
// diagnostics.
func (d *Flags) CheckAssertions(ctx context.Context, r *Translation) error {
	if r.Result == nil || r.bundle != nil || d.Part {
		return nil
	}
	compiler, err := d.Compiler(time.Now)
	if err != nil {
		return err
	}
	set := assertions.Of(r.Result.Directory.Documents(), r.snapshot, compiler.Compile)
	if err := set.Check(ctx); err != nil {
		return err
	}
	r.List = append(r.List, set.List...).Sorted()
	return nil
}

// CheckSet checks what assertions refer to. Mistakes are written to standard error, and a finding.
func CheckSet(ctx context.Context, s cli.Streams, set *assertions.Set) error {
	if err := set.Check(ctx); err != nil {
		return err
	}
	list := set.List.Sorted()
	if !list.HasErrors() {
		return nil
	}
	if err := diag.WriteText(s.Err, list, diag.TextOptions{Color: cli.Colours(s.Err), Most: MaxShown}); err != nil {
		return err
	}
	return cli.Findingf("%s", Summary(list))
}

// Verify proves the assertions of a translation's documents by a bundle of it, at a time; nil
// without assertions.
func (d *Flags) Verify(
	ctx context.Context, s cli.Streams, b *bundles.Bundle, r *Translation, at time.Time, isIncluded func(id string) bool,
) (report *verify.Report, err error) {
	now := func() time.Time { return at }
	set, err := d.Assertions(ctx, s, r, now)
	if err != nil {
		return nil, err
	}
	if set.Filter(isIncluded); len(set.All) == 0 {
		return nil, nil
	}
	e, err := Activate(ctx, b, engine.Options{Now: now, Timeout: Patience})
	if err != nil {
		return nil, err
	}
	err = progress.Do(ctx, progress.Test, func(ctx context.Context) error {
		report, err = set.Verify(ctx, SideOf(e), nil, at, func(t time.Time) { at = t })
		return err
	})
	return report, err
}
