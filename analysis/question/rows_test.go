package question_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/revisions"
)

// line is what a row of an answer and an entry of matched have in common.
type line struct {
	Effect    string `json:"effect"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      int    `json:"rule"`
	Source    string `json:"source"`
}

// matched returns the entries of the decision for a request, the decisive one first.
func matched(t *testing.T, side *diff.Side, request map[string]any) []line {
	t.Helper()
	v, err := side.Judge(t.Context(), statement.PointAccess, statement.Encode(request))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Matched []line `json:"matched"`
	}
	if err := json.Unmarshal(v.Decision, &d); err != nil {
		t.Fatal(err)
	}
	return d.Matched
}

// lines returns the documents of some statements that are for a subject.
func lines(statements []statement.JSON, ids []int, subjects ...string) (out []line) {
	for _, id := range ids {
		s := &statements[slices.IndexFunc(statements, func(s statement.JSON) bool { return s.ID == id })]
		for _, d := range s.Documents {
			if s.IsFor(subjects) && slices.ContainsFunc(subjects, func(p string) bool { return slices.Contains(d.Subjects, p) }) {
				out = append(out, line{s.Effect, d.Kind, d.Namespace, d.Name, d.Rule, d.Source})
			}
		}
	}
	return out
}

// Each row of who-can and what-can names the documents, rules and lines that the decision of its
// example names: the decisive one allows and is of the row, and every other one is of the
// subject's.
func TestRowsNameWhatMatches(t *testing.T) {
	rows := map[string]int{}
	for n := range pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 4))}
		side := revisions.Of(t, w.Documents())
		asker := &question.Asker{World: side.World, Judge: side.Judge}
		open := append(question.Facts(), "name", "namespace")
		check := func(row string, example map[string]any, own, all []line) {
			t.Helper()
			found := matched(t, side, example)
			if len(found) == 0 || found[0].Effect != statement.OutcomeAllow || !slices.Contains(own, found[0]) {
				t.Fatalf("seed %d: %s has %+v, its example is decided by %+v: %s", seed()+uint64(n), row, own, found, revisions.Text(example))
			}
			for _, l := range found {
				if !slices.Contains(all, l) {
					t.Fatalf("seed %d: %s lacks %+v, which matches its example: %s", seed()+uint64(n), row, l, revisions.Text(example))
				}
			}
		}
		who, err := asker.WhoCan(t.Context(), &question.Question{Open: open,
			Stated: map[string]any{"verb": w.Pick("get", "delete"), "resource": w.Pick("pods", "secrets"), "apiGroup": ""}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range who.Subjects {
			if s.Example == nil {
				continue
			}
			rows["who"]++
			own := lines(who.Statements, s.Statements, s.Subject)
			check("who-can "+s.Subject, s.Example, own, append(own, lines(who.Statements, s.Unless, s.Subject)...))
		}
		user, group := w.Pick("u0", "u1"), w.Pick("g0", "g1", "g2")
		what, err := asker.WhatCan(t.Context(), &question.Question{User: user, Groups: []string{group}, Open: append(open, "verb", "resource", "subresource", "apiGroup", "path")})
		if err != nil {
			t.Fatal(err)
		}
		var every []int
		for _, s := range what.Statements {
			every = append(every, s.ID)
		}
		all := lines(what.Statements, every, "user:"+user, "group:"+group)
		for i, r := range what.Resources {
			if r.Example == nil {
				continue
			}
			rows["what"]++
			own := lines(what.Statements, r.Statements, "user:"+user, "group:"+group)
			if found := matched(t, side, r.Example); !slices.ContainsFunc(found, func(l line) bool { return slices.Contains(own, l) }) {
				t.Fatalf("seed %d: no document of row %d matches its example: %+v, got %+v: %s", seed()+uint64(n), i, own, found, revisions.Text(r.Example))
			}
			check(fmt.Sprint("what-can ", i), r.Example, all, all)
		}
	}
	if rows["who"] == 0 || rows["what"] == 0 {
		t.Errorf("%v rows: the test proves too little", rows)
	}
}

// An entry of impersonationRules without a condition on the resource is about paths too.
func TestImpersonationOfPathsIsStated(t *testing.T) {
	for name, spec := range map[string]string{
		"a mode": "{modes: [legacy]}", "a name that is empty": `{identities: [""]}`, "any": "{}",
		"resources": "{identityResources: [users]}", "a name": "{identities: [a]}", "extra keys": `{extraKeys: [""]}`, "actions": "{actionVerbs: [get]}",
	} {
		t.Run(name, func(t *testing.T) {
			side := revisions.Of(t, []string{
				"{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: ['*'], nonResourceURLs: ['*']}]}",
				"{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: User, name: u}]}",
				"{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d}, spec: {impersonationRules: [" + spec + "]}}",
			})
			asker := &question.Asker{World: side.World, Judge: side.Judge}
			for _, verb := range []string{"impersonate", "impersonate:user-info", "impersonate-on:user-info:get", "get"} {
				r := map[string]any{"user": "u", "verb": verb, "path": "/x"}
				statements := asker.Stated(&question.Question{Stated: map[string]any{"verb": verb, "path": "/x"}})
				if got, want := statements.Outcome(r, []string{"user:u"}), revisions.Outcome(t, side, r); got != want {
					t.Errorf("%s: statements come to %s, the engine decides %s", verb, got, want)
				}
			}
		})
	}
}
