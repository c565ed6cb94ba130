package answers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

const labelsDocuments = `== documents.yaml
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: all, namespace: monitoring}
spec:
  identity: {priority: 1, subjects: {users: [eve]}}
  access: {effect: Allow, enabled: true}
  scope: {clusters: {default: allow, rules: [{selector: {matchNames: [east, west]}, permissions: {view: true}}]}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: none, namespace: monitoring}
spec:
  identity: {priority: 2, subjects: {users: [eve]}}
  access: {effect: Deny, enabled: true}
  scope: {clusters: {default: none, rules: [{selector: {matchLabels: {customer: acme}}}]}}
`

// A request that names a cluster without its labels is explained with the labels that
// endpoints of decisions know, and its changes are decided with them.
func TestExplanationsKnowTheLabelsOfClusters(t *testing.T) {
	s := newSite(t, labelsDocuments)
	s.explorer.o.ClusterLabels = func(name string) map[string]string {
		return map[string]map[string]string{"east": {"customer": "acme"}, "west": {}}[name]
	}
	for _, c := range []struct{ request, want, note string }{
		{`{"user":"eve","groups":["dev"],"cluster":{"name":"east"},"type":"nodes"}`, console.Deny, "its labels"},
		{`{"user":"eve","groups":["dev"],"cluster":{"name":"east","labels":{}},"type":"nodes"}`, console.Allow, "the caller's labels"},
		{`{"user":"eve","groups":["dev"],"cluster":{"name":"west"},"type":"nodes"}`, console.Allow, "no labels"},
	} {
		e := s.explain(decision.Visibility, c.request)
		if e.Outcome != c.want {
			t.Errorf("%s: %s: got %s", c.note, c.request, e.Outcome)
		}
		for _, w := range e.WhatIf {
			if got := s.explain(decision.Visibility, string(w.Request)).Outcome; w.At == "" && got != w.Outcome {
				t.Errorf("%s: %s: %s is explained as %s", w.Text, w.Request, w.Outcome, got)
			}
			if w.Text == "the labels of the cluster are not known" {
				t.Errorf("%s: %s: they are known", c.note, c.request)
			}
		}
	}
}

// The log compares a visibility decision with the present revision by the labels of its
// cluster.
func TestLogKnowsTheLabelsOfClusters(t *testing.T) {
	s := newSite(t, labelsDocuments)
	s.explorer.o.ClusterLabels = func(string) map[string]string { return map[string]string{"customer": "acme"} }
	request := []byte(`{"user":"eve","groups":["dev"],"cluster":{"name":"east"},"type":"nodes"}`)
	s.explorer.Observe(decision.Observation{
		Point: decision.Visibility, Revision: "an earlier one", Endpoint: "/test", Outcome: decision.Deny,
		Input: func() []byte { return request }, Result: func() []byte { return []byte(`{"decision":"deny"}`) },
	})
	log, err := s.explorer.Now().Log(t.Context(), all, console.LogQuery{})
	if err != nil || len(log.Decisions) != 1 || log.Decisions[0].Now != "" {
		t.Errorf("got %+v, %v: the decision is the same now", log, err)
	}
}

// A log that takes too long has no outcome that only the end of its time made.
func TestLogThatTakesTooLong(t *testing.T) {
	s := newSite(t, labelsDocuments)
	s.explorer.Observe(decision.Observation{
		Point: decision.Visibility, Revision: "an earlier one", Endpoint: "/test", Outcome: decision.Deny,
		Input:  func() []byte { return []byte(`{"user":"eve","cluster":{"name":"east"},"type":"nodes"}`) },
		Result: func() []byte { return []byte(`{"decision":"deny"}`) },
	})
	ended, end := context.WithCancel(t.Context())
	end()
	log, err := s.explorer.Now().Log(ended, all, console.LogQuery{})
	var refused *console.Error
	if !errors.As(err, &refused) || refused.Reason != console.Busy {
		t.Errorf("got %+v, %v, want that it took too long", log, err)
	}
}

// A stored bundle that cannot be loaded ends the comparison, whatever is wrong with it.
func TestComparisonOfABundleThatCannotBeLoaded(t *testing.T) {
	s := newSite(t, labelsDocuments)
	s.explorer.o.Stored = func() ([]Stored, error) { return []Stored{{Revision: "0123456789abcdef"}}, nil }
	s.explorer.o.Open = func(context.Context, string) (decision.Policies, error) { panic("a bundle of rubbish") }
	v, active := s.explorer.Now(), s.active.Loaded().Revision
	for range 50 {
		_, err := v.Diff(t.Context(), all, "0123456789abcdef", active)
		var refused *console.Error
		if !errors.As(err, &refused) {
			t.Fatalf("got %v", err)
		}
		if refused.Reason == console.Internal {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the comparison never ends")
}
