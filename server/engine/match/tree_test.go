package match

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/translator/tables"
)

// drawAccess draws roles, bindings and subjects from few names, so that a later edit
// changes or removes what an earlier edit added.
func drawAccess(t *rapid.T) *tables.Access {
	names := []string{"a", "b", "c", "d"}
	roles, bindings := make(map[string]tables.Role), make(map[string]tables.Binding)
	for _, name := range names {
		roles[name] = tables.Role{Name: name, Source: rapid.SampledFrom(names).Draw(t, "line of the role")}
	}
	levels := map[string]map[string][]string{"": {}}
	for i := range rapid.IntRange(0, 6).Draw(t, "bindings") {
		key := fmt.Sprint("binding-", rapid.IntRange(0, 9).Draw(t, "number"))
		if _, taken := bindings[key]; taken {
			continue
		}
		bindings[key] = tables.Binding{Name: key, Role: rapid.SampledFrom(names).Draw(t, "role"), Source: fmt.Sprint(i)}
		namespace := rapid.SampledFrom([]string{"", "hammer", "anvil"}).Draw(t, "namespace")
		if levels[namespace] == nil {
			levels[namespace] = make(map[string][]string)
		}
		for _, subject := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"user:a", "user:b", "group:a", "group:b"}), rapid.ID).Draw(t, "subjects") {
			levels[namespace][subject] = append(levels[namespace][subject], key)
		}
	}
	access := &tables.Access{
		Roles: tables.MapOf(roles), Bindings: tables.MapOf(bindings),
		Subjects: tables.Subjects{Cluster: tables.MapOf(levels[""])},
	}
	namespaces := make(map[string]tables.Map[[]string])
	for namespace, subjects := range levels {
		if namespace != "" && len(subjects) > 0 {
			namespaces[namespace] = tables.MapOf(subjects)
		}
	}
	access.Subjects.Namespaces = tables.MapOf(namespaces)
	return access
}

// editTable returns the table to, sharing equal values with from, as lowering does.
func editTable[V any](from, to tables.Map[V]) tables.Map[V] {
	changes := make(map[string]*V)
	for key := range from.All() {
		changes[key] = nil
	}
	maps.Insert(changes, to.All())
	return from.With(changes)
}

// describeTree returns the content of a tree with all pointers followed.
func describeTree(t *Tree) map[boundSubject][]string {
	out := make(map[boundSubject][]string)
	for _, shard := range t.bySubject {
		for h, bySubject := range shard {
			for _, g := range bySubject {
				out[h] = append(out[h], fmt.Sprint(*g.binding, *g.role))
			}
			slices.Sort(out[h])
		}
	}
	return out
}

func TestIncrementalTreeEqualsFullTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var last *Tree
		access := new(tables.Access)
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			next := drawAccess(t)
			access = &tables.Access{
				Roles: editTable(access.Roles, next.Roles), Bindings: editTable(access.Bindings, next.Bindings),
				Subjects: tables.Subjects{
					Cluster:    editTable(access.Subjects.Cluster, next.Subjects.Cluster),
					Namespaces: editTable(access.Subjects.Namespaces, next.Subjects.Namespaces),
				},
			}
			if rapid.Bool().Draw(t, "read from a bundle") { // and so shares nothing
				access = next
			}
			before := describeTree(orEmpty(last))
			grown := Build(access, last)
			if got, want := describeTree(grown), describeTree(Build(next, nil)); !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %v\nwant %v", got, want)
			}
			if got := describeTree(orEmpty(last)); !reflect.DeepEqual(got, before) {
				t.Fatalf("the tree before has changed: got %v, want %v", got, before)
			}
			last = grown
		}
	})
}

// A binding or a role that a table names and does not have grants nothing, as in Rego.
func TestMissingRowsGrantNothing(t *testing.T) {
	access := &tables.Access{
		Roles:    tables.MapOf(map[string]tables.Role{"r": {Name: "r"}}),
		Bindings: tables.MapOf(map[string]tables.Binding{"whole": {Role: "r"}, "no role": {Role: "none"}}),
		Subjects: tables.Subjects{Cluster: tables.MapOf(map[string][]string{"user:a": {"missing", "no role", "whole"}})},
	}
	if got := describeTree(Build(access, nil))[boundSubject{name: "a"}]; len(got) != 1 {
		t.Errorf("got the grants %v, want one", got)
	}
}

func orEmpty(t *Tree) *Tree {
	if t == nil {
		return new(Tree)
	}
	return t
}

// The subjects of a tree are those that its grants are found by, whatever trees were
// before, and soon no others.
func TestSubjectsFollowGrants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree *Tree
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			tree = Build(drawAccess(t), tree)
		}
		count := 0
		for _, shard := range tree.bySubject {
			for h, grants := range shard {
				var want tables.Reads
				for _, g := range grants {
					want |= g.role.Reads()
				}
				reads, isClusterWide, isLocal := tree.Subject(h.namespace, h.group, h.name)
				if h.namespace == "" && !isClusterWide || h.namespace != "" && !isLocal || reads&want != want {
					t.Fatalf("%+v: got %v, %v, %v, want what its grants read, %v", h, reads, isClusterWide, isLocal, want)
				}
				count++
			}
		}
		if s := tree.subjects; s.used > count+s.stale || s.stale > s.used/2 {
			t.Fatalf("got %d entries, %d of them stale, for %d subjects", s.used, s.stale, count)
		}
	})
}

// Subjects that differ in one part have entries of their own, in tables of any size.
func TestSubjectsDiffer(t *testing.T) {
	s := new(subjects)
	for i := range 5000 {
		s.add(boundSubject{fmt.Sprint("n", i%7), i%2 == 0, fmt.Sprint("s", i)}.hash(), tables.Reads(i%4))
	}
	for i := range 5000 {
		reads, found := s.find(boundSubject{fmt.Sprint("n", i%7), i%2 == 0, fmt.Sprint("s", i)}.hash())
		if !found || reads != tables.Reads(i%4) {
			t.Fatalf("%d: got %v and %v", i, reads, found)
		}
		for _, other := range []boundSubject{
			{fmt.Sprint("n", i%7), i%2 != 0, fmt.Sprint("s", i)}, {"", i%2 == 0, fmt.Sprint("s", i)},
			{"n8", i%2 == 0, fmt.Sprint("s", i)}, {fmt.Sprint("n", i%7), i%2 == 0, fmt.Sprint("t", i)},
		} {
			if _, found := s.find(other.hash()); found {
				t.Fatalf("%+v is found", other)
			}
		}
	}
	if s.used != 5000 || len(s.entries) != 16384 {
		t.Errorf("got %d entries in %d places", s.used, len(s.entries))
	}
}
