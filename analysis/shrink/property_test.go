package shrink_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/replay"
	"github.com/writ-policy/writ/analysis/shrink"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

var now = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// revision is documents with what decides by them.
type revision struct {
	files  []source.File
	result *translator.Result
	side   *diff.Side
}

func load(t *testing.T, files []source.File) *revision {
	t.Helper()
	for i := range files {
		files[i].Hash = sha256.Sum256(files[i].Content.Bytes())
	}
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(t.Context(), source.Snapshot{Files: files})
	if result == nil {
		t.Fatalf("%v\n%s", list, textOf(files))
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), b, engine.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return &revision{files, result, &diff.Side{World: statement.Of(e), Judge: judge.Of(e)}}
}

func (r *revision) decide(ctx context.Context, _ time.Time, point string, q decision.Question) (statement.Verdict, error) {
	return r.side.Judge(ctx, point, q.(*decision.Request).Encode())
}

func textOf(files []source.File) string {
	var out strings.Builder
	for _, f := range files {
		out.Write(f.Content.Bytes())
	}
	return out.String()
}

// use returns the use of a log by a model of the documents.
func (r *revision) use(t *testing.T, log string, facts statement.Facts, o *shrink.Options) (*shrink.Model, *shrink.Use) {
	t.Helper()
	m, err := shrink.NewModel(r.result, r.files, o)
	if err != nil {
		t.Fatal(err)
	}
	u := shrink.NewUse(m)
	_, err = replay.Run(t.Context(), []replay.Log{{Name: "log", In: strings.NewReader(log)}}, replay.Options{
		Decide: r.decide, Facts: facts, Observe: func(e *replay.Event) { u.Add(e, e.Hash%4 == 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, u
}

func (r *revision) with(t *testing.T, texts map[string][]byte) *revision {
	t.Helper()
	var files []source.File
	for _, f := range r.files {
		if text, isChanged := texts[f.Path]; isChanged && text != nil {
			files = append(files, source.NewFile(f.Path, text))
		} else if !isChanged {
			files = append(files, f)
		}
	}
	return load(t, files)
}

// Whatever the documents and the log are: no event is lost, decisions only lose, nothing more
// can go, a second run changes nothing, and comments of what stays are where they were.
func TestShrinkKeepsEachEvent(t *testing.T) {
	edits := 0
	for seed := range uint64(6) {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed, 11))}
		var files []source.File
		for i, d := range w.Documents() {
			files = append(files, source.NewFile(fmt.Sprintf("f%d.yaml", i%4), []byte(fmt.Sprintf("---\n# document %d\n%s\n", i, d))))
		}
		slices.SortStableFunc(files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
		for i := len(files) - 1; i > 0; i-- {
			if files[i].Path == files[i-1].Path {
				files[i-1].Content = source.TextOf(slices.Concat(files[i-1].Content.Bytes(), files[i].Content.Bytes()))
				files = slices.Delete(files, i, i+1)
			}
		}
		before := load(t, files)
		var log strings.Builder
		for range 60 {
			fmt.Fprintln(&log, revisions.Text(w.Request()))
		}
		facts := statement.FactsOf(before.side.World)
		for _, o := range []*shrink.Options{{}, {NoSplit: true}} {
			edits += check(t, seed, before, log.String(), facts, o)
		}
		// What may change is any choice of the parts: each seed takes others.
		parts := []string{shrink.OnlyRules, shrink.OnlySubjects, shrink.OnlyBindings, shrink.OnlyEntries, shrink.OnlyWildcards}
		for mask := 1 + int(seed)%6; mask < 1<<len(parts)-1; mask += 6 {
			o := &shrink.Options{NoSplit: mask%4 == 0}
			for i, part := range parts {
				if mask>>i&1 == 1 {
					o.Only = append(o.Only, part)
				}
			}
			edits += check(t, seed, before, log.String(), facts, o)
		}
	}
	if edits < 20 {
		t.Errorf("%d edits: the test proves nothing", edits)
	}
}

func check(t *testing.T, seed uint64, before *revision, log string, facts statement.Facts, o *shrink.Options) (edits int) {
	t.Helper()
	after := before
	var m *shrink.Model
	var change *shrink.Change
	for round := 0; ; round++ {
		var u *shrink.Use
		m, u = after.use(t, log, facts, o)
		var err error
		if change, err = m.Shrink(u, false); err != nil {
			t.Fatal(err)
		}
		edits += len(change.Edits)
		if len(change.Files) == 0 {
			break
		}
		if round == 5 {
			t.Fatalf("seed %d: %s still changes", seed, change.Edits[0].Text)
		}
		after = after.with(t, change.Files)
	}
	if needless := m.Needless(change); len(needless) > 0 {
		t.Errorf("seed %d, only %v: nothing needs %v\n%s\n%s", seed, o.Only, needless, textOf(after.files), log)
	}
	report, err := replay.Run(t.Context(), []replay.Log{{Name: "log", In: strings.NewReader(log)}}, replay.Options{
		Decide: after.decide, Against: before.decide, Facts: facts,
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Fails("any") {
		t.Errorf("seed %d: %s\nwas\n%s\nis\n%s", seed, report.Text(), textOf(before.files), textOf(after.files))
	}
	compared, err := diff.Compare(t.Context(), before.side, after.side, diff.Options{Now: now, MaxClasses: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range compared.Classes {
		if !slices.Equal(c.Changes, []string{"loss"}) {
			t.Errorf("seed %d: %v at %s\nwas\n%s\nis\n%s", seed, c.Changes, c.Point, textOf(before.files), textOf(after.files))
		}
	}
	was := textOf(before.files)
	for line := range strings.SplitSeq(textOf(after.files), "\n") {
		if strings.HasPrefix(line, "#") && !strings.Contains(was, line) {
			t.Errorf("seed %d: the comment %q is not one of the documents", seed, line)
		}
	}
	return edits
}
