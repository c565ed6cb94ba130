package changes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/replay"
	"github.com/writ-policy/writ/analysis/shrink"
	"github.com/writ-policy/writ/analysis/shrink/edit"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/source"
)

// shrinking is the state of one run of shrink.
type shrinking struct {
	*shrinkOptions
	streams cli.Streams
	dir     string
	percent int
	options *replay.Options
	logs    []string

	at     time.Time // the time at which revisions are compared
	loader *loader
	// before are the documents of the directory, after those that are left of them.
	before, after state
	first         *shrink.Change
	edits         []shrink.Edit
}

// state is one revision of the documents.
type state struct {
	side     *diff.Side
	bundle   *bundles.Bundle
	result   *translator.Result
	snapshot source.Snapshot
	decide   replay.Decider
	model    *shrink.Model
	use      *shrink.Use
}

// open loads the directory, and its earlier revision for --grace.
func (r *shrinking) open(ctx context.Context) error {
	clock, err := cli.Clock(r.replay.now)
	if err != nil {
		return err
	}
	r.at = clock()
	r.choice.Now = dates.Of(r.at)
	if r.grace > 0 {
		if r.choice.Earlier, err = r.earlierDirectory(ctx, r.at.AddDate(0, 0, -r.grace)); err != nil {
			return err
		}
	}
	r.loader = &loader{documents: &r.documents, streams: r.streams, now: func() time.Time { return r.at }, allowEmpty: true}
	in := input{name: r.dir, path: r.dir}
	snapshot, list, err := r.loader.snapshot(ctx, in)
	if err != nil {
		return err
	}
	b, count, err := r.loader.translate(ctx, "source", in, snapshot, list)
	if err != nil {
		return err
	}
	return r.activate(ctx, &r.before, b, count)
}

// load translates the files with other texts.
func (r *shrinking) load(ctx context.Context, from source.Snapshot, files map[string][]byte) (state, error) {
	next := from
	next.Files = nil
	for _, f := range from.Files {
		text, isChanged := files[f.Path]
		if isChanged && text == nil {
			continue
		}
		if isChanged {
			f.Content, f.Hash = source.TextOf(text), sha256.Sum256(text)
		}
		next.Files = append(next.Files, f)
	}
	var out state
	b, count, err := r.loader.translate(ctx, "smaller", input{name: r.dir + ", smaller"}, next, nil)
	if err != nil {
		return out, fmt.Errorf("the smaller documents do not compile; please report this as a defect: %w", err)
	}
	return out, r.activate(ctx, &out, b, count)
}

func (r *shrinking) activate(ctx context.Context, s *state, b *bundles.Bundle, count int) (err error) {
	s.bundle, s.result, s.snapshot = b, r.loader.lastResult, r.loader.lastSnapshot
	if s.side, err = r.loader.activate(ctx, input{name: r.dir}, b, count); err != nil {
		return err
	}
	s.decide = deciderOf(r.loader.last)
	s.model, err = shrink.NewModel(s.result, s.snapshot.Files, &r.choice)
	if err != nil {
		return err
	}
	s.use = shrink.NewUse(s.model)
	return nil
}

// work chooses until nothing changes, and proves the result.
func (r *shrinking) work(ctx context.Context) (*shrink.Report, error) {
	read, spared, refused, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	report := &shrink.Report{
		Revision: r.before.side.Revision, Edits: []shrink.Edit{}, NotEdited: []shrink.NotEdited{},
		Log: shrink.LogSummary{
			Events: read.Events, Replayed: read.Replayed, Skipped: read.Skipped, Uncertain: read.Uncertain, Window: read.Window,
			Spared: spared, Refused: refused[0], SpareRefused: refused[1],
		},
	}
	if days := report.Log.Days(); !r.force && (read.Replayed < r.minEvents || days < r.minDays) {
		const short = "the log has %d events over %d days; --min-events %d and --min-days %d state how much is enough, --force accepts it"
		return nil, &diffError{Code: "short-log", Message: fmt.Sprintf(short, read.Replayed, days, r.minEvents, r.minDays)}
	}
	last, err := r.choose(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.date(ctx); err != nil {
		return nil, err
	}
	report.Edits = append(report.Edits, r.edits...)
	report.NotEdited = append(report.NotEdited, r.first.NotEdited...)
	count := shrink.Permissions(r.before.model, r.after.model)
	report.Summary = shrink.Summary{Files: len(r.texts()), Edits: len(r.edits), Permissions: shrink.PermissionCount{Before: count[0], After: count[1]}}
	report.Holdout = shrink.Holdout{Percent: r.percent, Events: r.before.use.HeldOut(), PutBack: !r.strict, Losses: append([]shrink.Loss{}, r.first.Lost...)}
	for _, l := range r.first.Lost {
		report.Holdout.Lost += l.Count
	}
	return report, r.prove(ctx, report, last)
}

// read reads the log, and the requests of --spare: how many there are. Refused are the events
// that the log has as allowed, and the requests, that the documents refuse.
func (r *shrinking) read(ctx context.Context) (read *replay.Report, spared int, refused [2]int, err error) {
	o := *r.options
	o.Decide, o.Facts = r.before.decide, statement.FactsOf(r.before.side.World.Whole())
	var no [2]atomic.Int64
	o.Observe = func(e *replay.Event) {
		if e.IsAllowed && e.IsRefused() {
			no[0].Add(1)
		}
		r.before.use.Add(e, r.isHeldOut(e.Hash))
	}
	read, err = replayFiles(ctx, nil, r.logs, o)
	refused[0] = int(no[0].Load())
	if err != nil || len(r.spare) == 0 {
		return read, 0, refused, err
	}
	o.Since, o.Until, o.AllowEmpty = time.Time{}, time.Time{}, true
	o.Observe = func(e *replay.Event) {
		if e.IsRefused() {
			no[1].Add(1)
		}
		r.before.use.Add(e, false)
	}
	report, err := replayFiles(ctx, nil, r.spare, o)
	if err != nil {
		return nil, 0, refused, fmt.Errorf("--spare: %w", err)
	}
	if len(report.Malformed) > 0 {
		return nil, 0, refused, fmt.Errorf("--spare: %s: not a request", report.Malformed[0])
	}
	for _, reason := range slices.Sorted(maps.Keys(report.Skipped)) {
		return nil, 0, refused, fmt.Errorf("--spare: %d lines are not requests: %s", report.Skipped[reason], reason)
	}
	refused[1] = int(no[1].Load())
	return read, report.Replayed, refused, nil
}

// maxRounds bounds how often a result is chosen from again.
const maxRounds = 10

// choose shrinks the documents, and what is left of them, until nothing changes. It returns
// the last choice, which changes nothing unless the rounds were not enough.
func (r *shrinking) choose(ctx context.Context) (*shrink.Change, error) {
	r.after = r.before
	isSplit := !r.choice.SplitRoles
	for range maxRounds {
		change, err := r.after.model.Shrink(r.after.use, r.strict)
		if err != nil {
			return nil, err
		}
		r.first = cmp.Or(r.first, change)
		if len(change.Files) == 0 && !isSplit {
			isSplit = true
			if change, err = r.after.model.SplitRoles(); err != nil {
				return nil, err
			}
			if len(change.Files) == 0 {
				return r.after.model.Shrink(r.after.use, r.strict)
			}
		}
		if len(change.Files) == 0 {
			return change, nil
		}
		r.edits = append(r.edits, change.Edits...)
		samples := r.after.use.Samples()
		if r.after, err = r.load(ctx, r.after.snapshot, change.Files); err != nil {
			return nil, err
		}
		if err := r.decideAgain(ctx, samples); err != nil {
			return nil, err
		}
	}
	return r.after.model.Shrink(r.after.use, r.strict)
}

// decideAgain decides events by the documents that are left.
func (r *shrinking) decideAgain(ctx context.Context, samples []shrink.Sample) error {
	o := *r.options
	o.Decide, o.Facts = r.after.decide, statement.FactsOf(r.before.side.World.Whole())
	for i := range samples {
		again, err := samples[i].Event.Again(ctx, &o)
		if err != nil {
			return err
		}
		samples[i].Event = *again
		r.after.use.AddSample(&samples[i])
	}
	return nil
}

// date adds to the evidence of rules that no event uses when git has them since. It adds
// nothing outside a repository, and for texts that are not committed.
func (r *shrinking) date(ctx context.Context) error {
	texts := make(map[string][]string)
	for i := range r.edits {
		if e := &r.edits[i]; e.Written != "" {
			file, _, _ := strings.Cut(e.Source, ":")
			texts[file] = append(texts[file], e.Written)
		}
	}
	in, err := committed(r.dir)
	if len(texts) == 0 || err != nil {
		return nil //nolint:nilerr // documented
	}
	since, err := in.checkout.Written(ctx, in.commit, in.folder, texts)
	if err != nil {
		return err
	}
	for i := range r.edits {
		e := &r.edits[i]
		file, _, _ := strings.Cut(e.Source, ":")
		if at, known := since[file][e.Written]; known {
			e.Evidence += "; last changed " + at.UTC().Format(time.DateOnly)
		}
	}
	return nil
}

// texts returns the files that are not what they were; nil is a file that is deleted.
func (r *shrinking) texts() map[string][]byte {
	left := make(map[string][]byte)
	for _, f := range r.after.snapshot.Files {
		left[f.Path] = f.Content.Bytes()
	}
	out := make(map[string][]byte)
	for _, f := range r.before.snapshot.Files {
		if text := left[f.Path]; text == nil || !bytes.Equal(text, f.Content.Bytes()) {
			out[f.Path] = text
		}
	}
	return out
}

// patch returns the changes as git apply takes them.
func (r *shrinking) patch() string {
	texts := r.texts()
	var out strings.Builder
	for _, f := range r.before.snapshot.Files {
		if text, isChanged := texts[f.Path]; isChanged {
			out.WriteString(edit.Patch(f.Path, f.Content.Bytes(), text))
		}
	}
	return out.String()
}

// writeFiles replaces files by rename, after all texts are on the disk, and deletes those
// without a text. Links are followed: the file that they lead to is replaced.
func writeFiles(dir string, texts map[string][]byte) (err error) {
	type replacement struct{ from, to string }
	var ready []replacement
	defer func() {
		for _, r := range ready {
			_ = os.Remove(r.from) // of files that were not renamed
		}
	}()
	names := slices.Sorted(maps.Keys(texts))
	paths := make(map[string]string)
	for _, name := range names {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		paths[name] = path
		if texts[name] == nil {
			continue
		}
		from, err := writeBeside(path, texts[name])
		if err != nil {
			return err
		}
		ready = append(ready, replacement{from, path})
	}
	for _, r := range ready {
		if err := os.Rename(r.from, r.to); err != nil {
			return err
		}
	}
	for _, name := range names {
		if texts[name] == nil {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeBeside writes a text into a file of the same folder, with the mode of a path.
func writeBeside(path string, text []byte) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return cli.WriteBeside(path, info.Mode().Perm(), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
