package smt

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/tests/certificate"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/syntax"
)

// certified verifies the assertions of a world with certificates, as if each was spoilt.
func certified(t *testing.T, w *world, spoil func(*assertion.Assertion)) *verify.Report {
	t.Helper()
	list := assertion.Kinds.Decode("a.json", w.text, syntax.Options{}).Documents[0].(*assertion.Document).Assertions
	for i := range list {
		if spoil != nil {
			spoil(&list[i])
		}
	}
	report, err := verify.Run(t.Context(), &verify.Input{Side: w.side, Assertions: list, Now: time.Unix(0, 0), SetNow: func(time.Time) {}, HasCertificates: true})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// refuses reports whether the checker refuses a certificate.
func refuses(t *testing.T, c *verify.Certificate) error {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return certificate.Check(text)
}

// mayHave reports whether a verdict is one that may have a certificate.
func mayHave(r *verify.Result) bool { return r.Form == assertion.Never || r.Form == assertion.Always }

// What holds has a certificate that a checker confirms. It refuses any tree for what does not
// hold, and many of which a part is changed.
func TestCertificates(t *testing.T) {
	confirmed, refused, foreign := 0, make(map[string]int), 0
	for i := range max(*worlds, 12) {
		seed := gate.Seed() + uint64(i)
		w := draw(t, seed)
		report := certified(t, w, nil)
		var trees []*verify.Tree
		for j := range report.Assertions {
			r := &report.Assertions[j]
			if r.Verdict != verify.Holds || !mayHave(r) {
				continue
			}
			if r.Certificate == nil {
				t.Fatalf("seed %d: %s has no certificate: %v", seed, r.Name, r.Notes)
			}
			if err := refuses(t, r.Certificate); err != nil {
				t.Fatalf("seed %d: %s: %v\n%s", seed, r.Name, err, written(r.Certificate))
			}
			confirmed++
			trees = append(trees, r.Certificate.Proofs[0].Classes[0].Tree)
			for kind, change := range map[string]func(c *verify.Certificate) bool{"a branch dropped": dropped, "a value widened": widened, "a wrong ID": renumbered} {
				c := new(verify.Certificate)
				if err := json.Unmarshal(written(r.Certificate), c); err != nil {
					t.Fatal(err)
				}
				if change(c) && refuses(t, c) != nil { // what is left may be a proof too
					refused[kind]++
				}
			}
		}
		for j := range report.Assertions {
			if r := &report.Assertions[j]; mayHave(r) && r.Verdict == verify.Fails {
				foreign += forged(t, w, report, j, trees)
			}
		}
	}
	if confirmed < 12 || len(refused) < 3 || foreign < 12 {
		t.Errorf("%d confirmed, %v and %d trees of others refused: the test shows too little", confirmed, refused, foreign)
	}
	t.Logf("%d confirmed, %v and %d trees of others refused", confirmed, refused, foreign)
}

// The checker refuses a certificate of which a branch is dropped, a value is widened or an ID is
// another one.
func TestChangedCertificatesAreRefused(t *testing.T) {
	const rbac = "apiVersion: rbac.authorization.k8s.io/v1"
	w := &world{side: revisions.Of(t, []string{
		"{kind: ClusterRole, " + rbac + ", metadata: {name: r}, rules: [{verbs: [get, list], apiGroups: [''], resources: [secrets, pods]}]}",
		"{kind: ClusterRoleBinding, " + rbac + ", metadata: {name: r}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: dev}]}",
		"{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d}, spec: {rules: [{verbs: [get, list], apiGroups: [''], resources: [secrets], namespaces: {patterns: ['prod-*']}}]}}",
	}), text: []byte(`{"apiVersion":"writ.dev/v1","kind":"Assertions","metadata":{"name":"d"},"spec":{"assertions":[
		{"name": "a", "never": "allowed", "of": {"resource": "secrets", "namespace": {"like": "prod-*"}, "holds": ["group:dev", "group:ops"]}}]}}`)}
	whole := certified(t, w, nil).Assertions[0].Certificate
	if err := refuses(t, whole); err != nil {
		t.Fatalf("%v\n%s", err, written(whole))
	}
	for kind, change := range map[string]func(c *verify.Certificate) bool{"nothing": func(*verify.Certificate) bool { return true }, "a branch dropped": dropped, "a value widened": widened, "a wrong ID": renumbered} {
		c := new(verify.Certificate)
		if err := json.Unmarshal(written(whole), c); err != nil {
			t.Fatal(err)
		}
		if isChanged, err := change(c), refuses(t, c); !isChanged || (err == nil) != (kind == "nothing") {
			t.Errorf("%s: changed: %t, refused: %v\n%s", kind, isChanged, err, written(c))
		}
	}
}

// forged tries trees of other assertions, and leaves, for an assertion that fails. It returns
// how many are refused: all of them.
func forged(t *testing.T, w *world, report *verify.Report, failing int, trees []*verify.Tree) int {
	t.Helper()
	given := w.assertions[failing].(object)
	c := &verify.Certificate{Apart: apart, Alone: given["alone"] == true}
	c.Form, c.Word = report.Assertions[failing].Form, anyOf(given["never"], given["always"])
	if given["unless"] != nil {
		c.Unless = append(c.Unless, given["unless"].(object))
	}
	var at verify.ProofAt
	if err := json.Unmarshal([]byte(`{"statements":`+string(statementsOf(w.side.World))+`}`), &at); err != nil {
		t.Fatal(err)
	}
	trees = append(slices.Clone(trees), &verify.Tree{None: true}, &verify.Tree{Empty: true})
	for i := range at.Statements {
		trees = append(trees, &verify.Tree{Denied: &i}, &verify.Tree{Allowed: &i})
	}
	for _, tree := range trees {
		at.Classes = []verify.ClassProof{{Of: given["of"].(object), Tree: tree}}
		c.Proofs = []verify.ProofAt{at}
		if refuses(t, c) == nil {
			t.Fatalf("%s fails and has a certificate: %s\n%s", report.Assertions[failing].Name, report.Assertions[failing].Text, written(c))
		}
	}
	return len(trees)
}

func anyOf(words ...any) string {
	for _, w := range words {
		if text, ok := w.(string); ok {
			return text
		}
	}
	return ""
}

// dropped drops the proof about the first decider.
func dropped(c *verify.Certificate) bool {
	tree := c.Proofs[0].Classes[0].Tree
	if tree.Split == "" {
		return false
	}
	tree.Branches = tree.Branches[1:]
	return true
}

// widened makes a branch that no decider fits one of all requests: at least one of the decider's
// own is among them.
func widened(c *verify.Certificate) bool {
	for _, b := range c.Proofs[0].Classes[0].Tree.Branches {
		node := b.Node
		for node.Split == "holds" {
			node = node.Branches[0].Node
		}
		for i := range node.Branches {
			if leaf := node.Branches[i].Node; leaf.None || leaf.Empty {
				node.Branches = []verify.Branch{{Rest: true, Node: leaf}}
				return true
			}
		}
	}
	return false
}

// renumbered replaces the ID of a statement that decides before by that of the decider itself.
func renumbered(c *verify.Certificate) bool {
	for _, b := range c.Proofs[0].Classes[0].Tree.Branches {
		id, err := strconv.Atoi(strings.TrimPrefix(strings.Join(b.Values, ""), "error "))
		if err != nil {
			continue
		}
		for list := []*verify.Tree{b.Node}; len(list) > 0; list = list[1:] {
			for _, below := range list[0].Branches {
				list = append(list, below.Node)
			}
			if of := list[0].Denied; of != nil {
				*of = id
				return true
			}
		}
	}
	return false
}
