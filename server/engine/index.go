package engine

import (
	"maps"
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/lower"
)

// shards is how many parts the widest level of the tree has, so that a changed
// binding copies a small level, not a wide one.
const shards = 256

// index expands the tables into the tree that rego/writ/access/indexed walks:
//
//	tree[shard][scope][subject] = {"kubernetes": [grant...], "origin": [grant...]}
//	grant = [binding, role, verbs, paths]
//
// scope is a namespace, or null for what reaches the whole cluster: a request
// can name any string as its namespace, but not null. Equal parts of the tree
// are one node, which is what keeps a large tree small; nodes are never changed
// after this.
func index(access *lower.Access) *ast.Term {
	b := builder{
		strings: make(map[string]*ast.Term),
		nodes:   make(map[string]*ast.Term),
		ids:     make(map[*ast.Term]int),
	}
	roles := make(map[string]roleNode, len(access.Roles))
	grants := make(map[string]*ast.Term, len(access.Bindings))
	for key, binding := range access.Bindings {
		role, ok := roles[binding.Role]
		if !ok {
			role = b.role(access.Roles[binding.Role])
			roles[binding.Role] = role
		}
		grants[key] = ast.ArrayTerm(b.binding(binding), role.role, role.verbs, role.paths)
	}
	levels := make([]map[string]map[string]*ast.Term, shards)
	place := func(scope, subject string, keys []string) {
		shard := shardOf(scope, subject)
		if levels[shard] == nil {
			levels[shard] = make(map[string]map[string]*ast.Term)
		}
		if levels[shard][scope] == nil {
			levels[shard][scope] = make(map[string]*ast.Term)
		}
		levels[shard][scope][subject] = b.held(access, keys, grants)
	}
	for subject, keys := range access.Subjects.Cluster {
		place(clusterScope, subject, keys)
	}
	for namespace, subjects := range access.Subjects.Namespaces {
		for subject, keys := range subjects {
			place(namespace, subject, keys)
		}
	}
	tree := make([]*ast.Term, shards)
	for shard := range tree {
		tree[shard] = b.shard(levels[shard])
	}
	return ast.ArrayTerm(tree...)
}

// clusterScope stands for the whole cluster among namespaces; no binding is in
// a namespace without a name.
const clusterScope = ""

// scopeTerm is the scope's key in the tree.
func (b *builder) scopeTerm(scope string) *ast.Term {
	if scope == clusterScope {
		return null
	}
	return b.text(scope)
}

// shardOf is FNV-1a over scope and subject.
func shardOf(scope, subject string) int {
	hash := uint32(2166136261)
	for i := range len(scope) {
		hash = (hash ^ uint32(scope[i])) * 16777619
	}
	hash = (hash ^ 0xff) * 16777619
	for i := range len(subject) {
		hash = (hash ^ uint32(subject[i])) * 16777619
	}
	return int(hash % shards)
}

// builder makes nodes, equal ones once.
type builder struct {
	strings map[string]*ast.Term
	nodes   map[string]*ast.Term
	ids     map[*ast.Term]int
}

// roleNode is what all grants of one role share.
type roleNode struct {
	role, verbs, paths *ast.Term
}

func (b *builder) text(s string) *ast.Term {
	if term, ok := b.strings[s]; ok {
		return term
	}
	term := ast.StringTerm(s)
	b.strings[s] = term
	return term
}

// null is one term, so that it is one key.
var null = ast.NullTerm()

// entry is the key of a rule's entry.
func (b *builder) entry(entry string) *ast.Term {
	if entry == all {
		return null
	}
	return b.text(entry)
}

// id numbers a shared node; two shared nodes are equal where their ids are.
func (b *builder) id(term *ast.Term) int {
	id, ok := b.ids[term]
	if !ok {
		id = len(b.ids)
		b.ids[term] = id
	}
	return id
}

// object makes an object of shared keys and values, or finds the one there is.
func (b *builder) object(entries map[*ast.Term]*ast.Term) *ast.Term {
	ids := make([][2]int, 0, len(entries))
	for key, value := range entries {
		ids = append(ids, [2]int{b.id(key), b.id(value)})
	}
	slices.SortFunc(ids, func(x, y [2]int) int { return x[0] - y[0] })
	name := []byte{'{'}
	for _, pair := range ids {
		name = strconv.AppendInt(name, int64(pair[0]), 36)
		name = append(name, ':')
		name = strconv.AppendInt(name, int64(pair[1]), 36)
		name = append(name, ',')
	}
	if term, ok := b.nodes[string(name)]; ok {
		return term
	}
	pairs := make([][2]*ast.Term, 0, len(entries))
	for key, value := range entries {
		pairs = append(pairs, [2]*ast.Term{key, value})
	}
	term := ast.ObjectTerm(pairs...)
	b.nodes[string(name)] = term
	return term
}

// numbers makes the list of rule numbers, or finds the one there is.
func (b *builder) numbers(rules []int) *ast.Term {
	name := []byte{'['}
	for _, rule := range rules {
		name = strconv.AppendInt(name, int64(rule), 36)
		name = append(name, ',')
	}
	if term, ok := b.nodes[string(name)]; ok {
		return term
	}
	terms := make([]*ast.Term, len(rules))
	for i, rule := range rules {
		terms[i] = ast.InternedTerm(rule)
	}
	term := ast.ArrayTerm(terms...)
	b.nodes[string(name)] = term
	return term
}

// pair is the key of a resource under one name.
func (b *builder) pair(resource, name string) *ast.Term {
	key := "(" + strconv.Itoa(len(resource)) + ":" + resource + name
	if term, ok := b.nodes[key]; ok {
		return term
	}
	term := ast.ArrayTerm(b.text(resource), b.text(name))
	b.nodes[key] = term
	return term
}

func (b *builder) shard(scopes map[string]map[string]*ast.Term) *ast.Term {
	pairs := make([][2]*ast.Term, 0, len(scopes))
	for scope, subjects := range scopes {
		inner := make([][2]*ast.Term, 0, len(subjects))
		for subject, held := range subjects {
			inner = append(inner, [2]*ast.Term{b.text(subject), held})
		}
		pairs = append(pairs, [2]*ast.Term{b.scopeTerm(scope), ast.ObjectTerm(inner...)})
	}
	return ast.ObjectTerm(pairs...)
}

// held is the grants of one subject in one scope, by family.
func (b *builder) held(access *lower.Access, keys []string, grants map[string]*ast.Term) *ast.Term {
	var kubernetes, origin []*ast.Term
	for _, key := range keys {
		if access.Bindings[key].Family == lower.FamilyOrigin {
			origin = append(origin, grants[key])
		} else {
			kubernetes = append(kubernetes, grants[key])
		}
	}
	var pairs [][2]*ast.Term
	if len(kubernetes) > 0 {
		pairs = append(pairs, [2]*ast.Term{b.text("kubernetes"), ast.ArrayTerm(kubernetes...)})
	}
	if len(origin) > 0 {
		pairs = append(pairs, [2]*ast.Term{b.text("origin"), ast.ArrayTerm(origin...)})
	}
	return ast.ObjectTerm(pairs...)
}

func (b *builder) binding(binding lower.Binding) *ast.Term {
	return ast.ObjectTerm(
		[2]*ast.Term{b.text("kind"), b.text(binding.Kind)},
		[2]*ast.Term{b.text("namespace"), b.text(binding.Namespace)},
		[2]*ast.Term{b.text("name"), b.text(binding.Name)},
		[2]*ast.Term{b.text("apiVersion"), b.text(binding.APIVersion)},
		[2]*ast.Term{b.text("cluster"), ast.InternedTerm(binding.Cluster)},
	)
}

// byEntry groups the rules of a list by the entries each has under it.
func byEntry(rules []int, entries func(rule int) []string) map[string][]int {
	groups := make(map[string][]int)
	for _, rule := range rules {
		for _, entry := range entries(rule) {
			if have := groups[entry]; len(have) == 0 || have[len(have)-1] != rule {
				groups[entry] = append(have, rule)
			}
		}
	}
	return groups
}

// level makes one level of the tree: each entry leads to what below makes of the
// rules under it. Entries over the same rules share what is below them.
func (b *builder) level(groups map[string][]int, below func(rules []int) *ast.Term) *ast.Term {
	made := make(map[*ast.Term]*ast.Term)
	entries := make(map[*ast.Term]*ast.Term, len(groups))
	for _, entry := range slices.Sorted(maps.Keys(groups)) {
		list := b.numbers(groups[entry])
		if made[list] == nil {
			made[list] = below(groups[entry])
		}
		entries[b.entry(entry)] = made[list]
	}
	return b.object(entries)
}
