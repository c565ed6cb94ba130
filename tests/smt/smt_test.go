// Package smt compares the prover of assertions with z3, which shares no code with it: random
// documents, random assertions, and one answer.
package smt

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/tests/smt/encode"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/syntax"
)

var worlds = flag.Int("worlds", 0, "random worlds; 0: 30")

// assertionsOfWorld is how many assertions each world has.
const assertionsOfWorld = 10

// object is a part of a document.
type object = map[string]any

var apart = [][]string{{"group:g1", "group:g2"}}

// drawer draws documents and assertions.
type drawer struct{ *rand.Rand }

func (d drawer) pick(from ...string) string { return from[d.IntN(len(from))] }

func (d drawer) some(from ...string) []string {
	out := slices.DeleteFunc(slices.Clone(from), func(string) bool { return d.IntN(3) > 0 })
	if len(out) == 0 {
		out = []string{d.pick(from...)}
	}
	return out
}

func (d drawer) subjects() []any {
	return []any{object{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": d.pick("g0", "g1", "g2")}, object{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": d.pick("u0", "u1")}}[d.IntN(2):]
}

// documents returns random documents of Kubernetes, Origin and deny policies.
func (d drawer) documents() []string {
	out := []any{
		object{"kind": "Policy", "apiVersion": "writ.dev/v1", "metadata": object{"name": "p", "namespace": "shop"}},
		object{"kind": "PolicyBinding", "apiVersion": "writ.dev/v1", "metadata": object{"name": "shop", "namespace": "shop"}},
	}
	const rbac = "rbac.authorization.k8s.io"
	for i := range 2 + d.IntN(3) {
		name := fmt.Sprint("k", i)
		rule := object{"verbs": d.some("get", "list", "delete", "update", "*"), "apiGroups": d.some("", "apps", "*"), "resources": d.some("pods", "secrets", "pods/exec", "*/status", "*")}
		if d.IntN(3) == 0 {
			rule["resourceNames"] = d.some("a", "b")
		}
		out = append(out, object{"kind": "ClusterRole", "apiVersion": rbac + "/v1", "metadata": object{"name": name}, "rules": []any{rule}})
		kind, meta := "ClusterRoleBinding", object{"name": name}
		if d.IntN(3) > 0 {
			kind, meta["namespace"] = "RoleBinding", d.pick("shop", "lab")
		}
		out = append(out, object{"kind": kind, "apiVersion": rbac + "/v1", "metadata": meta, "roleRef": object{"apiGroup": rbac, "kind": "ClusterRole", "name": name}, "subjects": d.subjects()})
	}
	for i := range d.IntN(4) {
		name := fmt.Sprint("o", i)
		rule := object{"deny": d.IntN(2) == 0, "verbs": d.some("get", "delete", "*"), "resourceKinds": d.some("pods", "Secret", "*", "pods/exec", "*/status")}
		if d.IntN(3) == 0 {
			rule["verbs"] = []string{"*", "-get"}
		}
		if d.IntN(3) == 0 {
			rule["resourceKinds"] = []string{"*", d.pick("-pods", "-pods/exec")}
		}
		out = append(out, object{"kind": "Role", "apiVersion": "writ.dev/v1", "metadata": object{"name": name, "namespace": "master"}, "rules": []any{rule}},
			object{"kind": "RoleBinding", "apiVersion": "writ.dev/v1", "metadata": object{"name": name, "namespace": d.pick("shop", "master")}, "roleRef": object{"namespace": "master", "name": name},
				"groupNames": []string{d.pick("g0", "g1", "g2")}, "userNames": []string{d.pick("u0", "u1")}})
	}
	for i := range d.IntN(3) {
		rule := object{"verbs": d.some("get", "delete", "*"), "apiGroups": d.some("", "*"), "resources": d.some("pods", "secrets", "*", "*/exec")}
		if d.IntN(2) == 0 {
			rule["namespaces"] = object{"patterns": d.some("sh*", "lab", "?ab", "[l-s]*", "")}
		}
		if d.IntN(3) == 0 {
			rule["resourceNames"] = d.some("a", "a*", "?", "")
		}
		spec := object{"rules": []any{rule}}
		if d.IntN(2) == 0 {
			spec["appliesTo"] = object{"clusters": d.some("prod-*", "lab", "?ab", "*")}
		}
		out = append(out, object{"kind": "DenyPolicy", "apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "metadata": object{"name": fmt.Sprint("d", i)}, "spec": spec})
	}
	texts := make([]string, len(out))
	for i, one := range out {
		texts[i] = string(written(one))
	}
	return texts
}

// value returns a value of a key.
func (d drawer) value(words ...string) any {
	switch d.IntN(6) {
	case 0:
		return d.some(words...)
	case 1:
		return object{"not": d.pick(words...)}
	case 2:
		return object{"like": d.pick("*", "s*", "?ab", "[l-s]*", "p*-?")}
	case 3:
		return object{"not": []any{object{"prefix": d.pick("s", "p", "l")}, d.pick(words...)}}
	}
	return d.pick(words...)
}

func (d drawer) holds(named []string) any {
	switch d.IntN(5) {
	case 0:
		return d.some(named...)
	case 1:
		return object{"not": d.some(named...)}
	case 2:
		return object{"only": d.some(named...)}
	case 3:
		return object{"all": [][]string{{"group:g0", "group:g1"}, {"group:g1", "group:g2"}, {"group:g0"}}[d.IntN(3)]}
	}
	return d.pick(named...)
}

// class returns a class of requests about resources.
func (d drawer) class(named []string) object {
	out := object{"resource": d.pick("pods", "secrets", "pods/exec", "pods/*", "deployments.apps")}
	switch d.IntN(4) {
	case 0:
		out["resource"] = []any{"pods", "secrets", "configmaps/status"}
	case 1:
		out["resource"] = object{"not": []any{"pods", "secrets"}}
	case 2:
		delete(out, "resource")
		out["namespace"] = d.value("shop", "lab")
	}
	if out["resource"] == "deployments.apps" {
		out["resource"] = "secrets"
	}
	if d.IntN(2) == 0 {
		out["verb"] = d.value("get", "delete", "update", "list")
	}
	if out["namespace"] == nil && d.IntN(3) == 0 {
		out["namespace"] = d.value("shop", "lab", "")
	}
	if d.IntN(4) == 0 {
		out["cluster"] = d.value("prod-1", "lab", "")
	}
	if d.IntN(4) == 0 {
		out["name"] = d.value("a", "b")
	}
	if d.IntN(2) == 0 {
		out["holds"] = d.holds(named)
	}
	return out
}

// assertion returns an assertion that names principals of the documents.
func (d drawer) assertion(i int, named []string) object {
	a := object{"name": fmt.Sprint("a", i), "of": d.class(named)}
	entries := []any{
		object{"verbs": d.some("get", "list", "*"), "apiGroups": []any{"*"}, "resources": d.some("pods", "pods/exec", "*")},
		object{"verbs": []any{"*"}, "apiGroups": []any{""}, "resources": []any{"secrets"}, "namespaces": []any{d.pick("shop", "lab")}},
	}
	switch d.IntN(9) {
	case 0:
		a["within"] = entries
	case 1:
		a["equals"] = entries
	case 2:
		a["implies"] = []any{d.pick(named...), d.pick(named...)}
		delete(a["of"].(object), "holds")
	case 3:
		a["always"] = d.pick("allowed", "denied", "decided")
	default:
		a["never"] = d.pick("allowed", "allowed", "denied", "decided")
	}
	if d.IntN(3) == 0 {
		unless := d.class(named)
		if a["implies"] != nil {
			delete(unless, "holds")
		}
		a["unless"] = unless
	}
	if d.IntN(4) == 0 && a["implies"] == nil {
		a["alone"] = true
	}
	return a
}

func written(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// statementsOf returns the JSON of all statements.
func statementsOf(w *statement.World) []byte {
	list := slices.AppendSeq(slices.Clone(w.Deny), w.All(""))
	out := make([]statement.JSON, 0, len(list))
	for i, s := range list {
		j := statement.JSON{ID: i, Effect: s.Effect, Step: statement.Step(s.Step), Subjects: s.Subjects, Namespace: s.Namespace, Documents: s.Documents}
		s.Condition.Describe(&j)
		switch {
		case s.Step == 1:
			j.Family = "denyPolicy"
		case j.Row().ResourceKinds != nil:
			j.Family = "origin"
		default:
			j.Family = "kubernetes"
		}
		out = append(out, j)
	}
	return written(out)
}

// run verifies assertions, or those of another world as if they were about this one.
func run(t *testing.T, side *diff.Side, text []byte, spoil func(*assertion.Assertion)) *verify.Report {
	t.Helper()
	file := assertion.Kinds.Decode("a.json", text, syntax.Options{})
	if file.List.HasErrors() {
		t.Fatalf("%v\n%s", file.List, text)
	}
	list := file.Documents[0].(*assertion.Document).Assertions
	for i := range list {
		if spoil != nil {
			spoil(&list[i])
		}
	}
	report, err := verify.Run(t.Context(), &verify.Input{Side: side, Assertions: list, Now: time.Unix(0, 0), SetNow: func(time.Time) {}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return report
}

// solve returns the answers of z3, in the order of the queries.
func solve(t *testing.T, queries []string) []string {
	t.Helper()
	var in bytes.Buffer
	for _, q := range queries {
		in.WriteString("(push)\n" + q + "(check-sat)\n(pop)\n")
	}
	command := exec.CommandContext(t.Context(), "z3", "-in", "-T:120")
	command.Stdin = &in
	out, err := command.CombinedOutput()
	answers := strings.Fields(string(out))
	if err != nil || len(answers) != len(queries) {
		t.Fatalf("%v: z3 answers\n%s", err, out)
	}
	return answers
}

// world is drawn documents and assertions.
type world struct {
	side       *diff.Side
	documents  []string
	text       []byte
	assertions []any
	queries    []string
}

func draw(t *testing.T, seed uint64) *world {
	t.Helper()
	d := drawer{rand.New(rand.NewPCG(seed, 21))}
	w := &world{documents: d.documents()}
	w.side = revisions.Of(t, w.documents)
	var named []string
	for p := range w.side.World.Named() {
		named = append(named, p)
	}
	slices.Sort(named)
	statements := statementsOf(w.side.World)
	for i := range assertionsOfWorld {
		a := d.assertion(i, named)
		w.assertions = append(w.assertions, a)
		query, err := encode.Query(statements, written(a), apart)
		if err != nil {
			t.Fatal(err)
		}
		w.queries = append(w.queries, query)
	}
	w.text = written(object{"apiVersion": "writ.dev/v1", "kind": "Assertions", "metadata": object{"name": "d"}, "spec": object{"apart": apart, "assertions": w.assertions}})
	return w
}

// disagrees returns how a verdict and an answer of z3 differ, empty if they do not.
func disagrees(r *verify.Result, answer string) string {
	switch {
	case answer == "sat" && r.Verdict != verify.Fails && r.Verdict != verify.Vacuous:
		return "a false proof"
	case answer == "sat" && r.Verdict == verify.Vacuous && strings.HasPrefix(r.Text, "no request"):
		return "a class that is not empty"
	case answer == "unsat" && r.Verdict == verify.Fails && isOfDomain(r):
		return "a witness that z3 does not have"
	case r.Verdict == verify.Unknown:
		return "unknown, and no statement is opaque"
	case answer != "sat" && answer != "unsat":
		return "z3 answers " + answer
	}
	return ""
}

// isOfDomain reports whether z3 could have found the witness.
func isOfDomain(r *verify.Result) bool {
	for _, w := range r.Witness.Requests {
		for key, words := range encode.Domain {
			if text, _ := w.Request[key].(string); !slices.Contains(words, text) {
				return false
			}
		}
	}
	return true
}

func needZ3(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("z3"); err != nil {
		t.Skip("z3 is not installed, so that no second prover is asked: apt-get install z3")
	}
}

// A seed is one world, with its assertions: a failure can be repeated.
func TestDrawsAreTheSame(t *testing.T) {
	for i := range uint64(4) {
		one, other := draw(t, i), draw(t, i)
		if !slices.Equal(one.documents, other.documents) || !bytes.Equal(one.text, other.text) || !slices.Equal(one.queries, other.queries) {
			t.Fatalf("seed %d: got two worlds\n%s\n%s", i, one.text, other.text)
		}
	}
}

// The prover and z3 give one answer.
func TestProverAgreesWithZ3(t *testing.T) {
	needZ3(t)
	n := *worlds
	if n == 0 {
		n = 30
	}
	verdicts, outside := make(map[string]int), 0
	for i := range n {
		w := draw(t, gate.Seed()+uint64(i))
		report := run(t, w.side, w.text, nil)
		for j, answer := range solve(t, w.queries) {
			r := &report.Assertions[j]
			verdicts[r.Verdict+" "+answer]++
			if answer == "unsat" && r.Verdict == verify.Fails && !isOfDomain(r) {
				outside++
			}
			if why := disagrees(r, answer); why != "" {
				t.Fatalf("seed %d: %s: verdict %s, z3 %s: %s\n%s\n%s\n%s", gate.Seed()+uint64(i), why, r.Verdict, answer, r.Text, written(w.assertions[j]), strings.Join(w.documents, "\n"), written(r.Witness))
			}
		}
	}
	if verdicts["holds unsat"] < n || verdicts["fails sat"] < n {
		t.Errorf("%v: the test compares too little", verdicts)
	}
	t.Logf("%d worlds, %d assertions: %v; %d witnesses have words that z3 was not given", n, n*assertionsOfWorld, verdicts, outside)
}

// z3 finds a prover that is spoilt.
func TestZ3FindsSpoiltProvers(t *testing.T) {
	needZ3(t)
	for name, spoil := range map[string]func(*assertion.Assertion){
		"unless is not subtracted": func(a *assertion.Assertion) { a.Unless = nil },
		"one principal only":       func(a *assertion.Assertion) { a.Alone = true },
		"apart is not read":        func(a *assertion.Assertion) { a.Apart = nil },
		"another word": func(a *assertion.Assertion) {
			if a.Word == assertion.Denied {
				a.Word = assertion.Allowed
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 60 {
				w := draw(t, gate.Seed()+uint64(i))
				report := run(t, w.side, w.text, spoil)
				for j, answer := range solve(t, w.queries) {
					if disagrees(&report.Assertions[j], answer) != "" {
						return
					}
				}
			}
			t.Error("z3 agrees with it")
		})
	}
	t.Run("steps are ignored", func(t *testing.T) {
		for i := range 60 {
			w := draw(t, gate.Seed()+uint64(i))
			rest := slices.DeleteFunc(slices.Clone(w.documents), func(d string) bool { return strings.Contains(d, "DenyPolicy") })
			spoilt := &diff.Side{World: revisions.Of(t, rest).World, Judge: w.side.Judge}
			file := assertion.Kinds.Decode("a.json", w.text, syntax.Options{})
			list := file.Documents[0].(*assertion.Document).Assertions
			report, err := verify.Run(t.Context(), &verify.Input{Side: spoilt, Assertions: list, Now: time.Unix(0, 0), SetNow: func(time.Time) {}})
			if err != nil {
				return // a disagreement, which is never printed as a result
			}
			for j, answer := range solve(t, w.queries) {
				if disagrees(&report.Assertions[j], answer) != "" {
					return
				}
			}
		}
		t.Error("z3 agrees with it")
	})
}
