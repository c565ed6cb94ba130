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
	if e.queries.result != nil {
		t.Fatal("the rules are compiled before a request needs them")
	}
	d := e.Access(t.Context(), &decision.Request{User: "u", Verb: "delete", Resource: "nodes", Cluster: "c"})
	if !d.Denied || e.queries.result != nil {
		t.Errorf("got %+v, want a denial without the compiled rules", d)
	}
	if _, err := e.MissingFacts(t.Context(), &decision.Request{User: "u", Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "n", Name: "p"}); err != nil {
		t.Error(err)
	}
	if e.queries.result == nil {
		t.Error("the rules are not compiled")
	}
	if err := e.Compile(); err != nil {
		t.Error(err)
	}
}

// What decides requests that the tables leave to Rego is compiled for the first of them, and beside
// the other rules of the engines after it.
func TestJudgementIsCompiledForTheFirstRequestThatNeedsIt(t *testing.T) {
	first := activateDocuments(t, headerPolicy, Options{})
	if err := first.Compile(); err != nil {
		t.Fatal(err)
	}
	decideGateway(t, first, `{"sub":"u"}`)
	if first.queries.judgement.isDone() {
		t.Error("the judgement is compiled, though the tables decide")
	}
	before := activateDocuments(t, headerPolicy+"---\n"+denyEverywhere, Options{Last: first})
	if err := before.Compile(); err != nil || before.queries.judgement.isDone() {
		t.Errorf("an engine after one that did not need the judgement: compiled: %v, %v", before.queries.judgement.isDone(), err)
	}
	r, err := decision.DecodeGateway([]byte(`{"gateway":{"namespace":"net","name":"other"},"request":{"host":"a.b","method":"GET","path":"/"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if d, refused := first.Gateway(t.Context(), r); refused == nil || refused.Code != "unknown_gateway" {
		t.Errorf("got %+v, %v, want an unknown gateway", d, refused)
	}
	if !first.queries.judgement.isDone() {
		t.Error("the judgement is not compiled")
	}
	next := activateDocuments(t, headerPolicy+"---\n"+denyEverywhere, Options{Last: first})
	after := activateDocuments(t, headerPolicy+"---\n"+ofClusters, Options{Last: next})
	for name, e := range map[string]*Engine{"the next engine": next, "the one after it": after} {
		if err := e.Compile(); err != nil || !e.queries.judgement.isDone() {
			t.Errorf("%s: compiled: %v, %v", name, e.queries.judgement.isDone(), err)
		}
	}
}

// A request does not wait for the rules beyond its deadline, and later ones get them.
func TestRequestsDoNotWaitForRulesBeyondTheirDeadline(t *testing.T) {
	compiled := make(chan struct{})
	l := prepareLater(func() (*prepared, error) {
		<-compiled
		return new(prepared), nil
	})
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
