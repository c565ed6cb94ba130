package bundle

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator/diag"
)

const inspectHelp = `inspect shows a built bundle: its manifest, and its files with their sizes. It
verifies that the content matches the revision and, with --keys, that one of the
keys has signed all files. The bundle is a tarball, a folder, - for standard
input, or a URL with http, https or oci.

Exit status 0: the bundle is valid; 1: it is not, and the reason is printed; 2:
it cannot be read.`

const inspectExamples = `  writ inspect bundle.tar.gz
  writ inspect bundle.tar.gz --keys keys.yaml -o json | jq .signature
  writ inspect oci://registry.example/team/policies:v42 --keys keys.yaml
  curl -s https://policies.example/bundle.tar.gz | writ inspect -`

type inspectOptions struct {
	remote RemoteFlags
	keys   string
	format string
}

// NewInspect returns the command inspect.
func NewInspect(s cli.Streams) *cobra.Command {
	var o inspectOptions
	cmd := &cobra.Command{
		Use:     "inspect PATH|URL|oci://REGISTRY/REPOSITORY:TAG",
		Short:   "Show and verify a bundle",
		Long:    inspectHelp,
		Example: inspectExamples,
		Args:    cli.Arguments(1, 1, "name one bundle"),
		RunE:    func(cmd *cobra.Command, args []string) error { return inspect(cmd.Context(), s, args[0], o) },
	}
	cli.FormatFlag(cmd, &o.format, "text", "json")
	cmd.Flags().StringVar(&o.keys, "keys", "", "YAML `file` of keys, one of which must have signed the bundle")
	o.remote.Add(cmd)
	return cmd
}

func inspect(ctx context.Context, s cli.Streams, at string, o inspectOptions) error {
	keys, err := readKeys(o.keys)
	if err != nil {
		return err
	}
	seen, err := readInspection(ctx, s, at, keys, o)
	if err != nil {
		return err
	}
	if o.format == "json" {
		err = writeInspectionJSON(s.Out, seen)
	} else {
		err = writeInspection(s.Out, seen, keys != nil)
	}
	if err == nil && !seen.IsValid() {
		err = &cli.Finding{}
		if o.format == "text" {
			err = cli.Findingf("invalid bundle: %s", seen.Problems[0])
		}
	}
	return err
}

// readInspection reads and verifies the bundle from a file, a folder or a URL. It
// returns an error if the bundle cannot be read; an invalid bundle is not an error.
func readInspection(ctx context.Context, s cli.Streams, at string, keys *bundles.Keys, o inspectOptions) (*bundles.Inspection, error) {
	if at == "-" {
		return bundles.Inspect(s.In, keys), nil
	}
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		return bundles.InspectDir(at, keys), nil
	}
	options, err := o.remote.options(at)
	if err != nil {
		return nil, err
	}
	options.Wait = -1 // do not long-poll for a newer bundle
	feed, err := remote.Open(options)
	if err != nil {
		return nil, err
	}
	var seen *bundles.Inspection
	err = progress.Do(ctx, progress.Fetch, func(ctx context.Context) error {
		body, err := feed.Fetch(ctx)
		if err != nil {
			return err
		}
		defer body.Close()
		seen = bundles.Inspect(body, keys)
		return nil
	})
	return seen, err
}

func writeInspectionJSON(w io.Writer, seen *bundles.Inspection) error {
	return diag.WriteIndented(w, struct {
		Holds bool `json:"holds"`
		*bundles.Inspection
	}{seen.IsValid(), seen})
}

func writeInspection(w io.Writer, seen *bundles.Inspection, keys bool) error {
	var rows [][]string
	row := func(name string, value any) { rows = append(rows, []string{name, fmt.Sprint(value)}) }
	if m := seen.Manifest; m != nil {
		row("revision", m.Revision)
		about := m.Metadata
		for _, optional := range []struct{ name, value string }{
			{"commit", about.Commit},
			{"version", about.Version},
			{"cluster", about.Cluster},
		} {
			if optional.value != "" {
				row(optional.name, optional.value)
			}
		}
		if about.Sequence != 0 {
			row("sequence", about.Sequence)
		}
		row("master namespace", about.Master)
		row("entrypoints", strings.Join(about.Entrypoints, ", "))
		for _, kind := range slices.Sorted(maps.Keys(about.Counts)) {
			row(kind, about.Counts[kind])
		}
	}
	row("signature", signatureText(seen, keys))
	row("content", contentText(seen))
	for _, problem := range seen.Problems {
		row("problem", problem)
	}
	if len(seen.Files) > 0 {
		rows = append(rows, nil, []string{"BYTES", "FILE"})
	}
	for _, file := range seen.Files {
		rows = append(rows, []string{fmt.Sprint(file.Bytes), file.Path})
	}
	return cli.PrintTable(w, rows)
}

func signatureText(seen *bundles.Inspection, keys bool) string {
	signature := seen.Signature
	switch {
	case !signature.Signed:
		return "none"
	case signature.Verified:
		return fmt.Sprintf("good, by key %q, which is %s", signature.Key, signature.State)
	case keys:
		return "bad"
	}
	return fmt.Sprintf("not verified, claims key %q; use --keys to verify it", signature.Key)
}

func contentText(seen *bundles.Inspection) string {
	switch {
	case seen.Manifest == nil:
		return "cannot be compared: no manifest"
	case seen.Content == seen.Manifest.Revision:
		return "matches the revision"
	}
	return "does not match: it is that of revision " + seen.Content
}
