package reload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// documents is a source held in memory. What a test sets is what is there.
type documents struct {
	mu    sync.Mutex
	files map[string]string
	at    string // the commit
	list  diag.List
	err   error
	stale error // of the sources that are not read

	notify chan func() // Watch offers its notify here
	watch  chan error  // and ends with what it gets here
}

func newDocuments(content string) *documents {
	d := &documents{notify: make(chan func(), 1), watch: make(chan error, 1)}
	d.set(content)
	return d
}

func (d *documents) set(content string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files, d.list, d.err = map[string]string{"a.yaml": content}, nil, nil
}

// commit sets content of a commit, whose hash is one digit 40 times.
func (d *documents) commit(digit, content string) string {
	d.set(content)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = strings.Repeat(digit, 40)
	return d.at
}

func (d *documents) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (d *documents) Snapshot(context.Context) (source.Snapshot, diag.List, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return source.Snapshot{}, nil, d.err
	}
	s := source.Snapshot{Commit: d.at, Stale: d.stale}
	for path, content := range d.files {
		f := source.NewFile(path, []byte(content))
		copy(f.Hash[:], content)
		s.Files = append(s.Files, f)
	}
	slices.SortFunc(s.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	return s, slices.Clone(d.list), nil
}

func (d *documents) Watch(ctx context.Context, notify func()) error {
	d.notify <- notify
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.watch:
		return err
	}
}

// words is a translator of one-word documents: "bad" has an error, "warn NAME" a
// warning, "panic" panics, "ended" was interrupted; the word before a slash is
// what the bundle says, so "a/1" and "a/2" mean the same.
type words struct{ translated int }

func (w *words) Translate(_ context.Context, s source.Snapshot) (*translator.Result, diag.List) {
	w.translated++
	content := string(s.Files[0].Content.Bytes())
	at := diag.Position{File: s.Files[0].Path, Line: 3, Column: 7}
	var list diag.List
	switch word, _, _ := strings.Cut(content, " "); word {
	case "panic":
		panic("a bug in the translator")
	case "bad":
		list.Add(diag.Diagnostic{Position: at, Code: "dangling-role", Message: `role "x" is not declared`, Hint: "declare it"})
		return nil, list
	case "many":
		for i := range 500 {
			list.Add(diag.Diagnostic{Position: diag.Position{File: "Warnings.yaml", Line: i + 1, Column: 1}, Severity: diag.Warning, Code: "unbound-role", Message: "x"})
		}
		for i := range 1000 {
			list.Add(diag.Diagnostic{Position: diag.Position{File: "a.yaml", Line: i + 1, Column: 1}, Code: "bad-value", Message: "x"})
		}
		return nil, list
	case "ended":
		list.Add(diag.Diagnostic{Code: "interrupted", Message: "not translated"})
		return nil, list
	case "warn":
		list.Add(diag.Diagnostic{Position: at, Severity: diag.Warning, Code: "unbound-role", Message: "not bound"})
	}
	meaning, _, _ := strings.Cut(content, "/")
	access := &tables.Access{
		Master:     "master",
		Extensions: []string{meaning},
	}
	data, err := json.Marshal(map[string]any{"access": access})
	if err != nil {
		panic(err)
	}
	files := map[string][]byte{
		"compiled/extensions/dispatch.rego": []byte("package compiled.extensions\n\nholds(\"\", _, _) := false\n"),
	}
	if strings.HasPrefix(content, "rego ") {
		files[extensionFile] = []byte("package writ.extensions.x\n\nholds(_, _) if nothing(1)\n")
	}
	return &translator.Result{Tables: tables.List{access}, Data: tables.TextOf(data), Files: files}, list
}

func (*words) Documents() []syntax.Document { return nil }

func (w *words) PolicyConditions() map[string][]tables.GatewayCondition { return nil }

const extensionFile = "writ/extensions/x/x.rego"

// echo is an engine that answers with what its bundle says.
type echo struct {
	decision.Unavailable
	revision, says string
	sequence       int64
}

func (e echo) Loaded() *decision.Loaded {
	return &decision.Loaded{Revision: e.revision, Sequence: e.sequence}
}

func (e echo) Access(context.Context, *decision.Request) decision.Decision {
	return decision.Decision{Allowed: true, Reason: e.says, Revision: e.revision}
}

func activateEcho(_ context.Context, b *bundles.Bundle) (decision.Policies, error) {
	if _, ok := b.Files[extensionFile]; ok {
		var err error
		if rego.Compile(func() { _, err = bundles.Compile(b) }); err != nil {
			return nil, err
		}
	}
	says := tables.Of[*tables.Access](b.Tables).Extensions[0]
	switch says {
	case "refused":
		return nil, errors.New("the engine refuses")
	case "crash":
		panic("a bug in the engine")
	}
	return echo{revision: b.Manifest.Revision, says: says, sequence: b.Manifest.Metadata.Sequence}, nil
}

// recorder is an Observer that records its calls.
type recorder struct {
	activated func() // called as soon as a revision is active; may be nil
	observed  []string
	failing   bool // of the state
}

func (e *recorder) Reloaded(result metrics.Result, _ time.Time) {
	e.observed = append(e.observed, string(result))
}

func (e *recorder) ReloadRefused(metrics.Cause) {}

func (e *recorder) Degraded(yes bool) { e.observed = append(e.observed, fmt.Sprint("degraded ", yes)) }

func (e *recorder) StateFails(yes bool) {
	if e.failing != yes {
		e.observed = append(e.observed, fmt.Sprint("state fails ", yes))
	}
	e.failing = yes
}

func (e *recorder) Inherits(metrics.Inherited) {
	if e.activated != nil {
		e.activated()
	}
}

func (e *recorder) Diagnosed(errors, warnings int) {
	e.observed = append(e.observed, fmt.Sprint(errors, " errors ", warnings, " warnings"))
}

func (e *recorder) Serves(revision string) { e.observed = append(e.observed, "serves "+revision[:6]) }

func (e *recorder) ByOPA(map[string]bool) {}

func (e *recorder) take() string {
	observed := strings.Join(e.observed, ", ")
	e.observed = nil
	return observed
}

// wrapped activates what activateEcho does, in the wrapper that wrap puts around it.
func wrapped(wrap func(decision.Policies) decision.Policies) func(context.Context, *bundles.Bundle) (decision.Policies, error) {
	return func(ctx context.Context, b *bundles.Bundle) (decision.Policies, error) {
		p, err := activateEcho(ctx, b)
		if err != nil {
			return nil, err
		}
		return wrap(p), nil
	}
}

// says is the answer of the active revision, or the evaluation error without one.
func says(r *Reloader) string {
	d := r.Current().Access(context.Background(), &decision.Request{})
	if d.EvaluationError != "" {
		return "evaluation error: " + d.EvaluationError
	}
	return d.Reason
}

func wantSays(t *testing.T, r *Reloader, want string) {
	t.Helper()
	if got := says(r); got != want {
		t.Errorf("answer: got %q, want %q", got, want)
	}
}

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
