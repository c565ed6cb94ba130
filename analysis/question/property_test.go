package question_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/revisions"
)

// The gate tries few revisions; make soak tries more, from another seed.
// pairs is the number of random revisions.
func pairs() int { return max(10, gate.Times(1)) }

// seed is the first seed of the revisions.
func seed() uint64 { return gate.Seed() }

// For every request of a question, the statements of the answer come to the decision, and
// an answer without one of them does not. A principal that is allowed alone is listed, and those that
// always are, are denied by deny policies alone.
func TestAnswersAreThoseOfTheEngine(t *testing.T) {
	noticed, listed := 0, 0
	for n := range pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 2))}
		side := revisions.Of(t, w.Documents())
		asker := &question.Asker{World: side.World, Judge: side.Judge}
		stated := map[string]any{"verb": w.Pick("get", "delete"), "resource": w.Pick("pods", "secrets"), "apiGroup": ""}
		open := append(question.Facts(), "name")
		switch w.IntN(3) {
		case 0:
			stated["namespace"] = "shop"
		case 1:
			open = append(open, "namespace")
		}
		asked := func() *question.Question { return &question.Question{Stated: stated, Open: open} }
		answer, err := asker.WhoCan(t.Context(), asked())
		if err != nil {
			t.Fatal(err)
		}
		verdicts := make(map[string]string)
		for _, s := range answer.Subjects {
			verdicts[s.Subject] = s.Verdict
			listed++
		}
		statements := asker.Stated(asked())
		for range 60 {
			r := w.Request()
			delete(r, "subresource")
			if !slices.Contains(open, "namespace") {
				delete(r, "namespace")
			}
			maps.Copy(r, stated)
			want, held := revisions.Outcome(t, side, r), revisions.Principals(r)
			if got := statements.Outcome(r, held); got != want {
				t.Fatalf("seed %d: statements come to %s, the engine decides %s: %s", seed()+uint64(n), got, want, revisions.Text(r))
			}
			for i := range statements {
				if slices.Delete(slices.Clone(statements), i, i+1).Outcome(r, held) != want {
					noticed++
				}
			}
			if len(held) != 1 {
				continue
			}
			if verdict := verdicts[held[0]]; want == "allow" && verdict == "" || want == "none" && verdict == "always" {
				t.Fatalf("seed %d: %s is listed as %q, the engine decides %s: %s", seed()+uint64(n), held[0], verdict, want, revisions.Text(r))
			}
		}
	}
	if noticed == 0 || listed == 0 {
		t.Errorf("%d missing statements are noticed and %d subjects listed: the test proves too little", noticed, listed)
	}
}

// With every fact stated, exactly those principals are listed, always, that the engine allows
// alone.
func TestWithoutOpenFactsTheListsAreThoseAllowed(t *testing.T) {
	listed, left := 0, 0
	for n := range pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 3))}
		side := revisions.Of(t, w.Documents())
		asker := &question.Asker{World: side.World, Judge: side.Judge}
		for range 10 {
			stated := w.Request()
			delete(stated, "user")
			delete(stated, "groups")
			answer, err := asker.WhoCan(t.Context(), &question.Question{Stated: stated})
			if err != nil {
				t.Fatal(err)
			}
			want := &question.WhoCan{Users: []string{}, Groups: []string{}}
			allows := func(user string, groups ...string) bool {
				r := maps.Clone(stated)
				r["user"], r["groups"] = user, groups
				return revisions.Outcome(t, side, r) == "allow"
			}
			for _, user := range []string{"u0", "u1"} {
				if allows(user) {
					want.Users = append(want.Users, user)
				}
			}
			for _, group := range []string{"g0", "g1", "g2"} {
				if allows("", group) {
					want.Groups = append(want.Groups, group)
				}
			}
			if !slices.Equal(answer.Users, want.Users) || !slices.Equal(answer.Groups, want.Groups) {
				t.Fatalf("seed %d: got users %v and groups %v, want %v and %v: %s", seed()+uint64(n), answer.Users, answer.Groups, want.Users, want.Groups, revisions.Text(stated))
			}
			for _, s := range answer.Subjects {
				if s.Verdict != "always" || s.Counterexample != nil {
					t.Errorf("seed %d: %s is allowed %s", seed()+uint64(n), s.Subject, s.Verdict)
				}
			}
			listed, left = listed+len(answer.Subjects), left+5-len(answer.Subjects)
		}
	}
	if listed == 0 || left == 0 {
		t.Errorf("%d listed, %d not: the test proves too little", listed, left)
	}
}

// A principal that only an expression or an extension grants is listed although no example
// was found: what they allow cannot be listed.
func TestGrantsByCodeAreListed(t *testing.T) {
	side := revisions.Of(t, []string{
		`{kind: Role, apiVersion: writ.dev/v1, metadata: {name: r, namespace: master}, rules: [{verbs: ["*"], resourceKinds: ["*"], attributeRestrictions: {kind: cel, expression: "has(request.fields) && request.fields.all(f, f.startsWith('metadata.labels'))"}}]}`,
		"{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: b, namespace: master}, roleRef: {name: r}, userNames: [u]}",
	})
	asker := &question.Asker{World: side.World, Judge: side.Judge}
	if v, err := side.Judge(t.Context(), "access", []byte(`{"user":"u","verb":"get","resource":"pods","fields":["metadata.labels.x"]}`)); err != nil || v.Outcome != "allow" {
		t.Fatalf("the engine decides %v %v: the test proves nothing", v.Outcome, err)
	}
	stated := map[string]any{"verb": "get", "resource": "pods", "apiGroup": ""}
	who, err := asker.WhoCan(t.Context(), &question.Question{Stated: stated, Open: append(question.Facts(), "name")})
	if err != nil {
		t.Fatal(err)
	}
	if len(who.Subjects) != 1 || who.Subjects[0].Verdict != "sometimes" || !who.Subjects[0].Inexact || who.Subjects[0].Example != nil {
		t.Errorf("who can: got %+v, want u sometimes, inexact and without an example", who.Subjects)
	}
	what, err := asker.WhatCan(t.Context(), &question.Question{User: "u", Stated: stated, Open: append(question.Facts(), "name")})
	if err != nil {
		t.Fatal(err)
	}
	if len(what.Resources) != 1 || what.Resources[0].Verdict != "sometimes" {
		t.Errorf("what can: got %+v, want the rule, sometimes", what.Resources)
	}
}
