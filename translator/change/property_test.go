package change_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/change"
	"github.com/writ-policy/writ/translator/source"
)

// revision translates documents and activates them, nil if they have errors.
func revision(t *testing.T, documents []string) *change.Side {
	t.Helper()
	file := source.File{Path: "all.yaml", Content: []byte(strings.Join(documents, "\n---\n"))}
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(t.Context(), source.Snapshot{Files: []source.File{file}})
	if result == nil {
		t.Fatalf("%v\n%s", list, file.Content)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), b, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	judge := func(ctx context.Context, point string, request []byte) (change.Verdict, error) {
		at, _ := decision.FindPoint(point)
		q, err := at.Decode(request)
		if err != nil {
			return change.Verdict{}, err
		}
		answer, refused := q.Decide(ctx, e)
		if refused != nil {
			return change.Verdict{}, refused
		}
		return change.VerdictOf(point, false, answer.AppendJSON(nil))
	}
	return &change.Side{World: change.NewWorld(change.Revision{Tables: b.Tables}), Judge: judge}
}

// world makes random documents of the families of the point access.
type world struct{ *rand.Rand }

func (w world) some(from ...string) string {
	var out []string
	for _, v := range from {
		if w.IntN(3) == 0 {
			out = append(out, fmt.Sprintf("%q", v))
		}
	}
	if out == nil {
		out = []string{fmt.Sprintf("%q", from[w.IntN(len(from))])}
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (w world) documents() []string {
	out := []string{
		"{kind: Policy, apiVersion: writ.dev/v1, metadata: {name: p, namespace: shop}}",
		"{kind: PolicyBinding, apiVersion: writ.dev/v1, metadata: {name: shop, namespace: shop}}",
	}
	for i := range 3 {
		out = append(out, fmt.Sprintf(`{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: k%d}, rules: [{verbs: %s, apiGroups: ["", apps], resources: %s}]}`,
			i, w.some("get", "delete", "update", "*"), w.some("pods", "secrets", "pods/exec", "*")))
		kind, where := "RoleBinding", "namespace: shop, "
		if w.IntN(2) == 0 {
			kind, where = "ClusterRoleBinding", ""
		}
		out = append(out, fmt.Sprintf(`{kind: %s, apiVersion: rbac.authorization.k8s.io/v1, metadata: {%sname: k%d}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: k%d}, subjects: [{kind: Group, name: g%d}, {kind: User, name: u%d}]}`,
			kind, where, i, i, w.IntN(3), w.IntN(2)))
	}
	for i := range 3 {
		namespace := []string{"shop", "master"}[w.IntN(2)]
		restriction := ""
		if w.IntN(3) == 0 {
			restriction = ", attributeRestrictions: {labelsContain: [tier]}"
		}
		out = append(out, fmt.Sprintf(`{kind: Role, apiVersion: writ.dev/v1, metadata: {name: o%d, namespace: master}, rules: [{deny: %v, verbs: %s, resourceKinds: %s%s}]}`,
			i, w.IntN(2) == 0, w.some("get", "delete", "update", "*", "-get"), w.some("Pod", "secrets", "*", "-pods"), restriction),
			fmt.Sprintf(`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: o%d, namespace: %s}, roleRef: {namespace: master, name: o%d}, groupNames: [g%d], userNames: [u%d]}`,
				i, namespace, i, w.IntN(3), w.IntN(2)))
	}
	for i := range 2 {
		out = append(out, fmt.Sprintf(`{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d%d}, spec: {appliesTo: {clusters: %s}, rules: [{verbs: %s, apiGroups: [""], resources: %s, namespaces: {patterns: %s}}]}}`,
			i, w.some("prod-*", "*", "lab"), w.some("get", "delete"), w.some("pods", "secrets", "*/exec"), w.some("sh*", "lab", "*")))
	}
	return out
}

func (w world) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w world) request() map[string]any {
	r := map[string]any{"user": w.pick("u0", "u1", "other"), "verb": w.pick("get", "delete", "update", "patch", "list", "*", "GET"),
		"resource": w.pick("pods", "secrets", "Pod", "configmaps", "*"), "apiGroup": w.pick("", "", "apps")}
	for key, values := range map[string][]string{"namespace": {"shop", "lab", ""}, "cluster": {"prod-1", "lab", ""}, "subresource": {"exec", "", "", ""}} {
		if v := w.pick(values...); v != "" {
			r[key] = v
		}
	}
	groups := []string{}
	for _, g := range []string{"g0", "g1", "g2"} {
		if w.IntN(3) == 0 {
			groups = append(groups, g)
		}
	}
	r["groups"] = groups
	if w.IntN(2) == 0 {
		r["labels"] = map[string]string{w.pick("tier", "other"): "x"}
	}
	return r
}

func principals(r map[string]any) []string {
	out := []string{}
	if u, _ := r["user"].(string); u != "other" && u != "" {
		out = append(out, "user:"+u)
	}
	groups, _ := r["groups"].([]string)
	for _, g := range groups {
		out = append(out, "group:"+g)
	}
	return out
}

// pair compares two random worlds, of which the second one is an edit of the first one.
func pair(t *testing.T, w world) (a, b *change.Side, report *change.Report) {
	t.Helper()
	documents := w.documents()
	edited := slices.Clone(documents)
	for other, n := w.documents(), 1+w.IntN(3); n > 0; n-- {
		i := 2 + w.IntN(len(documents)-2)
		edited[i] = other[i]
	}
	a, b = revision(t, documents), revision(t, edited)
	report, err := change.Diff(t.Context(), a, b, change.Options{Now: time.Unix(0, 0)})
	if err != nil {
		t.Fatalf("%v\n%s\n---\n%s", err, strings.Join(documents, "\n"), strings.Join(edited, "\n"))
	}
	return a, b, report
}

// The gate tries few pairs; make soak tries more, from another seed.
var (
	pairs = flag.Int("pairs", 10, "random pairs of documents")
	seed  = flag.Uint64("seed", 0, "first seed of the pairs")
)

// decided is a request with the outcomes of two revisions.
type decided struct {
	request  map[string]any
	from, to string
}

// promises returns how a report breaks its promises, empty if it keeps them: every request
// whose outcome differs fits a class with its change and transition; a request that fits an
// exact class with no principal to spare goes through one of its transitions; and each
// transition has a witness that fits and goes through it.
func promises(t *testing.T, a, b *change.Side, report *change.Report, list []decided) (problem string, held int) {
	t.Helper()
	for i := range report.Classes {
		k := &report.Classes[i]
		for _, x := range k.Transitions {
			r := x.Witness.Request
			if from, to := outcome(t, a, r), outcome(t, b, r); from != x.From || to != x.To || !report.Fits(k, r, principals(r)) {
				return fmt.Sprintf("the witness of class %s is not one of it, %s -> %s: %s", k.ID, from, to, text(r)), held
			}
		}
	}
	for _, d := range list {
		found := d.from == d.to
		for i := range report.Classes {
			k := &report.Classes[i]
			if !report.Fits(k, d.request, principals(d.request)) {
				continue
			}
			goes := slices.ContainsFunc(k.Transitions, func(x change.Transition) bool { return x.From == d.from && x.To == d.to })
			found = found || goes && slices.Contains(k.Changes, change.Kind(change.PointAccess, d.from, d.to))
			if spare(report, k, d.request) {
				continue
			}
			held++
			if !goes {
				return fmt.Sprintf("class %s is too wide: %s -> %s: %s", k.ID, d.from, d.to, text(d.request)), held
			}
		}
		if !found {
			return fmt.Sprintf("no class: %s -> %s: %s", d.from, d.to, text(d.request)), held
		}
	}
	return "", held
}

// Reports keep their promises, with the engine as the judge, and a report with a class that
// is dropped, widened, narrowed or has another witness does not.
func TestClassesAreThoseOfTheEngine(t *testing.T) {
	differing, held := 0, 0
	noticed := map[string]int{"dropped": 0, "widened": 0, "narrowed": 0, "another witness": 0}
	for n := range *pairs {
		w := world{rand.New(rand.NewPCG(*seed+uint64(n), 1))}
		a, b, report := pair(t, w)
		var list []decided
		for range 200 {
			r := w.request()
			d := decided{r, outcome(t, a, r), outcome(t, b, r)}
			list = append(list, d)
			if d.from != d.to {
				differing++
			}
		}
		problem, kept := promises(t, a, b, report, list)
		if problem != "" {
			t.Fatalf("seed %d: %s", *seed+uint64(n), problem)
		}
		held += kept
		for how := range noticed {
			for i := 0; i < len(report.Classes) && noticed[how] == 0; i++ {
				if broken, ok := report.Break(how, i); ok {
					if problem, _ := promises(t, a, b, broken, list); problem != "" {
						noticed[how]++
					}
				}
			}
		}
	}
	if differing < *pairs || held < *pairs {
		t.Errorf("%d requests differ and %d fit exact classes: the test proves too little", differing, held)
	}
	for how, n := range noticed {
		if n == 0 {
			t.Errorf("no class that is %s is noticed", how)
		}
	}
}

// For every request of a question, the statements of the answer come to the decision, and
// an answer without one of them does not. A principal that is allowed alone is listed, and those that
// always are, are denied by deny policies alone.
func TestAnswersAreThoseOfTheEngine(t *testing.T) {
	noticed, listed := 0, 0
	for n := range *pairs {
		w := world{rand.New(rand.NewPCG(*seed+uint64(n), 2))}
		side := revision(t, w.documents())
		asker := &change.Asker{World: side.World, Judge: side.Judge}
		stated := map[string]any{"verb": w.pick("get", "delete"), "resource": w.pick("pods", "secrets"), "apiGroup": ""}
		if w.IntN(2) == 0 {
			stated["namespace"] = "shop"
		}
		question := func() *change.Question { return &change.Question{Stated: stated, Open: append(change.Facts(), "name")} }
		answer, err := asker.WhoCan(t.Context(), question())
		if err != nil {
			t.Fatal(err)
		}
		verdicts := make(map[string]string)
		for _, s := range answer.Subjects {
			verdicts[s.Subject] = s.Verdict
			listed++
		}
		statements := asker.Stated(question())
		for range 60 {
			r := w.request()
			delete(r, "subresource")
			delete(r, "namespace")
			maps.Copy(r, stated)
			want, held := outcome(t, side, r), principals(r)
			if got := statements.Outcome(r, held); got != want {
				t.Fatalf("seed %d: statements come to %s, the engine decides %s: %s", *seed+uint64(n), got, want, text(r))
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
				t.Fatalf("seed %d: %s is listed as %q, the engine decides %s: %s", *seed+uint64(n), held[0], verdict, want, text(r))
			}
		}
	}
	if noticed == 0 || listed == 0 {
		t.Errorf("%d missing statements are noticed and %d subjects listed: the test proves too little", noticed, listed)
	}
}

// spare reports whether the request fits the class without one of its principals.
func spare(report *change.Report, k *change.Class, r map[string]any) bool {
	held := principals(r)
	return slices.ContainsFunc(held, func(p string) bool {
		return report.Fits(k, r, slices.DeleteFunc(slices.Clone(held), func(q string) bool { return p == q }))
	})
}

func outcome(t *testing.T, s *change.Side, r map[string]any) string {
	t.Helper()
	v, err := s.Judge(t.Context(), change.PointAccess, []byte(text(r)))
	if err != nil {
		t.Fatal(err)
	}
	return v.Outcome
}

func text(r map[string]any) string {
	out, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// Equal documents, and the same documents in another order, are equivalent.
func TestEqualDocumentsAreEquivalent(t *testing.T) {
	w := world{rand.New(rand.NewPCG(1, 1))}
	documents := w.documents()
	reversed := slices.Clone(documents)
	slices.Reverse(reversed)
	report, err := change.Diff(t.Context(), revision(t, documents), revision(t, reversed), change.Options{Now: time.Unix(0, 0)})
	if err != nil || !report.Equivalent {
		t.Errorf("got %v and %v, want an equivalent report", report, err)
	}
}
