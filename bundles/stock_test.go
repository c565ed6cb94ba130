package bundles

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/writ-policy/writ/translator/tables"
)

// OPA's reader accepts written bundles and finds the same content.
func TestStockReads(t *testing.T) {
	b := sample(t)
	got, err := bundle.NewReader(bytes.NewReader(tarball(t, b))).Read()
	check(t, err)
	if got.Manifest.Revision != b.Manifest.Revision || !slices.Equal(*got.Manifest.Roots, b.Manifest.Roots) {
		t.Errorf("manifest: got %v, want that of %+v", got.Manifest, b.Manifest)
	}
	var paths []string
	for _, module := range got.Modules {
		paths = append(paths, strings.TrimPrefix(module.Path, "/"))
	}
	want := slices.Sorted(maps.Keys(b.Files))
	slices.Sort(paths)
	if !slices.Equal(paths, want) {
		t.Errorf("modules: got %q, want %q", paths, want)
	}
	access := got.Data["compiled"].(map[string]any)["access"].(map[string]any)
	if got, want := len(access["roles"].(map[string]any)), tables.Of[*tables.Access](b.Tables).Roles.Len(); got != want {
		t.Errorf("roles: got %d, want %d", got, want)
	}
}

// OPA's test runner runs the generated tests of tarballs and folders.
func TestStockTests(t *testing.T) {
	b := sample(t)
	folder := filepath.Join(t.TempDir(), "folder")
	check(t, b.WriteDir(folder))
	archive := filepath.Join(t.TempDir(), "bundle.tar.gz")
	check(t, os.WriteFile(archive, tarball(t, b), 0o644))
	for _, path := range []string{folder, archive} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			loaded, err := tester.LoadBundles([]string{path}, nil)
			check(t, err)
			ctx, store := context.Background(), inmem.New()
			txn, err := store.NewTransaction(ctx, storage.WriteParams)
			check(t, err)
			defer store.Abort(ctx, txn)
			results, err := tester.NewRunner().SetTimeout(2*time.Minute).SetStore(store).SetBundles(loaded).RunTests(ctx, txn)
			check(t, err)
			ran := 0
			for result := range results {
				ran++
				if !result.Pass() {
					t.Errorf("%s: %v", result.Name, result.Error)
				}
			}
			if ran == 0 {
				t.Error("got no tests")
			}
		})
	}
}
