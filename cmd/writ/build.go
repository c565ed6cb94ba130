package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/progress"
)

const buildHelp = `build compiles a policy directory into a standard OPA bundle: a gzipped tarball, a
folder where PATH ends in a slash or is one already, or a tarball on standard
output for -. Stock opa runs it and gives the same decisions.

The same documents always give the same bytes. The revision is a hash of the
content; --commit and --sequence stand beside it in the manifest and do not enter
it. Tests generated from the documents are part of the bundle, unless --tests=false
leaves them out. They bound what an opa has to compile: of many thousand roles only
the first have tests, which is said.

--sign puts a signature into the bundle as OPA does, over the manifest and every
file: opa run --verification-key verifies it, and so does every writ that has keys.
--keys names those keys, so that nothing is signed that they would refuse.`

const buildExamples = `  writ build policies -o bundle.tar.gz
  writ build policies -o bundle/ && opa test --bundle bundle
  writ build policies -o bundle.tar.gz --commit "$(git rev-parse HEAD)" --sequence 42
  writ build policies -o bundle.tar.gz --sign --signing-key private.pem --keys keys.yaml
  writ build policies -o - | oras push registry.example/policies:latest -`

type buildOptions struct {
	documents documentFlags
	path      string
	commit    string
	sequence  int64
	tests     bool
	signing   signingFlags
}

func newBuild(s streams) *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:     "build DIR -o PATH",
		Short:   "Compile a policy directory into an OPA bundle",
		Long:    buildHelp,
		Example: buildExamples,
		Args:    oneDirectory,
		RunE:    func(cmd *cobra.Command, args []string) error { return build(cmd, s, args[0], o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.path, "output", "o", "", "`path` of the bundle: a tarball, a folder, or -")
	f.StringVar(&o.commit, "commit", "", "`commit` the documents are from, for the manifest")
	f.Int64Var(&o.sequence, "sequence", 0, "`number` that grows from bundle to bundle, for the manifest")
	f.BoolVar(&o.tests, "tests", true, "put generated tests into the bundle")
	onlyHere(cmd, "output", "commit", "sequence")
	o.signing.add(cmd)
	o.documents.add(cmd)
	return cmd
}

func build(cmd *cobra.Command, s streams, dir string, o buildOptions) error {
	if o.path == "" {
		return usagef(cmd, "-o says where to write the bundle, and is missing")
	}
	if o.sequence < 0 {
		return usagef(cmd, "--sequence counts up from 0")
	}
	if o.signing.sign && o.signing.key == "" {
		return usagef(cmd, "--sign needs a key: --signing-key FILE")
	}
	b, r, err := o.documents.build(cmd.Context(), s, dir, o.tests, bundles.BuildOptions{Commit: o.commit, Sequence: o.sequence})
	if err != nil {
		return err
	}
	if err := reportTo(s.err, "text", r); err != nil {
		return err
	}
	err = progress.Do(cmd.Context(), progress.Check, func(context.Context) error { return bundles.Check(b) })
	if err != nil {
		return foundf("%v", err)
	}
	if b, err = o.signing.signed(b); err != nil {
		return err
	}
	if err := writeBundle(s.out, b, o.path); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	if o.path != "-" {
		fmt.Fprintf(s.err, "wrote %s, revision %s\n", o.path, b.Manifest.Revision)
	}
	return nil
}

func writeBundle(out io.Writer, b *bundles.Bundle, path string) error {
	if path == "-" {
		return b.WriteTar(out)
	}
	if info, err := os.Stat(path); strings.HasSuffix(path, "/") || err == nil && info.IsDir() {
		return b.WriteDir(path)
	}
	return writeWhole(path, b.WriteTar)
}

// writeWhole writes a file that readers see whole or not at all: a server may
// be watching it.
func writeWhole(path string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".writ-*")
	var at *fs.PathError
	if errors.As(err, &at) { // the name it has is nobody's
		return fmt.Errorf("%s: %w", path, at.Err)
	}
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := errors.Join(write(file), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
