// Package companion proves that the companion of admission refuses what a decision about the
// object does not allow, and nothing else: for random policies and writes.
package companion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// activate returns the engine for documents.
func activate(t *testing.T, documents []map[string]any) decision.Policies {
	t.Helper()
	var files []source.File
	for i, d := range documents {
		files = append(files, source.NewFile(fmt.Sprintf("d%d.json", i), encode(d)))
	}
	result, list := translator.New(translator.Options{}).Translate(t.Context(), source.Snapshot{Files: files})
	if result == nil {
		t.Fatalf("%v\n%s", list, encode(documents))
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), b, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The command prints from documents, the server probes by a bundle.
	printed, probed := companion.Make(statement.NewWorld(tables.Revision{Tables: result.Tables}), companion.Options{}), companion.Make(statement.NewWorld(*e.Tables()), companion.Options{})
	if printed.Digest != probed.Digest {
		t.Errorf("got digest %s from documents and %s from their bundle\n%s", printed.Digest, probed.Digest, encode(documents))
	}
	return e
}

func encode(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return out.Bytes()
}

const cluster = "prod-eu-1"

// ask is the canonical request of a write, without what only the object says.
func (w *write) ask() *decision.Request {
	r := &decision.Request{User: w.user, Groups: w.groups, Verb: w.verb, APIGroup: w.group, Resource: w.resource, Subresource: w.sub,
		Namespace: w.in, Name: w.name, Cluster: cluster, NamespaceLabels: texts(w.namespaceLabels)}
	if w.verb == "create" || w.verb == "deletecollection" {
		r.Name = ""
	}
	if w.resource == "namespaces" && w.before != nil {
		r.Namespace, r.NamespaceLabels = w.name, labelsOf(w.before)
	}
	return r
}

func texts(m map[string]any) map[string]string {
	out := map[string]string{}
	for key, value := range m {
		out[key] = value.(string)
	}
	return out
}

func labelsOf(o map[string]any) map[string]string {
	labels, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
	return texts(labels)
}

// facts are what the object says.
type facts struct {
	labels map[string]string
	fields []string
	name   string // on create
	node   any    // nil: the pod has none
}

func (w *write) with(f facts) *decision.Request {
	r := w.ask()
	r.Labels, r.Fields = f.labels, f.fields
	if w.verb == "create" {
		r.Name = f.name
	}
	if w.resource == "pods" {
		spec := map[string]any{}
		if f.node != nil {
			spec["nodeName"] = f.node
		}
		r.Pod = map[string]any{"metadata": map[string]any{}, "spec": spec}
	}
	return r
}

const (
	allowed = "allowed"
	denied  = "denied"
	none    = "none"
)

func decide(t *testing.T, p decision.Policies, r *decision.Request) string {
	t.Helper()
	return outcome(t, p.Access(t.Context(), r))
}

func outcome(t *testing.T, d decision.Decision) string {
	t.Helper()
	switch {
	case d.EvaluationError != "":
		t.Fatal(d.EvaluationError)
	case d.Denied:
		return denied
	case d.Allowed:
		return allowed
	}
	return none
}

// onObject is the decision on the write itself: for each version of the object.
func (w *write) onObject(t *testing.T, p decision.Policies) string {
	t.Helper()
	out := allowed
	for _, o := range w.versions() {
		f := facts{labels: labelsOf(o), fields: w.changed(), name: w.name}
		if spec, ok := o["spec"].(map[string]any); ok {
			f.node = spec["nodeName"]
		}
		switch d := decide(t, p, w.with(f)); {
		case d == denied:
			return denied
		case d == none:
			out = none
		}
	}
	return out
}

// couldBe reports whether a decision of a kind is possible for some object, by the values
// that the documents of draw compare.
func (w *write) couldBe(t *testing.T, p decision.Policies, is func(string) bool) bool {
	t.Helper()
	if d := p.Access(t.Context(), w.ask()); len(d.Warnings) == 0 && w.verb != "create" {
		return is(outcome(t, d)) // no rule has an undecidable condition
	}
	fields := [][]string{nil}
	if o := w.operation(); o != "DELETE" {
		fields = [][]string{{}, {"metadata.labels.tier"}, {"metadata.annotations.note"}, {"spec.replicas"}, {"spec.x.y"}, {"data.k"}, {"status.phase"}, {"other"}}
	}
	nodes := []any{nil}
	if w.resource == "pods" {
		nodes = []any{nil, "n1"}
	}
	names := []string{w.name}
	if w.verb == "create" {
		names = []string{"db-1", "web", "zzz"}
	}
	for _, labels := range labelSets {
		for _, list := range fields {
			for _, node := range nodes {
				for _, name := range names {
					if is(decide(t, p, w.with(facts{labels, list, name, node}))) {
						return true
					}
				}
			}
		}
	}
	return false
}

// labelSets are all sets of the labels that documents compare.
var labelSets = func() (out []map[string]string) {
	for _, tier := range []string{"gold", "", "silver"} {
		for bits := range 4 {
			labels := map[string]string{}
			if tier != "" {
				labels["tier"] = tier
			}
			for i, key := range []string{"protected", `q"'\`} {
				if bits>>i&1 == 1 {
					labels[key] = ""
				}
			}
			out = append(out, labels)
		}
	}
	return out
}()

// The companion refuses a write if, and only if, the decision about the object denies it, or
// does not allow what it allows for another object. What it cannot print it leaves to a strict
// review.
func TestCompanionDecidesAsWrit(t *testing.T) {
	counts := map[string]int{}
	codes := map[string]int{}
	for seed := range 4 + 4*gate.Effort() {
		d := draw{rand.New(rand.NewPCG(uint64(seed), 7))}
		documents := d.documents()
		p := activate(t, documents)
		c := companion.Make(statement.NewWorld(*p.Tables()), companion.Options{Cluster: cluster})
		for _, r := range c.Refused {
			codes[r.Code]++
		}
		a := newAdmission(t, c)
		for range 150 {
			w := d.write()
			counts["writes"]++
			refused := a.refuses(w)
			on := w.onObject(t, p)
			fail := func(what string) {
				t.Helper()
				t.Errorf("seed %d: %s\n%s\ndecision %s, changed %q, strictly %s, refused %v\nrefusals %v\n%s", seed, what,
					encode(map[string]any{"user": w.user, "groups": w.groups, "request": w.request(), "verb": w.verb, "before": w.before, "after": w.after, "namespace": w.namespaceLabels}),
					on, w.changed(), decide(t, p, w.ask()), strings.Join(refused, "\n  "), c.Refused, encode(documents))
			}
			if on == allowed {
				if counts["allowed"]++; len(refused) > 0 {
					fail("refused, and allowed")
				}
				continue
			}
			strict := decide(t, p, w.ask())
			if len(refused) > 0 {
				counts["refused"]++
			}
			if len(c.Refused) > 0 { // a refused condition is decided by a strict review
				continue
			}
			counts["exact"]++
			isAllowed := func(d string) bool { return d == allowed }
			switch {
			case on == denied && len(refused) == 0 && strict != denied:
				fail("passes the review and admission, and denied")
			case on == denied && len(refused) == 0 && w.couldBe(t, p, func(d string) bool { return d != denied }):
				fail("passes, and denied for this object only")
			case on == none && len(refused) == 0 && w.couldBe(t, p, isAllowed):
				fail("passes, and allowed for another object only")
			case len(refused) > 0 && w.couldBe(t, p, isAllowed):
				counts["decided by admission"]++
			case on == none && strict == none && len(refused) > 0:
				counts["stricter"]++
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Log(counts, codes)
	for _, name := range []string{"allowed", "exact", "decided by admission"} {
		if counts[name] < counts["writes"]/40 {
			t.Errorf("got %d writes of %q of %d: the test says little", counts[name], name, counts["writes"])
		}
	}
}
