package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
)

// stagedBundle is a bundle of a cluster that is written, but not yet at its path.
type stagedBundle struct{ at, path, revision string }

// buildSplit builds a bundle for each cluster. They are moved to their paths after all are
// written, so that an error in one of them changes none.
func buildSplit(cmd *cobra.Command, s cli.Streams, sources []string, o buildOptions) (err error) {
	if len(sources) != 1 || documents.AreFiles(sources) || sources[0] == "-" {
		return cli.Usagef(cmd, "--split requires one policy directory")
	}
	if info, err := os.Stat(o.path); o.path == "-" || err == nil && !info.IsDir() {
		return cli.Usagef(cmd, "-o PATH must be a folder with --split: it gets a bundle for each cluster")
	} else if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(o.path, 0o755); err != nil {
			return fmt.Errorf("write bundles: %w", err)
		}
	}
	var staged []stagedBundle
	defer func() {
		for _, b := range staged {
			_ = os.Remove(b.at) // it has been moved, or is of no use
		}
	}()
	meta := bundles.BuildOptions{Commit: o.commit, Sequence: o.sequence}
	err = o.documents.Split(cmd.Context(), s, sources[0], o.split, o.tests, meta, func(cluster string, b *bundles.Bundle, r *documents.Translation) error {
		b, err := o.finished(cmd.Context(), s, b, r)
		if err != nil {
			return err
		}
		path := filepath.Join(o.path, cluster+".tar.gz")
		at, err := cli.WriteBeside(path, fileMode, b.WriteTar)
		if err == nil {
			staged = append(staged, stagedBundle{at, path, b.Manifest.Revision})
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, b := range staged {
		if err := os.Rename(b.at, b.path); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
		fmt.Fprintf(s.Err, "wrote %s, revision %s\n", b.path, b.revision)
	}
	return nil
}
