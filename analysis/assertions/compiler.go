package assertions

import (
	"context"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
)

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
