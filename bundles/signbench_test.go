package bundles

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/tables"
)

func BenchmarkReadSigned(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		access := translated(n)
		r := newKeyring(b)
		built, err := assemble(tables.List{access}, nil, BuildOptions{}, accessData(b, access), rego.Files(), compiledFiles())
		check(b, err)
		archive := tarball(b, r.sign(b, built, "active", "active"))
		for name, keys := range map[string]*Keys{"verified": r.keys, "unverified": nil} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					_, err := ReadSigned(bytes.NewReader(archive), keys)
					check(b, err)
				}
			})
		}
	}
}
