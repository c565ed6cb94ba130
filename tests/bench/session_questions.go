package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// heldEscalations is how many escalations there are beside the sessions. Each lends a group
// that bindings name.
const heldEscalations = 200

// escalations writes n escalations in a file of their own.
func (w *world) escalations(n int) error {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassEscalation
metadata: {namespace: bg, name: escalation-%d}
spec:
  escalatedGroup: group-%d
  allowed: {clusters: ["prod-*"], groups: [requesters-%d]}
  approvers: {groups: [leads]}
`, i, (2*i+1)%max(w.n/10, 1), i)
	}
	return os.WriteFile(filepath.Join(w.dir, "escalations.yaml"), []byte(text.String()), 0o644)
}

// sessionQuestions prints what it takes to answer who can do something beside the sessions of
// a world, and who could get it. Questions are answered on one core: the processor time counts,
// which does not show what else the machine does.
func sessionQuestions(ctx context.Context, out *results, w *world, rounds int) error {
	if err := w.escalations(heldEscalations); err != nil {
		return err
	}
	l := &loader{directory: source.Dir(w.dir, source.DirOptions{}), translator: translator.New(translator.Options{})}
	e, err := l.withDenyPolicies(ctx, w)
	if err != nil {
		return err
	}
	inNamespace := question.Question{
		Stated: map[string]any{"verb": "get", "resource": "pods", "namespace": "ns-7", "cluster": onCluster}, Open: question.Facts(),
	}
	everywhere := question.Question{
		Stated: map[string]any{"verb": "get", "resource": "pods", "cluster": onCluster}, Open: append(question.Facts(), "namespace", "name"), Limit: 1000,
	}
	for _, row := range []struct {
		name, goal string
		asked      question.Question
		potential  bool
	}{
		{"who-can, in a namespace", goalSessionQuestion, inNamespace, false},
		{"who-can, in all namespaces", goalSessionQuestion, everywhere, false},
		{"who-can --potential, in a namespace", goalPotential, inNamespace, true},
		{"who-can --potential, in all namespaces", goalPotential, everywhere, true},
	} {
		var least spent
		answer := new(question.WhoCan)
		for round := range rounds {
			q := row.asked
			q.Potential = row.potential
			one, err := spend(func() (err error) {
				answer, err = whoCan(ctx, e, &q)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", row.name, err)
			}
			if round == 0 || one.cpu < least.cpu {
				least = one
			}
		}
		out.printf("  %-44s %8.3f s CPU, %8.3f s: %d subjects, %d sessions, %d potential\n",
			row.name, least.cpu.Seconds(), least.wall.Seconds(), len(answer.Subjects), len(answer.Sessions), len(answer.Potential))
		out.reached(least.cpu.Seconds(), row.goal, w.n)
	}
	return nil
}

// whoCan answers a question as a server does: nothing is kept from one question to the next.
func whoCan(ctx context.Context, e *engine.Engine, q *question.Question) (*question.WhoCan, error) {
	now := time.Now()
	p := e.At(now)
	asker := &question.Asker{World: statement.Of(p), Judge: judge.Of(p), Revision: p.Loaded().Revision, Now: now}
	return asker.WhoCan(ctx, q)
}
