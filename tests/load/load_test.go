package main

import (
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/process"
)

// A small load for a few seconds: every answer is right for the revision that it names.
func TestLoad(t *testing.T) {
	gate.Only(t)
	r, err := run(t.Context(), options{
		writ: process.Writ(t), policies: "../../examples/policies",
		clients: 4, slow: 20, idle: 100, duration: 6 * time.Second, every: 500 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", r.text())
	if err := r.failure(); err != nil {
		t.Error(err)
	}
}

// Wrong answers and failures are failures of the load.
func TestFailure(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*report)
		fails  bool
	}{
		"right":        {func(*report) {}, false},
		"wrong":        {func(r *report) { r.wrong("x") }, true},
		"failed":       {func(r *report) { r.count(&r.failed, "x") }, true},
		"no reload":    {func(r *report) { r.reloads = 1 }, true},
		"not answered": {func(r *report) { r.took = nil }, true},
		"not refused":  {func(r *report) { r.exceeded.Store(0) }, true},
	} {
		r := newReport(options{})
		r.answered("a", time.Millisecond)
		r.answered("b", time.Millisecond)
		r.exceeded.Add(1)
		if row.change(r); (r.failure() != nil) != row.fails {
			t.Errorf("%s: got %v", name, r.failure())
		}
	}
}
