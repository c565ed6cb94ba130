package changes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

func (o *diffOptions) addApply(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.apply, "apply", false, "compare A with A after the documents of B are applied to it")
	cmd.Flags().StringArrayVar(&o.prune, "prune", nil, "take out documents of A that B lacks and that carry a `mark`: label:KEY=VALUE, or annotation:KEY=GLOB; repeatable")
	cli.MarkCommandLineOnly(cmd, "apply", "prune")
}

// loading loads two revisions.
type loading func(context.Context, [2]input) (a, b *diff.Side, _ error)

// applying returns how two revisions are loaded if the second one is applied to the first.
func (o *diffOptions) applying(cmd *cobra.Command, l *loader, at time.Time, notes *[]string) (loading, error) {
	var prune []documents.Prune
	for _, text := range o.prune {
		p, err := documents.ParsePrune(text)
		if err != nil {
			return nil, cli.Usagef(cmd, "--prune: %v", err)
		}
		if prune = append(prune, p); p.IsAnnotation {
			o.documents.Annotations = append(o.documents.Annotations, p.Key)
		}
	}
	return func(ctx context.Context, from [2]input) (*diff.Side, *diff.Side, error) {
		if slices.ContainsFunc(from[:], func(in input) bool { return in.checkout == nil && documents.IsBundle(in.path) }) {
			return nil, nil, cli.Usagef(cmd, "--apply requires documents; a built bundle has none")
		}
		l.allowEmpty = true // others may have no document left; that B has one is checked below
		a, err := l.load(ctx, "a", from[0])
		if err != nil {
			return nil, nil, err
		}
		base := documents.Part{Snapshot: l.lastSnapshot, Documents: l.translator.Documents()}
		applied, err := l.decode(ctx, from[1])
		if err != nil {
			return nil, nil, err
		}
		after, err := documents.Apply(base, applied, prune, at)
		if err != nil {
			return nil, nil, err
		}
		count := diag.Counted(after.Added+after.Replaced, "document")
		*notes = append(*notes, fmt.Sprintf("%s applied to %s, %d of them new; %d pruned", count, from[0].name, after.Added, after.Pruned))
		b, err := l.loadSnapshot(ctx, "b", from[1], after.Snapshot)
		return a, b, err
	}, nil
}

// decode reads a revision that need not compile alone: it may refer to documents of another.
func (l *loader) decode(ctx context.Context, in input) (documents.Part, error) {
	snapshot, list, err := l.snapshot(ctx, in)
	if err != nil {
		return documents.Part{}, err
	}
	given, err := l.documents.Settings()
	if err != nil {
		return documents.Part{}, err
	}
	t := translator.New(translator.Options{Settings: given, AllowEmpty: true})
	if !list.HasErrors() {
		within, p := progress.Start(ctx, progress.Translate)
		t.Translate(within, snapshot)
		p.End(nil) // mistakes are found again beside the documents that it is applied to
	}
	if err := ctx.Err(); err != nil {
		return documents.Part{}, err
	}
	isPolicy := func(d syntax.Document) bool { return !d.Meta().Auxiliary }
	if !list.HasErrors() && !l.documents.AllowEmpty && !snapshot.MayBeEmpty() && !slices.ContainsFunc(t.Documents(), isPolicy) {
		list.Add(diag.Diagnostic{
			Position: diag.Position{File: in.name}, Code: diag.NoDocuments,
			Message: "the source holds no policy document", Hint: "use --allow-empty if nothing is applied on purpose",
		})
	}
	if list.HasErrors() {
		_, _, err = l.translate(ctx, "b", in, snapshot, list)
		return documents.Part{}, err
	}
	return documents.Part{Snapshot: snapshot, Documents: t.Documents()}, ctx.Err()
}

// maxSummary bounds the file of --summary: the kubelet keeps so much of a termination message.
const maxSummary = 4096

// summarized writes an error to the file of --summary, if there is one, and returns it.
func (o *diffOptions) summarized(err error) error {
	if err == nil || o.summary == "" || errors.As(err, new(*cli.Finding)) {
		return err
	}
	var lines []string
	if failed, ok := errors.AsType[*diffError](err); ok {
		for _, d := range failed.Diagnostics {
			lines = append(lines, diag.Line(fmt.Sprintf("%v: %v:%v: %v", d["in"], d["file"], d["line"], d["message"]))+"\n")
		}
	}
	text := diff.Cut(diag.Line("writ: no comparison was possible: "+err.Error())+"\n", lines, maxSummary)
	if failed := writeSummary(o.summary, text); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

func writeSummary(name, text string) error {
	return os.WriteFile(name, []byte(text), 0o644) //nolint:gosec // it is what the report states
}
