package filters

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/lists"
	"github.com/writ-policy/writ/tests/ucast"
)

// placeNames are the namespaces and the names that lists are compared for.
var placeNames = append([]string{"kube-system", "kube-x", "web-1", "abc", "o", "a/x"}, hostile...)

// TestLists compares lists of namespaces with decisions on each namespace and name, with the
// labels of a cluster and with none that are known.
func TestLists(t *testing.T) {
	listed, missing, others, filtered := 0, 0, 0, 0
	for seed := range worlds(t, 6) {
		d := draw{rand.New(rand.NewPCG(uint64(seed), 2))}
		p, questions := accessCase(t, d, "u")
		asked := questions[0]["request"].(map[string]any)
		q := lists.Question{User: "u", Groups: asked["groups"].([]string), Verb: asked["verb"].(string), Resource: "pods"}
		space := new(lists.Space)
		for _, name := range slices.Sorted(slices.Values(placeNames)) {
			space.Namespaces = append(space.Namespaces, lists.Namespace{Name: name, Labels: pick(d, d.labels(), map[string]string{})})
		}
		for _, s := range []*lists.Space{space, nil} {
			l, err := lists.Make(t.Context(), p, q, s)
			if err != nil {
				t.Fatal(err)
			}
			items := map[string]*lists.Item{}
			for i := range l.Items {
				items[l.Items[i].Name] = &l.Items[i]
			}
			listed += len(l.Items)
			for _, n := range space.Namespaces {
				if s == nil {
					n.Labels = nil
				}
				item := items[n.Name]
				any := false
				for _, name := range append([]string{"", "writ.other-0"}, placeNames...) {
					want := allows(t, p, q, n, name)
					any = any || want
					if item == nil {
						continue
					}
					if got, ok := has(t, item, name); ok && got != want {
						t.Fatalf("seed %d: name %q in %q: got %t, want %t", seed, name, n.Name, got, want)
					} else if item.Names.List == nil && !item.Names.IsAny {
						filtered++
					}
				}
				switch {
				case s != nil && any != (item != nil):
					t.Fatalf("seed %d: %q is listed: %t, want %t", seed, n.Name, item != nil, any)
				case s == nil && item == nil:
					if got, ok := isOther(t, l, n.Name); ok && got != any {
						t.Fatalf("seed %d: %q is one of the others: %t, want %t", seed, n.Name, got, any)
					}
					others++
				}
				if !any {
					missing++
				}
			}
		}
	}
	if listed < 12 || missing < 50 || others < 25 || filtered < 25 {
		t.Errorf("only %d namespaces are listed, %d are not, %d are others, %d names have a filter", listed, missing, others, filtered)
	}
}

func allows(t *testing.T, p decision.Policies, q lists.Question, n lists.Namespace, name string) bool {
	r := &decision.Request{User: q.User, Groups: q.Groups, Verb: q.Verb, Resource: q.Resource, Namespace: n.Name, Name: name, NamespaceLabels: n.Labels}
	d := p.Access(t.Context(), r)
	if d.EvaluationError != "" {
		t.Fatal(d.EvaluationError)
	}
	return d.Allowed
}

// has reports whether an item has a name; ok is false if UCAST cannot say it.
func has(t *testing.T, item *lists.Item, name string) (has, ok bool) {
	switch {
	case item.Names.IsAny:
		return true, true
	case item.Names.List != nil:
		return slices.Contains(item.Names.List, name), true
	}
	n, err := item.Names.UCAST()
	if errors.As(err, new(*filter.UntranslatableError)) {
		return false, false
	}
	return holds(t, n, map[string]any{"name": name}), true
}

func isOther(t *testing.T, l *lists.List, namespace string) (is, ok bool) {
	switch {
	case l.Others.Untranslatable != nil:
		return false, false
	case l.Others.Query == nil:
		return l.Others.Kind == filter.Always, true
	}
	return holds(t, l.Others.Query, map[string]any{"namespace": namespace}), true
}

func holds(t *testing.T, of *filter.Node, row map[string]any) bool {
	var n ucast.Node
	text, _ := json.Marshal(of)
	if err := json.Unmarshal(text, &n); err != nil {
		t.Fatal(err)
	}
	return ucast.Evaluate(t, n, row, true) == 1
}
