package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// What a revision compiles later is compiled for the first request that needs it, and is what an
// engine with the same rules takes over.
func TestRulesAreCompiledLater(t *testing.T) {
	e := activateDocuments(t, denyEverywhere, Options{})
	if e.queries.queries != nil {
		t.Fatal("the rules are compiled before a request needs them")
	}
	d := e.Access(t.Context(), &decision.Request{User: "u", Verb: "delete", Resource: "nodes", Cluster: "c"})
	if !d.Denied || e.queries.queries != nil {
		t.Errorf("got %+v, want a denial without the compiled rules", d)
	}
	if _, err := e.MissingFacts(t.Context(), &decision.Request{User: "u", Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "n", Name: "p"}); err != nil {
		t.Error(err)
	}
	if e.queries.queries == nil {
		t.Error("the rules are not compiled")
	}
	if err := e.Compile(); err != nil {
		t.Error(err)
	}
}

// A request does not wait for the rules beyond its deadline, and later ones get them.
func TestRequestsDoNotWaitForRulesBeyondTheirDeadline(t *testing.T) {
	compiled := make(chan struct{})
	l := &later{done: make(chan struct{}), prepare: func() (*prepared, error) {
		<-compiled
		return new(prepared), nil
	}}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.wait(canceled); !errors.Is(err, decision.ErrCanceled) {
		t.Errorf("a request that was canceled: got %v", err)
	}
	late, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	if _, err := l.wait(late); !errors.Is(err, decision.ErrDeadline) {
		t.Errorf("after a millisecond: got %v", err)
	}
	close(compiled)
	if queries, err := l.wait(t.Context()); queries == nil || err != nil {
		t.Errorf("after compilation: got %v, %v", queries, err)
	}
}
