package bundles

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/tables"
)

func BenchmarkBundle(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		access := translated(n)
		made := assembled(b, tables.List{access}, map[string]any{"access": access})
		archive := tarball(b, made)
		steps := []struct {
			name string
			do   func() error
		}{
			{"assemble", func() error {
				_, err := assemble(tables.List{access}, nil, BuildOptions{}, made.Data, rego.Files(), compiledFiles())
				return err
			}},
			{"write", func() error { return made.WriteTar(io.Discard) }},
			{"read", func() error { _, err := Read(bytes.NewReader(archive)); return err }},
			{"check", func() error { return Check(made) }},
		}
		for _, step := range steps {
			b.Run(fmt.Sprintf("%s/%d", step.name, n), func(b *testing.B) {
				b.SetBytes(int64(made.Data.Len()))
				for b.Loop() {
					check(b, step.do())
				}
			})
		}
	}
}
