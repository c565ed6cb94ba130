package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/progress"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/kube"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// documentFlags are the flags of every command that reads documents.
type documentFlags struct {
	allowEmpty bool
	noIgnore   bool
	// part leaves out the checks that need the whole directory.
	part  bool
	flags *pflag.FlagSet // has the settings
}

func (d *documentFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	d.flags = f
	f.BoolVar(&d.allowEmpty, "allow-empty", false, "accept a directory without a single policy document")
	f.BoolVar(&d.noIgnore, "no-ignore", false, "read the files that .writignore and .writ.yaml leave out")
	f.String(string(settings.MasterNamespace), "master", "`namespace` whose Origin roles and bindings reach every namespace")
	f.String(string(settings.DefaultNamespace), "", "`namespace` of documents of namespaced kinds that have none; never of Origin documents")
	f.Var(&choice{new(string), []string{settings.Kubernetes}}, string(settings.BootstrapRoles), "add the roles and bindings that every API server makes: `kubernetes`")
	f.Bool(string(settings.ClusterExport), false, "warn about references that a cluster ignores, instead of reporting errors")
	f.Bool(string(settings.StrictKinds), false, "make it an error if a document is of another kind, instead of skipping it")
	f.Bool(string(settings.StrictRoutes), false, "make it an error if routes of different namespaces match the same requests")
	complete(cmd, string(settings.BootstrapRoles), settings.Kubernetes)
}

// settings returns the settings that are flags, or set by the environment or the
// configuration. It returns an error for a value that is not valid.
func (d *documentFlags) settings() (settings.Settings, error) {
	given := settings.Settings{}
	for _, key := range settings.Keys() {
		f := d.flags.Lookup(string(key))
		if !f.Changed {
			continue
		}
		if err := settings.Check(key, f.Value.String()); err != nil {
			return nil, fmt.Errorf("%s: %w", setBy(f), err)
		}
		given[key] = settings.Value{Text: f.Value.String()}
	}
	return given, nil
}

// translation is a directory's documents and the result of translating them.
type translation struct {
	snapshot source.Snapshot
	list     diag.List
	result   *translator.Result // nil where list has errors
	// conditions are those of gateway policies, set only if list has errors.
	conditions map[string][]tables.GatewayCondition
	// skipped are the documents of other kinds.
	skipped []syntax.Skipped
	notes   []translator.Note
	// overridden are the settings of the sources that flags replace.
	overridden []overriddenSetting
}

// read reads and translates the union of directories, or documents from standard input for
// "-" alone. It returns an error if a directory cannot be read; mistakes in documents are
// diagnostics in the translation.
func (d *documentFlags) read(ctx context.Context, s streams, dirs []string, tests bool) (*translation, error) {
	var snapshot source.Snapshot
	var list diag.List
	given, err := d.settings()
	if err != nil {
		return nil, err
	}
	err = progress.Do(ctx, progress.Snapshot, func(ctx context.Context) (err error) {
		snapshot, list, err = d.snapshot(ctx, s.in, dirs)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &translation{snapshot: snapshot, list: list}
	if list.HasErrors() {
		return r, nil
	}
	t := translator.New(translator.Options{Settings: given, AllowEmpty: d.allowEmpty, Files: d.part, Tests: tests})
	within, p := progress.Start(ctx, progress.Translate)
	result, more := t.Translate(within, snapshot)
	p.End(nil) // mistakes are in the list
	r.result, r.list, r.conditions = result, append(r.list, more...), t.PolicyConditions()
	r.notes = t.Notes()
	r.skipped, r.overridden = t.Skipped(), d.overridden(t.Overridden(snapshot))
	return r, ctx.Err()
}

// standardInput is the file name in diagnostics for standard input. JSON is a subset
// of YAML, so one name serves both.
const standardInput = "stdin.yaml"

func (d *documentFlags) snapshot(ctx context.Context, in io.Reader, dirs []string) (source.Snapshot, diag.List, error) {
	if slices.Equal(dirs, []string{"-"}) {
		return readInput(in)
	}
	if areFiles(dirs) {
		return source.ReadFiles(ctx, dirs, source.DirOptions{NoIgnore: d.noIgnore})
	}
	members := make([]source.Member, len(dirs))
	for i, dir := range dirs {
		var err error
		if members[i], err = d.openMember(dir); err != nil {
			return source.Snapshot{}, nil, err
		}
	}
	union, err := source.Join(members, source.UnionOptions{})
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	return union.Snapshot(ctx)
}

// areFiles reports whether arguments are files: each is one, or has the name of a document
// and does not exist, which a diagnostic states.
func areFiles(args []string) bool {
	for _, arg := range args {
		info, err := os.Stat(arg)
		missing := errors.Is(err, os.ErrNotExist) && source.IsDocument(arg) && !strings.HasPrefix(arg, diag.ObjectPrefix) && !strings.Contains(arg, "://")
		if arg == "-" || !missing && (err != nil || info.IsDir()) {
			return false
		}
	}
	return len(args) > 0
}

// openMember opens a policy directory or a cluster.
func (d *documentFlags) openMember(dir string) (source.Member, error) {
	if !strings.HasPrefix(dir, diag.ObjectPrefix) {
		if err := checkDirectory(dir); err != nil {
			return source.Member{}, err
		}
		return source.Member{Location: source.Location{Dir: dir}, Source: source.Dir(dir, source.DirOptions{NoIgnore: d.noIgnore})}, nil
	}
	location, err := source.ParseLocation(dir)
	if err != nil {
		return source.Member{}, fmt.Errorf("%s: %w", dir, err)
	}
	cluster, err := kube.Open(kube.Options{Location: *location.Kube, Kinds: translator.ServedKinds()})
	if err != nil {
		return source.Member{}, fmt.Errorf("%s: %w", dir, err)
	}
	return source.Member{Location: location, Source: cluster}, nil
}

// readInput reads documents from standard input.
func readInput(in io.Reader) (source.Snapshot, diag.List, error) {
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

// checkDirectory returns an error that explains why path is not a policy directory,
// or nil if it is a directory.
func checkDirectory(path string) error {
	info, err := os.Stat(path)
	switch {
	case strings.HasPrefix(path, "git+"):
		return fmt.Errorf("%s: only writ serve reads git repositories; clone it and name the directory", path)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: no such directory", path)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: not a directory; name the directory that contains it", path)
	}
	return nil
}

// build builds the bundle of the union of directories. If documents have errors, it writes the
// diagnostics to standard error and returns a finding. It does not write warnings,
// which are of interest only to commands that check.
func (d *documentFlags) build(ctx context.Context, s streams, dirs []string, tests bool, o bundles.BuildOptions) (*bundles.Bundle, *translation, error) {
	r, err := d.read(ctx, s, dirs, tests)
	if err != nil {
		return nil, nil, err
	}
	if r.result == nil {
		if err := reportTo(s.err, "text", r); err != nil {
			return nil, nil, err
		}
		return nil, nil, foundf("%s", summary(r.list))
	}
	if bound := boundRoles(tables.Of[*tables.Access](r.result.Tables)); tests && bound > emit.TestedRoles {
		fmt.Fprintf(s.err, "tests are generated for %d of %d bound roles\n", emit.TestedRoles, bound)
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

// boundRoles counts the roles that have a binding.
func boundRoles(access *tables.Access) int {
	bound := make(map[string]bool)
	for _, b := range access.Bindings.All() {
		bound[b.Role] = true
	}
	return len(bound)
}

// bundleFrom builds the bundle of policy directories, or reads the one at path.
func (d *documentFlags) bundleFrom(ctx context.Context, s streams, dirs []string, path string) (*bundles.Bundle, error) {
	switch {
	case slices.Contains(dirs, "-") || path == "-":
		return nil, errors.New("--policies and --bundle must be paths: standard input has the requests")
	case len(dirs) > 0 && path != "":
		return nil, errors.New("--policies and --bundle are mutually exclusive")
	case len(dirs) > 0:
		b, _, err := d.build(ctx, s, dirs, false, bundles.BuildOptions{})
		return b, err
	case path != "":
		return readBundle(path)
	}
	return nil, errors.New("--policies DIR or --bundle PATH is required")
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
