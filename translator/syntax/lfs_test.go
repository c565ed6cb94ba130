package syntax

import (
	"testing"
)

// A pointer of Git LFS is an error in files of every form, so that a denial that was moved
// to Git LFS does not vanish.
func TestPointersOfGitLFSAreErrors(t *testing.T) {
	t.Parallel()
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	for _, file := range []string{"deny.yaml", "deny.yml", "deny.json", "owned.rego"} {
		got := Kinds(nil).Decode(file, []byte(pointer), Options{})
		if !got.List.HasErrors() || len(got.Undecoded) != 1 || len(got.Skipped) > 0 {
			t.Errorf("%s: got %+v", file, got)
		}
	}
}
