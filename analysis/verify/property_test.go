package verify_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/syntax"
)

var seed = flag.Uint64("seed", 0, "first seed of the worlds")

// worlds is how many random worlds are tried.
func worlds() int { return max(4, gate.Times(1)) }

// object is a part of a document.
type object = map[string]any

// writer makes random assertions about the words of random worlds.
type writer struct{ revisions.Random }

// value returns a value of a key: words, patterns, or what is neither.
func (w writer) value(words ...string) any {
	word := func() string { return words[w.IntN(len(words))] }
	switch w.IntN(6) {
	case 0:
		return []any{word(), word()}
	case 1:
		return object{"not": word()}
	case 2:
		return object{"like": w.Pick("*", "?"+strings.TrimLeft(word(), "gsp"), "[l-s]*", word()+"*")}
	case 3:
		return object{"not": []any{object{"prefix": w.Pick("s", "p", "u", "g")}, word()}}
	}
	return word()
}

func (w writer) holds() any {
	p := func() string {
		return w.Pick("user:u0", "user:u1", "group:g0", "group:g1", "group:g2", "group:unheard-of")
	}
	switch w.IntN(6) {
	case 0:
		return []any{p(), p()}
	case 1:
		return object{"not": []any{p(), p()}}
	case 2:
		return object{"only": []any{p(), p()}}
	case 3:
		return object{w.Pick("like", "prefix"): w.Pick("group:*", "user:u", "group:g[01]")}
	case 4:
		return object{"all": []any{"group:g0", "group:g1"}}
	}
	return p()
}

func (w writer) class() object {
	out := object{}
	words := map[string][]string{
		"verb": {"get", "delete", "update", "list", "GET"}, "resource": {"pods", "secrets", "pods/exec", "Pod", "deployments.apps"},
		"namespace": {"shop", "lab", ""}, "cluster": {"prod-1", "lab", ""}, "name": {"a", "b", ""},
	}
	for _, key := range slices.Sorted(maps.Keys(words)) {
		if w.IntN(3) == 0 {
			if out[key] = w.value(words[key]...); key == "resource" && w.IntN(2) == 0 {
				out[key] = w.Pick("pods", "secrets", "pods/*", "*")
			}
		}
	}
	if w.IntN(2) == 0 {
		out["holds"] = w.holds()
	}
	if w.IntN(6) == 0 {
		out["labels"] = w.choose("unknown", object{"tier": "x"}, object{"tier": object{"not": "x"}}, object{"tier": object{"exists": false}})
	}
	return out
}

func (w writer) choose(from ...any) any { return from[w.IntN(len(from))] }

// assertions returns a document with random assertions.
func (w writer) assertions(n int) []byte {
	var list []any
	for i := range n {
		a := object{"name": fmt.Sprint("a", i), "of": w.class()}
		switch w.IntN(8) {
		case 0:
			a["implies"] = []any{"group:" + w.Pick("g0", "g1"), w.choose("group:g2", []any{"group:g1", "user:u0"})}
			delete(a["of"].(object), "holds")
		case 1:
			a[w.Pick("within", "equals")] = []any{object{"verbs": []any{w.Pick("get", "*")}, "apiGroups": []any{"*"}, "resources": []any{w.Pick("pods", "*")}},
				object{"verbs": []any{"*"}, "apiGroups": []any{""}, "resources": []any{"secrets"}, "namespaces": []any{w.Pick("shop", "")}}}
		case 2:
			a["disjoint"] = []any{w.class(), w.class()}
			if w.IntN(2) == 0 {
				a["same"] = []any{"namespace"}
			}
		case 3:
			a["always"] = w.Pick("allowed", "denied", "decided")
		default:
			a["never"] = w.Pick("allowed", "allowed", "denied", "decided")
		}
		if w.IntN(3) == 0 {
			unless := w.class()
			if a["implies"] != nil {
				delete(unless, "holds")
			}
			a["unless"] = unless
		}
		if w.IntN(4) == 0 {
			a["alone"] = true
		}
		if w.IntN(4) == 0 && a["disjoint"] == nil && a["implies"] == nil {
			a["exceptions"] = []any{object{"of": w.class(), "until": w.Pick("1969-01-01T00:00:00Z", "1971-01-01T00:00:00Z"), "reason": "r"}}
		}
		list = append(list, a)
	}
	text, err := json.Marshal(object{"apiVersion": "writ.dev/v1", "kind": "Assertions", "metadata": object{"name": "d"}, "spec": object{"apart": []any{[]any{"group:g1", "group:g2"}}, "assertions": list}})
	if err != nil {
		panic(err)
	}
	return text
}

func decoded(t *testing.T, text []byte) []assertion.Assertion {
	t.Helper()
	file := assertion.Kinds.Decode("assertions.json", text, syntax.Options{})
	if file.List.HasErrors() || len(file.Documents) != 1 {
		t.Fatalf("%v\n%s", file.List, text)
	}
	return file.Documents[0].(*assertion.Document).Assertions
}

// isIn reports whether a request is in a class, by reading the class alone.
func isIn(c *assertion.Class, r object, named func(string) bool) bool {
	text := func(key string) string { value, _ := r[key].(string); return value }
	for _, key := range []string{"verb", "namespace", "cluster", "name"} {
		if !c.Texts[key].Fits(text(key)) {
			return false
		}
	}
	var labels map[string]string
	if given, ok := r["labels"].(map[string]string); ok {
		labels = given
	}
	return fitsResource(c.Texts["resource"], text("resource"), text("apiGroup"), text("subresource")) &&
		c.Labels["labels"].Fits(labels) && c.Holds.Fits(held(r), named)
}

func fitsResource(v *assertion.Value, resource, group, sub string) bool {
	if v == nil {
		return true
	}
	for _, word := range v.Texts {
		if word == "*" {
			if resource == "*" {
				return true
			}
			continue
		}
		e := statement.ParseResource(word)
		if e.Word == resource && e.Group == group && (e.AnySub || e.Sub == sub) {
			return true
		}
	}
	if (&assertion.Value{Globs: v.Globs, Prefixes: v.Prefixes}).Fits(resource) {
		return true
	}
	return slices.ContainsFunc(v.Not, func(n *assertion.Value) bool { return !fitsResource(n, resource, group, sub) })
}

func held(r object) []string {
	user, _ := r["user"].(string)
	groups, _ := r["groups"].([]string)
	return statement.Principals(user, groups)
}

// breaks reports whether a request, with the principals that documents name, is one of the assertion and breaks it, by the engine.
func breaks(t *testing.T, side *diff.Side, names map[string]bool, a *assertion.Assertion, r object) (in, broken bool) {
	t.Helper()
	named := func(p string) bool { return names[p] }
	as := func(list []string) object {
		base, _ := statement.RequestOf(statement.PointAccess, list)
		out := statement.With(r, "user", base.User)
		out["groups"] = base.Groups
		return out
	}
	asked := r
	if a.Form == assertion.Implies {
		asked = as(a.Subjects[0])
	}
	one := func(list []*assertion.Class) bool {
		return slices.ContainsFunc(list, func(c *assertion.Class) bool { return isIn(c, asked, named) })
	}
	holdsApart := slices.Contains(held(asked), a.Apart[0][0]) && slices.Contains(held(asked), a.Apart[0][1])
	isExcepted := slices.ContainsFunc(a.Exceptions, func(e assertion.Exception) bool { return now.Before(e.Until) && one(e.Of) })
	if !one(a.Of) || one(a.Unless) || isExcepted || a.Form != assertion.Implies && (a.Alone && len(held(asked)) != 1 || holdsApart) {
		return false, false
	}
	outcome := revisions.Outcome(t, side, asked)
	is := func(word string) bool {
		return outcome == "allow" && word != "denied" || outcome == "deny" && word != "allowed"
	}
	listed := slices.ContainsFunc(a.Entries, func(e assertion.Entry) bool {
		text := func(key string) string { value, _ := asked[key].(string); return value }
		has := func(list []string, word string) bool {
			return slices.Contains(list, "*") || slices.Contains(list, word)
		}
		return has(e.Verbs, text("verb")) && has(e.Groups, text("apiGroup")) && (e.Namespaces == nil || slices.Contains(e.Namespaces, text("namespace"))) &&
			(slices.Contains(e.Resources, "*") || text("subresource") == "" && slices.Contains(e.Resources, text("resource")))
	})
	switch a.Form {
	case assertion.Never:
		return true, is(a.Word)
	case assertion.Always:
		return true, !is(a.Word)
	case assertion.Within:
		return true, outcome == "allow" && !listed
	case assertion.Equals:
		return true, (outcome == "allow") != listed
	}
	return true, outcome == "allow" && revisions.Outcome(t, side, as(a.Subjects[1])) != "allow"
}

// disjoint returns why a verdict about two classes is not true, empty if it is: each pair of
// requests is tried with the subject of the first one.
func disjoint(t *testing.T, side *diff.Side, a *assertion.Assertion, got *verify.Result, requests []object) string {
	t.Helper()
	names := side.World.Named()
	one := *a
	one.Form, one.Word = assertion.Never, assertion.Allowed
	allowed := func(r object, class *assertion.Class) bool {
		_, broken := breaks(t, side, names, &one, r)
		return broken && isIn(class, r, func(p string) bool { return names[p] })
	}
	pair := func(x, y object) bool {
		for _, key := range a.Same {
			if x[key] != y[key] {
				return false
			}
		}
		return allowed(x, a.Classes[0]) && allowed(y, a.Classes[1])
	}
	switch got.Verdict {
	case verify.Fails:
		if w := got.Witness.Requests; !slices.Equal(held(w[0].Request), held(w[1].Request)) || !pair(w[0].Request, w[1].Request) {
			return "the witness does not break it: " + revisions.Text(w[0].Request) + revisions.Text(w[1].Request)
		}
	case verify.Unknown:
		return "no statement is opaque"
	default:
		for i, x := range requests {
			for _, y := range requests[i/2 : min(len(requests), i/2+20)] {
				y = statement.With(y, "user", x["user"])
				y["groups"] = x["groups"]
				if pair(x, y) {
					return revisions.Text(x) + " and " + revisions.Text(y) + " break it"
				}
			}
		}
	}
	return ""
}

// untrue returns why a verdict is not true, empty if it is: what holds survives random requests
// of its class, and the witness of what fails breaks it. It counts the requests of what holds.
func untrue(t *testing.T, side *diff.Side, a *assertion.Assertion, got *verify.Result, requests []object, tried *int) string {
	t.Helper()
	if a.Form == assertion.Disjoint {
		return disjoint(t, side, a, got, requests)
	}
	names := side.World.Named()
	switch got.Verdict {
	case verify.Fails:
		r := got.Witness.Requests[0].Request
		if in, broken := breaks(t, side, names, a, r); !in || !broken {
			return fmt.Sprintf("the witness %s is in the class: %t, breaks it: %t", revisions.Text(r), in, broken)
		}
		for _, plainer := range plainerThan(a, r) {
			if in, broken := breaks(t, side, names, a, plainer); in && broken {
				return fmt.Sprintf("%s is plainer than the witness %s", revisions.Text(plainer), revisions.Text(r))
			}
		}
	case verify.Unknown:
		return fmt.Sprintf("%v, and no statement is opaque", got.Why)
	case verify.Vacuous: // a statement about words that nothing knows is not proven
	default:
		for _, r := range requests {
			in, broken := breaks(t, side, names, a, r)
			if in {
				*tried++
			}
			if broken {
				return revisions.Text(r) + " breaks it"
			}
		}
	}
	return ""
}

// plainerThan returns requests that state less than a witness, or that have a more usual verb.
func plainerThan(a *assertion.Assertion, r object) []object {
	var out []object
	without := func(key string) object {
		rest := maps.Clone(r)
		delete(rest, key)
		return rest
	}
	groups, _ := r["groups"].([]string)
	if a.Form != assertion.Implies && len(held(r)) > 1 {
		for i := range groups {
			out = append(out, statement.With(r, "groups", slices.Delete(slices.Clone(groups), i, i+1)))
		}
		if r["user"] != "" {
			out = append(out, statement.With(r, "user", ""))
		}
	}
	for _, key := range []string{"apiGroup", "subresource", "name", "cluster", "tenant", "session", "escalation", "labels", "namespaceLabels", "pod", "attributes"} {
		if r[key] != nil && r[key] != "" {
			out = append(out, without(key))
		}
	}
	if !slices.ContainsFunc(a.Of, func(c *assertion.Class) bool { return c.Texts["verb"] != nil }) {
		usual := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
		for _, verb := range usual[:max(0, slices.Index(usual, r["verb"].(string)))] {
			out = append(out, statement.With(r, "verb", verb))
		}
	}
	return out
}

// run verifies assertions at the time zero.
func run(t *testing.T, side *diff.Side, list []assertion.Assertion) *verify.Report {
	t.Helper()
	report, err := verify.Run(t.Context(), &verify.Input{Side: side, Assertions: list, Now: now, SetNow: func(time.Time) {}})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

var now = time.Unix(0, 0)

// A verdict is true, with the engine as the judge.
func TestVerdictsAreThoseOfTheEngine(t *testing.T) {
	verdicts := make(map[string]int)
	tried := 0
	for n := range worlds() {
		w := writer{revisions.Random{Rand: rand.New(rand.NewPCG(*seed+uint64(n), 7))}}
		documents := w.Documents()
		side := revisions.Of(t, documents)
		text := w.assertions(20)
		list := decoded(t, text)
		report := run(t, side, list)
		requests := w.requests(300)
		for i := range list {
			a, got := &list[i], &report.Assertions[i]
			verdicts[got.Verdict]++
			if why := untrue(t, side, a, got, requests, &tried); why != "" {
				t.Fatalf("seed %d: %s is %s: %s\n%s\n%s", *seed+uint64(n), a.ID(), got.Verdict, why, text, strings.Join(documents, "\n"))
			}
		}
	}
	if verdicts[verify.Holds] < worlds() || verdicts[verify.Fails] < worlds() || tried < 50*worlds() {
		t.Errorf("%v, %d requests: the test proves too little", verdicts, tried)
	}
	t.Logf("%v, %d requests of what holds", verdicts, tried)
}

func (w writer) requests(n int) []object {
	var out []object
	for range n {
		out = append(out, w.Request())
	}
	return out
}

// The test above finds a prover that is spoilt: one that proves something else than what is
// asserted, or from other documents than those that the engine decides by, or that shows another
// request. Each promise is broken: what holds, what fails, what is unknown, and the plainest witness.
func TestSpoiltProversAreFound(t *testing.T) {
	isDenyPolicy := func(document string) bool { return strings.Contains(document, "kind: DenyPolicy") }
	isDenial := func(document string) bool { return strings.Contains(document, "deny: true") }
	without := func(is func(string) bool) func(*testing.T, []string, *diff.Side) *diff.Side {
		return func(t *testing.T, documents []string, side *diff.Side) *diff.Side {
			var rest []string
			for _, document := range documents {
				if is(document) {
					document = strings.ReplaceAll(strings.ReplaceAll(document, "deny: true", "deny: false"), "verbs: [", "verbs: [none-of-them, ")
				}
				if !isDenyPolicy(document) || !is(document) {
					rest = append(rest, document)
				}
			}
			return &diff.Side{World: revisions.Of(t, rest).World, Judge: side.Judge}
		}
	}
	// other proves other documents, with an engine that decides by them too.
	other := func(t *testing.T, documents []string, side *diff.Side) *diff.Side {
		return revisions.Of(t, slices.DeleteFunc(slices.Clone(documents), isDenyPolicy))
	}
	opaque := func(_ *testing.T, _ []string, side *diff.Side) *diff.Side {
		for _, s := range side.World.Deny {
			s.Opaque = statement.WhyCEL
		}
		return side
	}
	const falseProof, falseWitness, falseDoubt, tooMuch = "breaks it", "breaks it: ", "no statement is opaque", "is plainer than"
	for name, spoil := range map[string]struct {
		side      func(t *testing.T, documents []string, side *diff.Side) *diff.Side
		assertion func(a *assertion.Assertion)
		witness   func(r object)
		want      string // of why a verdict is not true
		first     int    // world that is tried
	}{
		"deny policies are ignored":   {side: without(isDenyPolicy), want: falseProof},
		"deny rules are ignored":      {side: without(isDenial), want: falseProof},
		"unless is not subtracted":    {assertion: func(a *assertion.Assertion) { a.Unless = nil }, want: falseWitness},
		"one principal only":          {assertion: func(a *assertion.Assertion) { a.Alone = true }, want: falseProof, first: 17},
		"apart is not read":           {assertion: func(a *assertion.Assertion) { a.Apart = [][]string{{"group:x", "group:y"}} }, want: falseWitness, first: 17},
		"other values are left out":   {assertion: named, want: falseProof, first: 17},
		"exceptions after their end":  {assertion: func(a *assertion.Assertion) { extend(a, now.Add(time.Hour)) }, want: falseProof},
		"exceptions before their end": {assertion: func(a *assertion.Assertion) { extend(a, now.Add(-time.Hour)) }, want: falseWitness},
		"the engine is not asked":     {side: other, want: falseWitness},
		"every denial is opaque":      {side: opaque, want: falseDoubt},
		"a group more":                {witness: func(r object) { r["groups"] = append(slices.Clone(r["groups"].([]string)), "more") }, want: tooMuch},
		"a key more":                  {witness: func(r object) { r["tenant"] = "more" }, want: tooMuch},
		"an unusual verb":             {witness: func(r object) { r["verb"] = "delete" }, want: tooMuch},
	} {
		t.Run(name, func(t *testing.T) {
			tried := 0
			for n := spoil.first; n < spoil.first+40; n++ {
				w := writer{revisions.Random{Rand: rand.New(rand.NewPCG(uint64(n), 7))}}
				documents := w.Documents()
				side := revisions.Of(t, documents)
				list := decoded(t, w.assertions(20))
				given := slices.Clone(list)
				proven := revisions.Of(t, documents)
				if spoil.side != nil {
					proven = spoil.side(t, documents, proven)
				}
				for i := range given {
					if spoil.assertion != nil {
						spoil.assertion(&given[i])
					}
				}
				report, err := verify.Run(t.Context(), &verify.Input{Side: proven, Assertions: given, Now: now, SetNow: func(time.Time) {}})
				if err != nil {
					return // a disagreement, which is never printed as a result
				}
				requests := w.requests(300)
				for i := range list {
					got := &report.Assertions[i]
					if spoil.witness != nil && got.Witness != nil && list[i].Form != assertion.Disjoint {
						spoil.witness(got.Witness.Requests[0].Request)
					}
					if strings.Contains(untrue(t, side, &list[i], got, requests, &tried), spoil.want) {
						return
					}
				}
			}
			t.Error("the test does not find it")
		})
	}
}

// named replaces each value that a class does not have by those of the words that are known.
func named(a *assertion.Assertion) {
	for i, c := range a.Of {
		with := &assertion.Class{Holds: c.Holds, Labels: c.Labels, Texts: maps.Clone(c.Texts)}
		for key, v := range c.Texts {
			if key == "verb" && len(v.Not) > 0 {
				with.Texts[key] = &assertion.Value{Texts: slices.DeleteFunc([]string{"get"}, func(word string) bool { return !v.Fits(word) })}
			}
		}
		a.Of = slices.Clone(a.Of)
		a.Of[i] = with
	}
}

// extend sets the end of each exception.
func extend(a *assertion.Assertion, until time.Time) {
	a.Exceptions = slices.Clone(a.Exceptions)
	for i := range a.Exceptions {
		a.Exceptions[i].Until = until
	}
}

// What is old by a base is broken by no request that did not break it there.
func TestOldFailuresAreNotNew(t *testing.T) {
	old, fresh := 0, 0
	for n := range worlds() {
		w := writer{revisions.Random{Rand: rand.New(rand.NewPCG(*seed+uint64(n), 8))}}
		documents := w.Documents()
		edited := slices.Clone(documents)
		i := 2 + w.IntN(len(documents)-2)
		edited[i] = w.Documents()[i]
		side, base := revisions.Of(t, edited), revisions.Of(t, documents)
		text := w.assertions(20)
		list := decoded(t, text)
		in := &verify.Input{Side: side, Base: base, Assertions: list, Now: now, SetNow: func(time.Time) {}}
		report, err := verify.Run(t.Context(), in)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", *seed+uint64(n), err, text)
		}
		in.Side, in.Base = base, nil
		before, err := verify.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		names := side.World.Named() // of either revision, as in a comparison
		maps.Copy(names, base.World.Named())
		for i := range list {
			a, got := &list[i], &report.Assertions[i]
			switch {
			case got.Old && got.Failed, got.Old && !before.Assertions[i].Failed:
				t.Fatalf("seed %d: %s is old, and is %s by the base\n%s", *seed+uint64(n), a.ID(), before.Assertions[i].Verdict, text)
			case got.Old && a.Form != assertion.Disjoint:
				old++
				for range 100 {
					r := w.Request()
					if _, now := breaks(t, side, names, a, r); now {
						if _, then := breaks(t, base, names, a, r); !then {
							t.Fatalf("seed %d: %s is old, and %s breaks it newly\n%s", *seed+uint64(n), a.ID(), revisions.Text(r), text)
						}
					}
				}
			case got.Verdict == verify.Fails && before.Assertions[i].Failed && slices.Contains([]string{assertion.Never, assertion.Always, assertion.Within, assertion.Equals}, a.Form):
				fresh++
				if _, then := breaks(t, base, names, a, got.Witness.Requests[0].Request); then {
					t.Fatalf("seed %d: the witness of %s breaks it by the base too: %s\n%s", *seed+uint64(n), a.ID(), revisions.Text(got.Witness.Requests[0].Request), text)
				}
			}
		}
	}
	if old < worlds() || fresh < worlds()/4 {
		t.Errorf("%d old, %d new: the test proves too little", old, fresh)
	}
}
