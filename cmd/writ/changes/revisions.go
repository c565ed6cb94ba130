package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/git"
)

var errWithoutTables = errors.New("the bundle has no table of its deny policies; build it again")

// input is one of two revisions to compare.
type input struct {
	name string // as it is shown
	// commit and folder are set for a revision of the repository that the working
	// directory is in.
	commit, folder string
	checkout       *git.Checkout
	path           string // otherwise
}

// inputs returns the two revisions that arguments name.
func inputs(cmd *cobra.Command, args []string) ([2]input, error) {
	if revisions, folder, ok := revisionRange(args); ok {
		return rangeInputs(revisions, folder)
	}
	if len(args) != 2 {
		return [2]input{}, cli.Usagef(cmd, "name two revisions, or REV1..REV2")
	}
	if args[0] == "-" && args[1] == "-" {
		return [2]input{}, cli.Usagef(cmd, "only one of two inputs can be standard input")
	}
	var out [2]input
	for i, arg := range args {
		var err error
		if out[i], err = parseInput(arg); err != nil {
			return out, err
		}
	}
	return out, nil
}

// revisionRange reports whether the arguments are REV1..REV2 [FOLDER].
func revisionRange(args []string) (revisions, folder string, ok bool) {
	isPath := documents.Exists(args[0]) || strings.Contains(args[0], "/..") || strings.HasPrefix(args[0], "..")
	if isPath || !strings.Contains(args[0], "..") {
		return "", "", false
	}
	if len(args) == 2 {
		folder = args[1]
	}
	return args[0], folder, true
}

func rangeInputs(revisions, folder string) (out [2]input, err error) {
	checkout, err := openCheckout()
	if err != nil {
		return out, err
	}
	separator := ".."
	if strings.Contains(revisions, "...") {
		separator = "..."
	}
	one, other, _ := strings.Cut(revisions, separator)
	other = cmp.Or(other, "HEAD")
	folder = cmp.Or(folder, ".")
	for i, revision := range []string{one, other} {
		commit, err := checkout.Resolve(revision)
		if err != nil {
			return out, revisionError(err)
		}
		out[i] = input{name: revision + ":" + folder, commit: commit, folder: folder, checkout: checkout}
	}
	if separator == "..." {
		out[0].commit, err = checkout.MergeBase(out[0].commit, out[1].commit)
		if err != nil {
			return out, revisionError(fmt.Errorf("%s: %w", revisions, err))
		}
	}
	return out, nil
}

func openCheckout() (*git.Checkout, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	checkout, err := git.OpenCheckout(dir)
	if err != nil {
		return nil, revisionError(err)
	}
	return checkout, nil
}

// revisionCodes are the codes of the errors of a repository.
var revisionCodes = map[error]string{
	git.ErrNoRepository: "no-repository",
	git.ErrBadRevision:  "bad-revision",
	git.ErrNoMergeBase:  "bad-revision",
	git.ErrNoFolder:     "no-folder",
	git.ErrNotFolder:    "no-folder",
}

// revisionError gives an error of a repository its code.
func revisionError(err error) error {
	for is, code := range revisionCodes {
		if errors.Is(err, is) {
			return &diffError{Code: code, Message: err.Error()}
		}
	}
	return err
}

// committed returns the last committed revision of a directory.
func committed(dir string) (input, error) {
	checkout, err := git.OpenCheckout(dir)
	if err != nil {
		return input{}, revisionError(err)
	}
	folder, err := checkout.Folder(dir)
	if err != nil {
		return input{}, err
	}
	commit, err := checkout.Resolve("HEAD")
	if err != nil {
		return input{}, revisionError(err)
	}
	return input{name: dir, commit: commit, folder: folder, checkout: checkout}, nil
}

// parseInput reads a path, a URL, a cluster, REVISION:FOLDER, or - for standard input.
func parseInput(arg string) (input, error) {
	if arg == "-" || documents.IsLocation(arg) {
		return input{name: arg, path: arg}, nil
	}
	revision, folder, ok := strings.Cut(arg, ":")
	if !ok {
		return input{}, missing(arg)
	}
	checkout, err := openCheckout()
	if err != nil {
		return input{}, err
	}
	commit, err := checkout.Resolve(revision)
	if err != nil {
		return input{}, revisionError(err)
	}
	return input{name: arg, commit: commit, folder: folder, checkout: checkout}, nil
}

// missing returns the error of a path that does not exist, which may be a revision.
func missing(path string) error {
	err := &diffError{Code: "no-folder", Message: path + ": no such directory or bundle"}
	if checkout, failed := openCheckout(); failed == nil {
		if _, failed := checkout.Resolve(path); failed == nil {
			err.Message += fmt.Sprintf("; the revision is written %s:FOLDER, and %s: is its top", path, path)
		}
	}
	return err
}

// loader loads revisions. Files that they share are decoded once.
type loader struct {
	documents *documents.Flags
	streams   cli.Streams
	now       func() time.Time

	allowEmpty bool      // beside the flag
	reads      func(int) // is called with the bytes of documents; nil for nothing
	// sets are the assertions of the revisions of loadBoth.
	sets [2]*assertions.Set
	// parts are the documents of both sides of a comparison; a built bundle has none.
	parts map[string]documents.Part

	translator *translator.Translator
	last       *engine.Engine
	// lastSnapshot and lastResult are those of the last revision; lastBundle is set in their
	// place if it was a bundle.
	lastSnapshot source.Snapshot
	lastResult   *translator.Result
	lastBundle   *bundles.Bundle
}

// loadBoth loads two revisions and their assertions. If neither compiles, the error has the
// diagnostics of both.
func (l *loader) loadBoth(ctx context.Context, from [2]input) (a, b *diff.Side, _ error) {
	a, err := l.load(ctx, "a", from[0])
	var one, other *diffError
	if err != nil && (!errors.As(err, &one) || one.Code != notCompiled) {
		return nil, nil, err
	}
	if err == nil {
		if l.sets[0], err = l.assertions(); err != nil {
			return nil, nil, err
		}
	}
	b, err = l.load(ctx, "b", from[1])
	switch {
	case one == nil:
		if err == nil {
			l.sets[1], err = l.assertions()
		}
		return a, b, err
	case errors.As(err, &other) && other.Code == notCompiled:
		one.Message += "; " + other.Message
		one.Diagnostics = append(one.Diagnostics, other.Diagnostics...)
	}
	return nil, nil, one
}

// notCompiled is the code of a revision with errors.
const notCompiled = "does-not-compile"

// load reads, translates and activates a revision.
func (l *loader) load(ctx context.Context, side string, in input) (*diff.Side, error) {
	b, count, err := l.bundle(ctx, side, in)
	if err != nil {
		return nil, err
	}
	return l.activate(ctx, in, b, count)
}

// loadSnapshot is load for documents that were read.
func (l *loader) loadSnapshot(ctx context.Context, side string, in input, snapshot source.Snapshot) (*diff.Side, error) {
	b, count, err := l.translate(ctx, side, in, snapshot, nil)
	if err != nil {
		return nil, err
	}
	return l.activate(ctx, in, b, count)
}

func (l *loader) activate(ctx context.Context, in input, b *bundles.Bundle, count int) (*diff.Side, error) {
	e, err := documents.Activate(ctx, b, engine.Options{Now: l.now, Last: l.last, Timeout: documents.Patience})
	if err != nil {
		return nil, fmt.Errorf("%s: activate: %w", in.name, err)
	}
	l.last = e
	side := documents.SideOf(e)
	side.Source, side.Documents = in.name, count
	return side, nil
}

// bundle returns the bundle of a revision and the number of its documents.
func (l *loader) bundle(ctx context.Context, side string, in input) (_ *bundles.Bundle, count int, _ error) {
	if in.checkout == nil && documents.IsBundle(in.path) {
		if err := l.documents.CheckBundle(in.path); err != nil {
			return nil, 0, err
		}
		b, err := documents.ReadBundle(ctx, in.path)
		if err != nil {
			return nil, 0, err
		}
		if !statement.IsComplete(b.Tables, b.Features) {
			return nil, 0, &diffError{Code: "bundle-without-tables", Message: in.name + ": " + errWithoutTables.Error()}
		}
		for _, n := range b.Manifest.Metadata.Counts {
			count += n
		}
		l.lastSnapshot, l.lastResult, l.lastBundle = source.Snapshot{}, nil, b
		return b, count, nil
	}
	snapshot, list, err := l.snapshot(ctx, in)
	if err != nil {
		return nil, 0, err
	}
	return l.translate(ctx, side, in, snapshot, list)
}

// translate returns the bundle of documents that were read with some diagnostics.
func (l *loader) translate(
	ctx context.Context, side string, in input, snapshot source.Snapshot, list diag.List,
) (_ *bundles.Bundle, count int, _ error) {
	if l.translator == nil {
		given, err := l.documents.Settings()
		if err != nil {
			return nil, 0, err
		}
		allowEmpty := l.documents.AllowEmpty || l.allowEmpty
		l.translator = translator.New(translator.Options{Settings: given, AllowEmpty: allowEmpty, Reads: l.reads})
	}
	var result *translator.Result
	if !list.HasErrors() {
		within, p := progress.Start(ctx, progress.Translate)
		var more diag.List
		result, more = l.translator.Translate(within, snapshot)
		p.End(nil) // mistakes are in the list
		list = append(list, more...)
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err // documents that were not translated have no mistakes
	}
	if result == nil {
		failed := &diffError{Code: notCompiled, Message: fmt.Sprintf("%s: %s", in.name, documents.Summary(list))}
		failed.Diagnostics = inputDiagnostics(side, list)
		fmt.Fprintf(l.streams.Err, "%s: %s\n", side, diag.Line(in.name))
		how := diag.TextOptions{Color: cli.Colours(l.streams.Err), Most: documents.MaxShown}
		if err := diag.WriteText(l.streams.Err, list, how); err != nil {
			return nil, 0, err
		}
		return nil, 0, failed
	}
	l.lastSnapshot, l.lastResult, l.lastBundle = snapshot, result, nil
	if l.parts == nil {
		l.parts = make(map[string]documents.Part)
	}
	l.parts[side] = documents.Part{Snapshot: snapshot, Documents: l.translator.Documents()}
	b, err := bundles.Build(result, bundles.BuildOptions{Version: cli.Version()})
	return b, result.Documents, err
}

func (l *loader) snapshot(ctx context.Context, in input) (source.Snapshot, diag.List, error) {
	if in.checkout != nil {
		snapshot, list, err := in.checkout.Snapshot(ctx, in.commit, in.folder, l.documents.NoIgnore)
		if errors.Is(err, git.ErrNoFolder) && l.documents.AllowEmpty {
			return source.Snapshot{}, nil, nil
		}
		if err != nil {
			err = revisionError(err)
		}
		return snapshot, list, err
	}
	return l.documents.Snapshot(ctx, l.streams.In, []string{in.path})
}
