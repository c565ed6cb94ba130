// Package bundle has the commands that build, inspect and push bundles, and the flags
// about keys and registries.
package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/progress"
)

const buildHelp = `build compiles a policy directory into a standard OPA bundle. The bundle is a
gzipped tarball, or a folder if PATH ends in a slash or is a folder, or a
tarball on standard output for -. A stock opa runs the bundle with the same
decisions.

The same documents always result in the same bytes. The revision is a hash of
the content. --commit and --sequence are recorded in the manifest and do not
affect the revision. The bundle contains tests that are generated from the
documents, unless --tests=false, and the directory's assertions, for writ
verify: they are signed and do not affect the revision. --require-assertions
builds nothing unless there are some and none fails. The number of tested roles
is limited to bound the time that opa needs to compile; a message states how
many roles have tests.

--sign adds a signature in OPA's format over the manifest and all files. opa run
--verification-key verifies it, and so does writ with --keys. If --keys is given
here, build rejects a signing key that those keys would not accept.

With --split FOLDER, PATH is a folder, and build writes PATH/CLUSTER.tar.gz for
each folder FOLDER/CLUSTER of DIR: the bundle of the documents there and outside
FOLDER, without the deny policies whose appliesTo names other clusters alone. It
decides requests about that cluster, and those that name none; a request about
another cluster is denied. Either all bundles are replaced, or none.`

const buildExamples = `  writ build policies -o bundle.tar.gz
  writ build policies -o bundle/ && opa test --bundle bundle
  writ build policies -o bundle.tar.gz --commit "$(git rev-parse HEAD)" --sequence 42
  writ build policies -o bundle.tar.gz --sign --signing-key private.pem --keys keys.yaml
  writ build policies --split clusters -o bundles/
  writ build policies -o - | oras push registry.example/policies:latest -`

type buildOptions struct {
	documents documents.Flags
	path      string
	commit    string
	sequence  int64
	tests     bool
	split     string
	verified  bool // required
	signing   signingFlags
}

// NewBuild returns the command build.
func NewBuild(s cli.Streams) *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:     "build DIR -o PATH",
		Short:   "Compile a policy directory into an OPA bundle",
		Long:    buildHelp,
		Example: buildExamples,
		Args:    documents.OneSource,
		RunE:    func(cmd *cobra.Command, args []string) error { return build(cmd, s, args, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.path, "output", "o", "", "`path` of the bundle: a tarball, a folder, or -")
	f.StringVar(&o.commit, "commit", "", "`commit` the documents are from, for the manifest")
	f.Int64Var(&o.sequence, "sequence", 0, "`number` that increases with each bundle, for the manifest")
	f.BoolVar(&o.tests, "tests", true, "put generated tests into the bundle")
	f.StringVar(&o.split, "split", "", "`folder` of DIR that has a folder for each cluster: builds a bundle for each")
	f.BoolVar(&o.verified, "require-assertions", false, "build only if the directory has assertions and none fails, as writ verify finds")
	cli.MarkCommandLineOnly(cmd, "output", "commit", "sequence", "split", "require-assertions")
	o.signing.add(cmd)
	o.documents.Add(cmd)
	o.documents.AddStrict(cmd)
	return cmd
}

func build(cmd *cobra.Command, s cli.Streams, sources []string, o buildOptions) error {
	if o.path == "" {
		return cli.Usagef(cmd, "-o PATH is required")
	}
	if o.sequence < 0 {
		return cli.Usagef(cmd, "--sequence must not be negative")
	}
	if err := o.signing.check(cmd); err != nil {
		return err
	}
	if o.split != "" {
		return buildSplit(cmd, s, sources, o)
	}
	b, r, err := o.documents.Build(cmd.Context(), s, sources, o.tests, bundles.BuildOptions{Commit: o.commit, Sequence: o.sequence})
	if err != nil {
		return err
	}
	if b, err = o.finished(cmd.Context(), s, b, r); err != nil {
		return err
	}
	if err := writeBundle(s.Out, b, o.path); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	if o.path != "-" {
		fmt.Fprintf(s.Err, "wrote %s%s, revision %s\n", o.path, formNote(o.path), b.Manifest.Revision)
	}
	return nil
}

// finished returns a bundle that is checked and, if asked for, signed.
func (o *buildOptions) finished(ctx context.Context, s cli.Streams, b *bundles.Bundle, r *documents.Translation) (*bundles.Bundle, error) {
	err := progress.Do(ctx, progress.Check, func(context.Context) error { return r.CheckBundle(b) })
	if err != nil {
		return nil, err
	}
	if err := o.documents.Silence(r, nil); err != nil {
		return nil, err
	}
	r.ApplyStrict()
	if err := r.WriteDiagnostics(s.Err, "text"); err != nil {
		return nil, err
	}
	if r.List.HasErrors() {
		return nil, cli.Findingf("%s", documents.Summary(r.List))
	}
	if err := o.carry(ctx, s, b, r); err != nil {
		return nil, err
	}
	return o.signing.signed(b)
}

// carry adds what assertions refer to. If they are required, it returns a finding unless there
// are some and none fails.
func (o *buildOptions) carry(ctx context.Context, s cli.Streams, b *bundles.Bundle, r *documents.Translation) error {
	m := &b.Manifest.Metadata
	if len(m.AssertionDocuments) == 0 && !o.verified {
		return nil
	}
	at := time.Now()
	set, err := o.documents.Assertions(ctx, s, r, func() time.Time { return at })
	if err != nil {
		return err
	}
	if m.References, err = set.References(ctx); err != nil || !o.verified {
		return err
	}
	report, err := o.documents.Verify(ctx, s, b, r, at, func(string) bool { return true })
	switch {
	case err != nil:
		return err
	case report == nil:
		return cli.Findingf("no-assertions: the directory has no assertion to verify")
	case report.Fails():
		if _, err := io.WriteString(s.Err, report.Text()); err != nil {
			return err
		}
		return cli.Findingf("assertion-failed: nothing is written")
	}
	m.Assertions = &bundles.Verified{Verified: len(report.Assertions), At: at.UTC().Truncate(time.Second)}
	return nil
}

// formNote returns a note for a path whose name does not show that it is a tarball.
func formNote(path string) string {
	info, err := os.Stat(path)
	isNamed := strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".tgz")
	if err != nil || !info.Mode().IsRegular() || isNamed {
		return ""
	}
	return " (a tarball; name " + path + "/ for a folder)"
}

func writeBundle(out io.Writer, b *bundles.Bundle, path string) error {
	if path == "-" {
		return b.WriteTar(out)
	}
	if info, err := os.Stat(path); strings.HasSuffix(path, "/") || err == nil && info.IsDir() {
		return b.WriteDir(path)
	}
	return writeAtomically(path, b.WriteTar)
}

// fileMode is the mode of bundles: they hold nothing that readers of the folder may not see.
const fileMode = 0o644

// writeAtomically writes a file so that readers see all of it or nothing: a server may
// watch the path. What is not a regular file, such as a pipe or /dev/null, is written to and
// stays what it is.
func writeAtomically(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	}
	staged, err := cli.WriteBeside(path, fileMode, write)
	if err != nil {
		return err
	}
	defer os.Remove(staged)
	return os.Rename(staged, path)
}
