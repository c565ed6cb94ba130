package assertions

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
)

// compared is documents that an assertion compares with.
type compared struct {
	read func(ctx context.Context) (source.Snapshot, diag.List, error)
	// isFixed states that they are always the same: those of a commit, or of a bundle.
	isFixed bool
	key     string // what they were
}

// compared returns the documents that an assertion refers to.
func (s *Set) compared(a *assertion.Assertion) compared {
	at := path.Join(path.Dir(a.At.File), a.Documents.Value)
	if folder, isOutside := s.outside[a.At.File]; isOutside {
		return compared{read: func(ctx context.Context) (source.Snapshot, diag.List, error) {
			within, err := filepath.Rel(folder, filepath.Join(filepath.Dir(a.At.File), filepath.FromSlash(a.Documents.Value)))
			if err != nil {
				return source.Snapshot{}, nil, fs.ErrNotExist
			}
			return source.ReadBelow(ctx, folder, filepath.ToSlash(within), source.DirOptions{})
		}}
	}
	aside := s.snapshot.Aside
	return compared{isFixed: s.snapshot.Commit != "" || len(s.snapshot.Files) == 0, read: func(ctx context.Context) (source.Snapshot, diag.List, error) {
		if aside == nil {
			return source.Snapshot{}, nil, fs.ErrNotExist
		}
		return aside(ctx, at)
	}}
}

func keyOf(snapshot source.Snapshot, err error) string {
	if err != nil {
		return err.Error()
	}
	return snapshot.Key()
}

// Changed returns a function that reports whether the documents that assertions compare with are
// others than Check read; nil if they cannot change. It is safe for concurrent use.
func (s *Set) Changed() func(ctx context.Context) bool {
	list := elements.Filter(s.read, func(c compared) bool { return !c.isFixed })
	if len(list) == 0 {
		return nil
	}
	return func(ctx context.Context) bool {
		for _, c := range list {
			snapshot, _, err := c.read(ctx)
			if keyOf(snapshot, err) != c.key && ctx.Err() == nil {
				return true
			}
		}
		return false
	}
}

// Compiler compiles documents to sides. What documents share with those before is not decoded
// again. It is not safe for concurrent use.
type Compiler struct {
	Settings   settings.Settings
	AllowEmpty bool
	// Activate compiles the rules of a bundle.
	Activate func(ctx context.Context, b *bundles.Bundle) (*diff.Side, error)

	whole, part *translator.Translator
}

// Compile is a Compile of package assertions.
func (c *Compiler) Compile(ctx context.Context, snapshot source.Snapshot, isPart bool) (*diff.Side, diag.List, error) {
	result, list := c.translator(isPart).Translate(ctx, snapshot)
	if result == nil {
		return nil, list, ctx.Err()
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		return nil, nil, err
	}
	side, err := c.Activate(ctx, b)
	if side != nil {
		side.Documents = result.Documents
	}
	return side, list, err
}

func (c *Compiler) translator(isPart bool) *translator.Translator {
	if isPart {
		if c.part == nil {
			given := settings.Settings{settings.ClusterExport: {Text: "true"}} // a binding whose role goes away binds nothing
			c.part = translator.New(translator.Options{Settings: given.With(c.Settings), AllowEmpty: true})
		}
		return c.part
	}
	if c.whole == nil {
		c.whole = translator.New(translator.Options{Settings: c.Settings, AllowEmpty: c.AllowEmpty})
	}
	return c.whole
}
