package documents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// Split builds a bundle for each cluster, which is a folder below folder in the directory
// dir: of the documents in that folder, and of those outside folder. It calls use with each
// bundle, in the order of names. Errors are those of Build; warnings are left out.
func (d *Flags) Split(
	ctx context.Context, s cli.Streams, dir, folder string, tests bool, o bundles.BuildOptions,
	use func(cluster string, b *bundles.Bundle, r *Translation) error,
) error {
	if err := CheckDirectory(dir); err != nil {
		return err
	}
	given, err := d.Settings()
	if err != nil {
		return err
	}
	clusters, err := clustersIn(dir, folder)
	if err != nil {
		return err
	}
	snapshot, list, err := d.Snapshot(ctx, s.In, []string{dir})
	if err != nil {
		return err
	}
	t := d.translator(given, tests)
	for _, cluster := range clusters {
		r := &Translation{List: list, snapshot: snapshotOf(snapshot, folder, cluster), strict: d.Strict}
		if !list.HasErrors() {
			d.translate(ctx, t, r)
		}
		// Warnings about common documents would be repeated for each cluster. A strict build
		// ends with the first cluster that has one.
		if !d.Strict {
			r.List = slices.DeleteFunc(slices.Clone(r.List), func(m diag.Diagnostic) bool { return m.Severity != diag.Error })
		}
		b, err := r.build(ctx, s, tests, o)
		if err == nil {
			err = use(cluster, b, r)
		}
		var finding *cli.Finding
		switch {
		case errors.As(err, &finding):
			return cli.Findingf("cluster %s: %s", cluster, finding.Text)
		case err != nil:
			return fmt.Errorf("cluster %s: %w", cluster, err)
		}
	}
	return nil
}

// clusterName is what a cluster may be called: it is a part of a URL and of a file name.
var clusterName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?$`)

// clustersIn returns the names of the folders of clusters, sorted. It returns an error for a
// document beside them: it would be in no bundle.
func clustersIn(dir, folder string) ([]string, error) {
	if !filepath.IsLocal(folder) || path.Clean(folder) == "." {
		return nil, fmt.Errorf("--split %q: must be a folder of the policy directory, relative to it", folder)
	}
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil {
		return nil, fmt.Errorf("--split: %w", err)
	}
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		at := path.Join(filepath.ToSlash(folder), name)
		info, err := os.Stat(filepath.Join(dir, folder, name))
		switch {
		case strings.HasPrefix(name, "."):
		case err != nil:
			return nil, fmt.Errorf("--split: %w", err)
		case !info.IsDir() && source.IsDocument(name):
			return nil, fmt.Errorf("%s belongs to no cluster; put it into the folder of one, or outside %s for all", at, path.Clean(folder))
		case !info.IsDir():
		case !clusterName.MatchString(name):
			return nil, fmt.Errorf("%s: the name of a cluster must have letters, digits, '-', '_' and '.' alone, and begin and end with a letter or digit", at)
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("--split: %s has no folder of a cluster", path.Clean(folder))
	}
	return names, nil
}

// snapshotOf returns the snapshot of one cluster.
func snapshotOf(whole source.Snapshot, folder, cluster string) source.Snapshot {
	all := path.Clean(filepath.ToSlash(folder)) + "/"
	own := all + cluster + "/"
	whole.Cluster = cluster
	whole.Files = slices.DeleteFunc(slices.Clone(whole.Files), func(f source.File) bool {
		return strings.HasPrefix(f.Path, all) && !strings.HasPrefix(f.Path, own)
	})
	return whole
}
