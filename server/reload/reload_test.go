package reload

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/diag"
)

func newReloader(docs *documents, more func(o *Options)) (*Reloader, *words, *recorder) {
	w, e := &words{}, &recorder{}
	o := Options{Source: docs, Translator: w, Activate: activateEcho, Observer: e}
	if more != nil {
		more(&o)
	}
	return New(o), w, e
}

// The status names a revision as soon as that answers, and not first when the attempt is
// recorded.
func TestStatusNamesWhatAnswers(t *testing.T) {
	docs := newDocuments("a")
	r, _, observed := newReloader(docs, nil)
	asked := 0
	observed.activated = func() {
		asked++
		if s := r.Status(); !s.Ready || s.Revision != r.Revision() || s.Bundle == nil {
			t.Errorf("revision %s answers, and the status has %q, ready %v", r.Revision(), s.Revision, s.Ready)
		}
	}
	for _, text := range []string{"a", "b", "bad", "c"} {
		docs.set(text)
		_ = r.Reload(t.Context())
	}
	if asked != 3 {
		t.Errorf("%d revisions became active, want 3", asked)
	}
}

// One Reloader through a life of good and bad documents. After each step: what
// answers, and what was reported.
func TestReload(t *testing.T) {
	docs := newDocuments("a")
	r, translator, observed := newReloader(docs, nil)
	revisions := map[string]string{}
	steps := []struct {
		name       string
		do         func()
		err        string
		says       string
		observed   string
		translated int
	}{
		{"the first documents", func() {}, "", "a", "activated, degraded false, 0 errors 0 warnings, serves A", 1},
		{"the same again", func() {}, "", "a", "unchanged, degraded false, 0 errors 0 warnings", 0},
		{"other text, one meaning", func() { docs.set("a/2") }, "", "a", "unchanged, degraded false, 0 errors 0 warnings", 1},
		{"that text again", func() {}, "", "a", "unchanged, degraded false, 0 errors 0 warnings", 0},
		{"another meaning", func() { docs.set("b") }, "", "b", "activated, degraded false, 0 errors 0 warnings, serves B", 1},
		{"with a warning", func() { docs.set("warn c") }, "", "warn c", "activated, degraded false, 0 errors 1 warnings, serves C", 1},
		{"the warning stays", func() {}, "", "warn c", "unchanged, degraded false, 0 errors 1 warnings", 0},
		{"an error", func() { docs.set("bad") }, "a.yaml:3:7: dangling-role", "warn c", "refused, degraded true, 1 errors 0 warnings", 1},
		{"the same error", func() {}, "a.yaml:3:7: dangling-role", "warn c", "refused, degraded true, 1 errors 0 warnings", 0},
		{"back to what is served", func() { docs.set("warn c") }, "", "warn c", "unchanged, degraded false, 0 errors 1 warnings", 0},
		{"the error is news again", func() { docs.set("bad") }, "dangling-role", "warn c", "refused, degraded true, 1 errors 0 warnings", 1},
		{"a file that cannot be taken", func() {
			docs.set("d")
			docs.list = diag.List{{Position: diag.Position{File: "p.yaml", Line: 1, Column: 1}, Code: "not-regular", Message: "not a regular file"}}
		}, "p.yaml:1:1: not-regular", "warn c", "refused, degraded true, 1 errors 0 warnings", 1},
		{"the directory is gone", func() { docs.fail(errors.New("no such directory")) }, "no such directory", "warn c", "refused, degraded true, 0 errors 0 warnings", 0},
		{"still gone", func() {}, "no such directory", "warn c", "refused, degraded true, 0 errors 0 warnings", 0},
		{"an interrupted translation", func() { docs.set("ended") }, "interrupted", "warn c", "refused, degraded true, 1 errors 0 warnings", 1},
		{"is tried again", func() {}, "interrupted", "warn c", "refused, degraded true, 1 errors 0 warnings", 1},
		{"a bug in the translator", func() { docs.set("panic") }, "a bug in the translator", "warn c", "refused, degraded true, 0 errors 0 warnings", 1},
		{"a bug in the engine", func() { docs.set("crash") }, "a bug in the engine", "warn c", "refused, degraded true, 0 errors 0 warnings", 1},
		{"the engine refuses", func() { docs.set("refused") }, "the engine refuses", "warn c", "refused, degraded true, 0 errors 0 warnings", 1},
		{"is tried again too", func() {}, "the engine refuses", "warn c", "refused, degraded true, 0 errors 0 warnings", 1},
		{"Rego that does not compile", func() { docs.set("rego x") }, "undefined function nothing", "warn c", "refused, degraded true, 1 errors 0 warnings", 1},
		{"good documents at last", func() { docs.set("d") }, "", "d", "activated, degraded false, 0 errors 0 warnings, serves D", 1},
		{"an earlier revision", func() { docs.set("a") }, "", "a", "activated, degraded false, 0 errors 0 warnings, serves A", 1},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			step.do()
			translator.translated = 0
			err := r.Reload(context.Background())
			if (err != nil) != (step.err != "") || err != nil && !strings.Contains(err.Error(), step.err) {
				t.Errorf("got error %v, want %q", err, step.err)
			}
			wantSays(t, r, step.says)
			if before, letter, ok := strings.Cut(step.observed, "serves "); ok {
				// The letter names the revision it is first seen with.
				if revisions[letter] == "" {
					revisions[letter] = r.Revision()
				}
				wantText(t, "revision", r.Revision(), revisions[letter])
				step.observed = before + "serves " + r.Revision()[:6]
			}
			wantText(t, "observed", observed.take(), step.observed)
			if got, want := translator.translated, step.translated; got != want {
				t.Errorf("translations: got %d, want %d", got, want)
			}
			s := r.Status()
			if s.Degraded != (err != nil) || (s.LastError != "") != (err != nil) || s.Revision != r.Revision() {
				t.Errorf("status: got %+v with error %v", s, err)
			}
		})
	}
}

func TestNothingLoaded(t *testing.T) {
	docs := newDocuments("bad")
	r, _, _ := newReloader(docs, nil)
	wantNothing := func(t *testing.T) {
		d := r.Current().Access(context.Background(), &decision.Request{})
		if d.Allowed || !d.Denied || d.EvaluationError != "no revision loaded" || !strings.Contains(d.Reason, d.EvaluationError) || d.Revision != "" {
			t.Errorf("got %+v, want a denial with its evaluation error", d)
		}
		if s := r.Status(); s.Ready || s.Degraded || r.Ready() || r.Revision() != "" {
			t.Errorf("got ready with %+v", s)
		}
	}
	t.Run("before the first reload", wantNothing)
	if err := r.Load(context.Background()); err == nil {
		t.Fatal("bad documents: got no error")
	}
	t.Run("after a bad one", wantNothing)
	docs.set("a")
	check(t, r.Reload(context.Background()))
	wantSays(t, r, "a")
}

func TestStatus(t *testing.T) {
	docs := newDocuments("warn a")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := now
	r, _, _ := newReloader(docs, func(o *Options) {
		o.Now = func() time.Time { return now }
		o.Build.Commit = "c0ffee"
	})
	check(t, r.Load(context.Background()))
	s := r.Status()
	if !s.Ready || s.Source != fromDocuments || !s.Since.Equal(first) || !s.LastSuccess.Equal(first) || s.Bundle.Commit != "c0ffee" || s.Bundle.Master != "master" {
		t.Errorf("got %+v", s)
	}
	want := Diagnostic{"a.yaml", 3, 7, "", "warning", "unbound-role", "not bound", ""}
	if len(s.Diagnostics) != 1 || s.Diagnostics[0] != want || s.Warnings != 1 || s.Errors != 0 {
		t.Errorf("got %+v, want %+v", s.Diagnostics, want)
	}
	s.Diagnostics[0].Message, s.Bundle.Counts["x"] = "changed by a caller", 1
	if again := r.Status(); again.Diagnostics[0] != want || len(again.Bundle.Counts) != 0 {
		t.Error("a caller's change of a status shows in the next")
	}

	now = now.Add(time.Hour)
	docs.set("many")
	if err := r.Reload(context.Background()); err == nil || !strings.Contains(err.Error(), "1000 errors") {
		t.Errorf("got %v, want 1000 errors", err)
	}
	s = r.Status()
	if !s.Degraded || !s.Since.Equal(first) || !s.LastSuccess.Equal(first) || !s.LastAttempt.Equal(now) {
		t.Errorf("times: got %+v", s)
	}
	if len(s.Diagnostics) != maxDiagnostics || s.Errors != 1000 {
		t.Errorf("got %d of %d diagnostics, want %d of 1000", len(s.Diagnostics), s.Errors, maxDiagnostics)
	}
	if first := s.Diagnostics[0]; first.Severity != "error" {
		t.Errorf("first: got %+v, want an error before the warnings", first)
	}
}

// A request that began on a revision ends on it.
func TestRequestInFlight(t *testing.T) {
	docs := newDocuments("a")
	began, finish := make(chan struct{}), make(chan struct{})
	r, _, _ := newReloader(docs, func(o *Options) {
		o.Activate = wrapped(func(p decision.Policies) decision.Policies { return slow{p, began, finish} })
	})
	check(t, r.Load(context.Background()))
	first := r.Revision()
	answer := make(chan decision.Decision)
	go func() { answer <- r.Current().Access(context.Background(), &decision.Request{}) }()
	<-began
	docs.set("b")
	check(t, r.Reload(context.Background()))
	close(finish)
	if d := <-answer; d.Reason != "a" || d.Revision != first {
		t.Errorf("got %+v, want the answer of the first revision", d)
	}
}

type slow struct {
	decision.Policies
	began, finish chan struct{}
}

func (s slow) Access(ctx context.Context, request *decision.Request) decision.Decision {
	s.began <- struct{}{}
	<-s.finish
	return s.Policies.Access(ctx, request)
}

func TestCancelledReloadIsNotReported(t *testing.T) {
	docs := newDocuments("a")
	r, _, observed := newReloader(docs, nil)
	check(t, r.Load(context.Background()))
	observed.take()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	docs.fail(context.Canceled)
	if err := r.Reload(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	wantText(t, "observed", observed.take(), "")
	if r.Status().Degraded {
		t.Error("a shutdown shows as degraded")
	}
}

func TestRun(t *testing.T) {
	const deadline = time.Minute
	docs := newDocuments("a")
	swapped := make(chan struct{}, 10)
	r, _, _ := newReloader(docs, func(o *Options) {
		o.Activate = wrapped(func(p decision.Policies) decision.Policies {
			swapped <- struct{}{}
			return p
		})
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	notify := <-docs.notify
	for _, content := range []string{"b", "c"} {
		docs.set(content)
		for range 10 { // more notices than a reload can take
			notify()
		}
		select {
		case <-swapped:
		case <-time.After(deadline):
			t.Fatalf("%s was never activated", content)
		}
	}
	cancel()
	select {
	case err := <-ended:
		check(t, err)
	case <-time.After(deadline):
		t.Fatal("Run did not end with its context")
	}

	docs.watch <- errors.New("the source broke")
	if err := r.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "the source broke") {
		t.Errorf("got %v, want why the watch ended", err)
	}
}

// Logs name the place of each mistake, say a thing once and do not grow with the
// number of mistakes.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	docs := newDocuments("a")
	r, _, _ := newReloader(docs, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&out, nil)) })
	steps := []struct {
		content string
		want    []string
		lines   int
	}{
		{"a", []string{`msg="revision activated"`}, 1},
		{"a", nil, 0},
		{"bad", []string{"at=a.yaml:3:7", "code=dangling-role", "level=ERROR", "last good revision"}, 2},
		{"bad", nil, 0},
		{"a", []string{"active again"}, 1},
		{"a/2", []string{"the revision did not"}, 1},
		{"many", []string{"further diagnostics not logged", "diagnostics=1480"}, maxLogged + 2},
	}
	for _, step := range steps {
		out.Reset()
		docs.set(step.content)
		_ = r.Reload(context.Background())
		for _, want := range step.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: got %q, want %q", step.content, out.String(), want)
			}
		}
		if got := strings.Count(out.String(), "\n"); got != step.lines {
			t.Errorf("%s: got %d lines, want %d:\n%s", step.content, got, step.lines, out.String())
		}
	}
}
