package question_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/revisions"
)

// shared returns bindings of one role, whose statements are one in an answer.
func shared() []string {
	out := []string{`{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: shared}, rules: [{verbs: [get, delete], apiGroups: ["", apps], resources: ["*"]}]}`}
	for i, subject := range []string{"User, name: u0", "User, name: u1", "Group, name: g0", "Group, name: g1", "Group, name: g2"} {
		out = append(out, fmt.Sprintf(`{kind: RoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: shared-%d, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shared}, subjects: [{kind: %s}]}`, i, subject))
	}
	return out
}

// The documents that an answer names for a subject are among those that decide: each row
// names, of its allow statements, a document and a line in matched of the row's example.
func TestRowsNameWhatDecides(t *testing.T) {
	rows := 0
	for n := range pairs() {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed()+uint64(n), 4))}
		side := revisions.Of(t, append(w.Documents(), shared()...))
		asker := &question.Asker{World: side.World, Judge: side.Judge}
		stated := map[string]any{"verb": w.Pick("get", "delete"), "resource": w.Pick("pods", "secrets"), "apiGroup": "", "namespace": "shop"}
		who, err := asker.WhoCan(t.Context(), &question.Question{Stated: stated})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(who.Table(), "\n")
		for _, s := range who.Subjects {
			matched := matchedOf(t, side, s.Example)
			at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, s.Subject+" ") })
			if !names(lines[at], matched[:1]) {
				t.Errorf("seed %d: the row %q does not name what decides: %v", seed()+uint64(n), lines[at], matched)
			}
			for _, id := range s.Statements {
				if !slices.ContainsFunc(who.Statements[id].Documents, func(d statement.Document) bool { return slices.Contains(d.Subjects, s.Subject) }) {
					t.Errorf("seed %d: no document of statement %d lists %s", seed()+uint64(n), id, s.Subject)
				}
			}
			for _, d := range documentsOf(who.Statements, s.Statements, s.Subject) {
				if !slices.Contains(matched, d) {
					t.Errorf("seed %d: %s is said to grant it to %s, the engine names %v", seed()+uint64(n), d, s.Subject, matched)
				}
			}
			rows++
		}
		user := w.Pick("u0", "u1")
		what, err := asker.WhatCan(t.Context(), &question.Question{User: user, Stated: maps.Clone(stated)})
		if err != nil {
			t.Fatal(err)
		}
		lines = strings.Split(what.Table(), "\n")
		for i, r := range what.Resources {
			if matched := matchedOf(t, side, r.Example); !names(lines[i+1], matched) {
				t.Errorf("seed %d: the row %q of %s does not name what decides: %v", seed()+uint64(n), lines[i+1], user, matched)
			}
			rows++
		}
	}
	if rows < pairs() {
		t.Errorf("%d rows: the test proves too little", rows)
	}
}

// matchedOf returns the documents that the decision of a request names, as a row does.
func matchedOf(t *testing.T, side *diff.Side, request map[string]any) []string {
	t.Helper()
	v, err := side.Judge(t.Context(), "access", []byte(revisions.Text(request)))
	if err != nil {
		t.Fatal(err)
	}
	var decision struct{ Matched []statement.Document }
	if err := json.Unmarshal(v.Decision, &decision); err != nil {
		t.Fatal(err)
	}
	if len(decision.Matched) == 0 {
		t.Fatalf("nothing decides %s", revisions.Text(request))
	}
	var out []string
	for _, d := range decision.Matched {
		out = append(out, named(d))
	}
	return out
}

func named(d statement.Document) string {
	return fmt.Sprintf("%s rule %d %s", statement.DocumentName(d), d.Rule, d.Source)
}

// names reports whether a row names one of some documents with its line.
func names(row string, documents []string) bool {
	return slices.ContainsFunc(documents, func(d string) bool {
		parts := strings.Split(d, " rule ")
		_, source, _ := strings.Cut(parts[1], " ")
		return strings.Contains(row, parts[0]+" (") && strings.Contains(row, source+")")
	})
}

// documentsOf returns the documents of statements that a subject has.
func documentsOf(statements []statement.JSON, ids []int, subject string) []string {
	var out []string
	for _, id := range ids {
		for _, d := range statements[id].Documents {
			if slices.Contains(d.Subjects, subject) {
				out = append(out, named(d))
			}
		}
	}
	return out
}
