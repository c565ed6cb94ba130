// Package documents reads the documents or the bundle that a command line names,
// translates and builds them, and reports their mistakes.
package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Flags are the flags of every command that reads documents.
type Flags struct {
	AllowEmpty bool
	NoIgnore   bool
	// Part leaves out the checks that need the whole directory.
	Part bool
	// Strict makes warnings errors.
	Strict bool
	// Annotations are kept of the objects of a cluster, beside those that documents can mean
	// something by.
	Annotations []string

	baseline, writeBaseline string // paths

	flags *pflag.FlagSet // has the settings
}

// Add adds the flags to a command.
func (d *Flags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	d.flags = f
	f.BoolVar(&d.AllowEmpty, "allow-empty", false, "accept a directory without a single policy document")
	f.BoolVar(&d.NoIgnore, "no-ignore", false, "read the files that .writignore and .writ.yaml leave out")
	f.String(string(settings.MasterNamespace), "master", "`namespace` whose Origin roles and bindings reach every namespace")
	f.String(string(settings.DefaultNamespace), "", "`namespace` of documents of namespaced kinds that have none; never of Origin documents")
	cli.ChoiceFlag(cmd, new(string), string(settings.BootstrapRoles), "add documents of a `FAMILY`: kubernetes, the roles and bindings that every API server makes; origin, the stock roles; kubernetes,origin, both", settings.BootstrapValues()...)
	cli.ChoiceFlag(cmd, new(string), string(settings.ImpliedGroups), "add the `groups` of a user that every API server adds: kubernetes, or none", settings.Kubernetes, settings.NoGroups)
	f.String(string(settings.SessionGroupPrefixes), "", "`prefixes` of groups, separated by commas: a BreakglassSession grants its group with each prefix as well")
	f.Bool(string(settings.ClusterExport), false, "warn about references that a cluster ignores, instead of reporting errors")
	f.Bool(string(settings.StrictKinds), false, "make it an error if a document is of another kind, instead of skipping it")
	f.Bool(string(settings.StrictRoutes), false, "make it an error if routes of different namespaces match the same requests")
	f.Bool(string(settings.ForbidUnset), false, "make it an error if a gateway policy uses unset")
}

// AddStrict adds the flags of commands whose reports are a gate.
func (d *Flags) AddStrict(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&d.Strict, "strict", false, "make warnings errors: exit status 1")
	cmd.Flags().StringVar(&d.baseline, "baseline", "", "`file` of warnings that are accepted")
}

// Settings returns the settings that are flags, or set by the environment or the
// configuration. It returns an error for a value that is not valid.
func (d *Flags) Settings() (settings.Settings, error) {
	given := settings.Settings{}
	for _, key := range settings.Keys() {
		f := d.flags.Lookup(string(key))
		if !f.Changed {
			continue
		}
		if err := settings.Check(key, f.Value.String()); err != nil {
			return nil, fmt.Errorf("%s: %w", cli.SetBy(f), err)
		}
		given[key] = settings.Value{Text: f.Value.String()}
	}
	return given, nil
}

// CheckBundle returns an error if a flag, the environment or the configuration sets what a
// built bundle has in itself and decisions depend on.
func (d *Flags) CheckBundle(location string) error {
	if d.flags == nil {
		return nil
	}
	for _, key := range []settings.Key{settings.ImpliedGroups, settings.MasterNamespace, settings.SessionGroupPrefixes} {
		if f := d.flags.Lookup(string(key)); f.Changed {
			return fmt.Errorf("%s: the built bundle %s has %s in itself: set it where the bundle is built", cli.SetBy(f), location, key)
		}
	}
	return nil
}

// Translation is a directory's documents and the result of translating them.
type Translation struct {
	List   diag.List
	Result *translator.Result // nil if List has errors
	// Skipped are the documents of other kinds.
	Skipped []syntax.Skipped
	Notes   []translator.Note
	// Overridden are the settings of the sources that flags replace.
	Overridden []overriddenSetting

	snapshot  source.Snapshot
	documents []syntax.Document
	silenced  []diag.Silenced
	bundle    *bundles.Bundle // set if it was read instead of documents
	strict    bool
	// baselineIsLeft states that a baseline was to be written, and was not.
	baselineIsLeft bool
	// conditions are those of gateway policies, set only if List has errors.
	conditions map[string][]tables.GatewayCondition
}

// Read reads and translates the union of sources, standard input for "-". It returns an error if a
// directory cannot be read; mistakes in documents are diagnostics in the translation.
func (d *Flags) Read(ctx context.Context, s cli.Streams, dirs []string, tests bool) (*Translation, error) {
	var snapshot source.Snapshot
	var list diag.List
	given, err := d.Settings()
	if err != nil {
		return nil, err
	}
	err = progress.Do(ctx, progress.Snapshot, func(ctx context.Context) (err error) {
		snapshot, list, err = d.Snapshot(ctx, s.In, dirs)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &Translation{snapshot: snapshot, List: list, strict: d.Strict}
	if list.HasErrors() {
		return r, nil
	}
	d.translate(ctx, d.translator(given, tests), r)
	return r, ctx.Err()
}

func (d *Flags) translator(given settings.Settings, tests bool) *translator.Translator {
	return translator.New(translator.Options{Settings: given, AllowEmpty: d.AllowEmpty, Files: d.Part, Tests: tests})
}

// translate translates the snapshot of r.
func (d *Flags) translate(ctx context.Context, t *translator.Translator, r *Translation) {
	within, p := progress.Start(ctx, progress.Translate)
	result, more := t.Translate(within, r.snapshot)
	p.End(nil) // mistakes are in the list
	r.Result, r.List, r.conditions = result, append(r.List, more...), t.PolicyConditions()
	r.Notes, r.documents = t.Notes(), t.Documents()
	r.Skipped, r.Overridden = t.Skipped(), d.overridden(t.Overridden(r.snapshot))
}

// Snapshot reads files, or the union of sources; in is standard input. It returns an error if
// a source cannot be read.
func (d *Flags) Snapshot(ctx context.Context, in io.Reader, dirs []string) (source.Snapshot, diag.List, error) {
	if AreFiles(dirs) {
		return source.ReadFiles(ctx, dirs, source.DirOptions{NoIgnore: d.NoIgnore})
	}
	members := make([]source.Member, len(dirs))
	for i, dir := range dirs {
		var err error
		if members[i], err = d.openMember(dir, in); err != nil {
			return source.Snapshot{}, nil, err
		}
	}
	union, err := source.Join(members, source.UnionOptions{})
	if err != nil {
		return source.Snapshot{}, nil, err
	}
	return union.Snapshot(ctx)
}

// AreFiles reports whether arguments are files: each is one, or has the name of a document
// and does not exist, which a diagnostic states.
func AreFiles(args []string) bool {
	for _, arg := range args {
		info, err := os.Stat(arg)
		isRemote := strings.HasPrefix(arg, diag.ObjectPrefix) || strings.Contains(arg, "://")
		missing := errors.Is(err, os.ErrNotExist) && source.IsDocument(arg) && !isRemote
		if arg == "-" || !missing && (err != nil || info.IsDir() || isPipe(arg) || IsBundle(arg)) {
			return false
		}
	}
	return len(args) > 0
}

// CheckDirectory returns an error that explains why path is not a policy directory,
// or nil if it is a directory.
func CheckDirectory(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: no such directory", path)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: not a directory; name the directory that contains it", path)
	}
	return nil
}

// OneSource checks the arguments of commands that take one directory, or files.
func OneSource(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return cli.Usagef(cmd, "name a policy directory or another source, or - for documents on standard input")
	}
	if AreFiles(args) {
		return nil
	}
	return cli.Usagef(cmd, "name one policy directory, or files, not %d", len(args))
}
