package reload

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// stalled is a translator that waits between two calls of its test.
type stalled struct {
	*words
	entered, release chan struct{}
}

func (s *stalled) Translate(ctx context.Context, snapshot source.Snapshot) (*translator.Result, diag.List) {
	_, _, _ = rego.One(nil, rego.Author{File: "a.rego", Line: 3}, nil, func() bool {
		s.entered <- struct{}{}
		<-s.release
		return true
	})
	return s.words.Translate(ctx, snapshot)
}

// A translation that takes long degrades the server while it runs, and the status names the
// module that is being compiled.
func TestLongTranslationDegrades(t *testing.T) {
	docs := newDocuments("a")
	s := &stalled{&words{}, make(chan struct{}), make(chan struct{})}
	var passed atomic.Int64
	began := time.Now()
	r, _, _ := newReloader(docs, func(o *Options) {
		o.Translator = s
		o.Now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
	})
	ended := make(chan error)
	reload := func() { ended <- r.Reload(context.Background()) }
	go reload()
	<-s.entered
	s.release <- struct{}{}
	check(t, <-ended)
	docs.set("b")
	go reload()
	<-s.entered
	for _, step := range []struct {
		passed time.Duration
		behind time.Duration
	}{{4 * time.Second, 0}, {7 * time.Second, 7 * time.Second}, {9 * time.Second, 9 * time.Second}} {
		passed.Store(int64(step.passed))
		got := r.Status()
		if late := step.behind > 0; got.Degraded != late || late != strings.Contains(got.LastError, "without an end yet: the Rego of a.rego:3 is being compiled") || r.Behind() != step.behind {
			t.Errorf("after %v: degraded %t, behind %v, last error %q", step.passed, got.Degraded, r.Behind(), got.LastError)
		}
	}
	s.release <- struct{}{}
	check(t, <-ended)
	if got := r.Status(); got.Degraded || got.LastError != "" || r.Behind() != 0 {
		t.Errorf("after its end: %+v", got)
	}
}
