package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/lower"
	"github.com/writ-policy/writ/translator/progress"
	"github.com/writ-policy/writ/translator/source"
)

// documentFlags are the flags of every command that reads documents.
type documentFlags struct {
	master     string
	allowEmpty bool
}

func (d *documentFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.master, "master-namespace", "master", "`namespace` whose Origin roles and bindings reach every namespace")
	f.BoolVar(&d.allowEmpty, "allow-empty", false, "accept a directory without a single policy document")
}

// reading is a directory's documents, translated as far as they go.
type reading struct {
	snapshot source.Snapshot
	list     diag.List
	result   *translator.Result // nil where list has errors
	// conditions are of gateway policies where list has errors.
	conditions map[string][]lower.GatewayCondition
}

// read reads and translates a directory, or one file of documents from standard
// input for "-". The error is the world's: no such directory.
func (d *documentFlags) read(ctx context.Context, s streams, dir string, tests bool) (*reading, error) {
	var snapshot source.Snapshot
	var list diag.List
	err := progress.Do(ctx, progress.Snapshot, func(ctx context.Context) (err error) {
		snapshot, list, err = readSnapshot(ctx, s.in, dir)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &reading{snapshot: snapshot, list: list}
	if list.HasErrors() {
		return r, nil
	}
	t := translator.New(translator.Options{Master: d.master, AllowEmpty: d.allowEmpty, Tests: tests})
	within, p := progress.Start(ctx, progress.Translate)
	result, more := t.Translate(within, snapshot)
	p.End(nil) // what is wrong is in the list
	r.result, r.list, r.conditions = result, append(r.list, more...), t.PolicyConditions()
	return r, ctx.Err()
}

// standardInput is what documents from standard input are reported as. JSON is
// YAML, so one name fits both.
const standardInput = "stdin.yaml"

func readSnapshot(ctx context.Context, in io.Reader, dir string) (source.Snapshot, diag.List, error) {
	if dir != "-" {
		if err := isDirectory(dir); err != nil {
			return source.Snapshot{}, nil, err
		}
		return source.Dir(dir, source.DirOptions{}).Snapshot(ctx)
	}
	content, err := io.ReadAll(io.LimitReader(in, source.DefaultMaxFileBytes+1))
	if err != nil {
		return source.Snapshot{}, nil, fmt.Errorf("read documents: %w", err)
	}
	if len(content) > source.DefaultMaxFileBytes {
		return source.Snapshot{}, nil, fmt.Errorf("read documents: more than %d bytes", source.DefaultMaxFileBytes)
	}
	file := source.File{Path: standardInput, Content: content, Hash: sha256.Sum256(content)}
	return source.Snapshot{Files: []source.File{file}}, nil, nil
}

// isDirectory says in a user's words what is wrong with a directory's name.
func isDirectory(path string) error {
	info, err := os.Stat(path)
	switch {
	case strings.HasPrefix(path, "git+"):
		return fmt.Errorf("%s: only writ serve reads git repositories; check it out and name the folder", path)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: no such directory", path)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: not a directory; name the one it is in", path)
	}
	return nil
}

// build makes the bundle of a directory. Documents with errors are a finding, and
// their diagnostics have then been written to standard error. Warnings are not:
// who only uses the documents has no use for them.
func (d *documentFlags) build(ctx context.Context, s streams, dir string, tests bool, o bundles.BuildOptions) (*bundles.Bundle, *reading, error) {
	r, err := d.read(ctx, s, dir, tests)
	if err != nil {
		return nil, nil, err
	}
	if r.result == nil {
		if err := reportTo(s.err, "text", r); err != nil {
			return nil, nil, err
		}
		return nil, nil, foundf("%s", summary(r.list))
	}
	if bound := boundRoles(r.result.Access); tests && bound > emit.TestedRoles {
		fmt.Fprintf(s.err, "tests are generated for %d of the %d roles that are bound\n", emit.TestedRoles, bound)
	}
	o.Version = programVersion()
	var b *bundles.Bundle
	err = progress.Do(ctx, progress.Build, func(context.Context) (err error) {
		b, err = bundles.Build(r.result, o)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return b, r, nil
}

func boundRoles(access *lower.Access) int {
	bound := make(map[string]bool)
	for _, b := range access.Bindings.All() {
		bound[b.Role] = true
	}
	return len(bound)
}

// bundleFrom is the bundle of a policy directory, or the built one at path.
func (d *documentFlags) bundleFrom(ctx context.Context, s streams, dir, path string) (*bundles.Bundle, error) {
	switch {
	case dir == "-" || path == "-":
		return nil, errors.New("standard input holds the requests: --policies and --bundle need a path")
	case dir != "" && path != "":
		return nil, errors.New("--policies and --bundle: only one of them can decide")
	case dir != "":
		b, _, err := d.build(ctx, s, dir, false, bundles.BuildOptions{})
		return b, err
	case path != "":
		return readBundle(path)
	}
	return nil, errors.New("--policies DIR (or --bundle PATH) says what to decide by, and is missing")
}

func readBundle(path string) (*bundles.Bundle, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	if info.IsDir() {
		return bundles.ReadDir(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	defer file.Close()
	return bundles.Read(file)
}
