package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// The goals of proofs, beyond what a check of the same documents takes.
const (
	goalProofs      = "%d assertions, %d bindings, beyond a check"
	goalProofMemory = "memory of these proofs beyond a check, %d bindings"
	goalAgain       = "1000 assertions proven again after one binding, %d bindings"
	goalMutants     = "100 mutants of 1000 documents, 50 assertions"
)

func verifyGoals() []goal {
	return []goal{
		{name: fmt.Sprintf(goalProofs, 1000, 10_000), unit: "s", limit: 1},
		{name: fmt.Sprintf(goalProofs, 100, 100_000), unit: "s", limit: 3},
		{name: fmt.Sprintf(goalProofMemory, 100_000), unit: "MiB", limit: 100},
		{name: fmt.Sprintf(goalAgain, 10_000), unit: "s", limit: 0.05},
		{name: goalMutants, unit: "s", limit: 20},
	}
}

// assertions returns a document with n assertions about a world, all of which hold.
func (w *world) assertions(n int) string {
	var text strings.Builder
	text.WriteString("apiVersion: writ.dev/v1\nkind: Assertions\nmetadata: {name: bench}\nspec:\n  assertions:\n")
	for i := range n {
		place := 2*(i%max(w.n/20, 1)) + 1 // bindings of odd numbers are those of groups
		body := []string{
			"never: allowed, of: {verb: [escalate, bind], resource: clusterroles.rbac.authorization.k8s.io, namespace: ns-%[1]d}",
			`within: [{verbs: [get, list, watch, create, update, patch, delete], apiGroups: ["", apps, batch, networking.k8s.io], resources: ["*"]}], of: {holds: {only: "group:group-%[1]d"}}`,
			`always: allowed, of: {verb: create, resource: bindings, namespace: ns-%[1]d, holds: "group:system:masters"}, allow: [vacuous]`,
			"never: denied, of: {namespace: ns-%[1]d}",
			`never: allowed, of: {verb: [impersonate], resource: [users, groups], holds: "group:group-%[1]d"}`,
		}[i%5]
		fmt.Fprintf(&text, "    - {name: a%d, %s}\n", i, fmt.Sprintf(body, place))
	}
	return text.String()
}

// proofs measures writ verify beside writ check, what is proven again after an edit, and mutants.
func proofs(r *results, o options) error {
	r.goals = verifyGoals()
	for _, size := range []struct{ assertions, bindings int }{{1000, 10_000}, {100, 100_000}} {
		r.printf("\n%d assertions, %d roles and %d bindings\n", size.assertions, size.bindings, size.bindings)
		err := inWorld(size.bindings, documentsPerFile, func(w *world) error {
			file := filepath.Join(w.scratch, "assertions.yaml")
			if err := os.WriteFile(file, []byte(w.assertions(size.assertions)), 0o600); err != nil {
				return err
			}
			check, err := r.command("check", o.writ, "check", w.dir)
			if err != nil {
				return err
			}
			verified, err := r.command("verify", o.writ, "verify", w.dir, "--assertions", file, "-o", "json")
			if err != nil {
				return err
			}
			r.reached(max(0, verified.seconds-check.seconds), goalProofs, size.assertions, size.bindings)
			r.reached(max(0, verified.peak-check.peak), goalProofMemory, size.bindings)
			return provenAgain(r, w, o.rounds)
		})
		if err != nil {
			return err
		}
	}
	r.printf("\n1000 documents, 50 assertions\n")
	err := inWorld(500, documentsPerFile, func(w *world) error {
		if err := os.WriteFile(filepath.Join(w.dir, "assertions.yaml"), []byte(w.assertions(50)), 0o600); err != nil {
			return err
		}
		tried, err := r.command("verify --mutants 100", o.writ, "verify", w.dir, "--mutants", "100", "-o", "json")
		r.reached(tried.seconds, goalMutants)
		return err
	})
	r.printGoals(true)
	return err
}

// provenAgain measures a run after an edit of one binding, as a server verifies a reload. What a
// reload takes without assertions is not counted.
func provenAgain(r *results, w *world, rounds int) error {
	const many = 1000
	ctx := context.Background()
	decoded := assertion.Kinds.Decode("assertions.yaml", []byte(w.assertions(many)), syntax.Options{})
	if decoded.List.HasErrors() {
		return fmt.Errorf("%v", decoded.List)
	}
	l := loader{directory: source.Dir(w.dir, source.DirOptions{}), translator: translator.New(translator.Options{})}
	var before *verify.Report
	var first, least spent
	proven := 0
	for round := range rounds + 1 {
		if err := w.change(fmt.Sprintf("changed-%d", round)); err != nil {
			return err
		}
		_, e, err := l.load(ctx)
		if err != nil {
			return err
		}
		proven = 0
		one, err := spend(func() (err error) {
			before, err = verify.Run(ctx, &verify.Input{
				Side: &diff.Side{World: statement.Of(e), Judge: judge.Of(e)}, Assertions: decoded.Documents[0].(*assertion.Document).Assertions,
				Now: time.Unix(0, 0), SetNow: func(time.Time) {}, Before: before, Pause: func() { proven++ },
			})
			return err
		})
		switch {
		case err != nil:
			return err
		case round == 0:
			first = one
		case round == 1 || one.wall < least.wall:
			least = one
		}
	}
	r.reached(least.wall.Seconds(), goalAgain, w.n)
	r.printf("  %-34s %10.3f s  %.3f s CPU, %d of %d assertions proven; the first time %.3f s\n", "proven again, one binding changed",
		least.wall.Seconds(), least.cpu.Seconds(), proven, many, first.wall.Seconds())
	return nil
}
