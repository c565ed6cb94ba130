package engine

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/lower"
)

func (b *builder) role(role lower.Role) roleNode {
	node := roleNode{paths: b.object(nil)}
	var rows []*ast.Term
	if role.Family == lower.FamilyOrigin {
		rows = b.originRows(role.Origin)
		node.verbs = b.originVerbs(role.Origin)
	} else {
		rows = b.kubernetesRows(role.Kubernetes)
		node.verbs = b.kubernetesVerbs(role.Kubernetes)
		node.paths = b.kubernetesPaths(role.Kubernetes)
	}
	node.role = ast.ObjectTerm(
		[2]*ast.Term{b.text("kind"), b.text(role.Kind)},
		[2]*ast.Term{b.text("namespace"), b.text(role.Namespace)},
		[2]*ast.Term{b.text("name"), b.text(role.Name)},
		[2]*ast.Term{b.text("rules"), ast.ArrayTerm(rows...)},
	)
	return node
}

// row is what every rule says once it is found.
func (b *builder) row(number int, source string, more ...[2]*ast.Term) *ast.Term {
	return ast.ObjectTerm(append([][2]*ast.Term{
		{b.text("rule"), ast.InternedTerm(number)},
		{b.text("source"), b.text(source)},
	}, more...)...)
}

func (b *builder) kubernetesRows(rules []lower.KubernetesRule) []*ast.Term {
	rows := make([]*ast.Term, len(rules))
	for i, rule := range rules {
		rows[i] = b.row(rule.Rule, rule.Source)
	}
	return rows
}

// kubernetesVerbs is the levels verb, group and resource. A rule with names is
// found under the pair of resource and name instead of the resource.
func (b *builder) kubernetesVerbs(rules []lower.KubernetesRule) *ast.Term {
	var about []int
	for i, rule := range rules {
		if len(rule.Paths) == 0 {
			about = append(about, i)
		}
	}
	resources := func(under []int) *ast.Term {
		lists := make(map[*ast.Term][]int)
		for _, i := range under {
			for _, key := range b.resourceKeys(rules[i]) {
				if !slices.Contains(lists[key], i) {
					lists[key] = append(lists[key], i)
				}
			}
		}
		entries := make(map[*ast.Term]*ast.Term, len(lists))
		for key, list := range lists {
			entries[key] = b.numbers(list)
		}
		return b.object(entries)
	}
	groups := func(under []int) *ast.Term {
		return b.level(byEntry(under, func(i int) []string { return rules[i].Groups }), resources)
	}
	return b.level(byEntry(about, func(i int) []string { return rules[i].Verbs }), groups)
}

func (b *builder) resourceKeys(rule lower.KubernetesRule) []*ast.Term {
	var keys []*ast.Term
	for _, resource := range rule.Resources {
		if len(rule.Names) == 0 {
			keys = append(keys, b.text(resource))
		}
		for _, name := range rule.Names {
			keys = append(keys, b.pair(resource, name))
		}
	}
	return keys
}

// kubernetesPaths is, for each verb, the list of [pattern, rule].
func (b *builder) kubernetesPaths(rules []lower.KubernetesRule) *ast.Term {
	var about []int
	for i, rule := range rules {
		if len(rule.Paths) > 0 {
			about = append(about, i)
		}
	}
	patterns := func(under []int) *ast.Term {
		var list []*ast.Term
		for _, i := range under {
			for _, path := range rules[i].Paths {
				list = append(list, ast.ArrayTerm(b.text(path), ast.InternedTerm(i)))
			}
		}
		return ast.ArrayTerm(list...)
	}
	return b.level(byEntry(about, func(i int) []string { return rules[i].Verbs }), patterns)
}

func (b *builder) originRows(rules []lower.OriginRule) []*ast.Term {
	rows := make([]*ast.Term, len(rules))
	for i, rule := range rules {
		var more [][2]*ast.Term
		if rule.Deny {
			more = append(more, [2]*ast.Term{b.text("deny"), ast.InternedTerm(true)})
		}
		if len(rule.NotVerbs) > 0 {
			more = append(more, [2]*ast.Term{b.text("notVerbs"), b.set(rule.NotVerbs)})
		}
		if len(rule.NotKinds) > 0 {
			more = append(more, [2]*ast.Term{b.text("notKinds"), b.set(rule.NotKinds)})
		}
		if rule.Restrictions != nil {
			more = append(more, [2]*ast.Term{b.text("restrictions"), restrictions(rule.Restrictions)})
		}
		rows[i] = b.row(rule.Rule, rule.Source, more...)
	}
	return rows
}

func (b *builder) set(entries []string) *ast.Term {
	terms := make([]*ast.Term, len(entries))
	for i, entry := range entries {
		terms[i] = b.text(entry)
	}
	return ast.SetTerm(terms...)
}

// restrictions are the same object as in the compact tables.
func restrictions(r *lower.Restrictions) *ast.Term {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // they came out of JSON or YAML
	}
	value, err := ast.ValueFromReader(bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	return ast.NewTerm(value)
}

// all stands for the key that a request for "*" looks up: rules that cover the
// whole, or, to deny, that touch it. In the tree it is null, which no request's
// verb or resource can be; among entries it is empty, which none of them is.
const all = ""

// originVerbs is the levels verb and kind, by the positive entries. What they
// negate is looked at afterwards, in the row.
func (b *builder) originVerbs(rules []lower.OriginRule) *ast.Term {
	numbers := make([]int, len(rules))
	for i := range rules {
		numbers[i] = i
	}
	kinds := func(under []int) *ast.Term {
		return b.level(byEntry(under, func(i int) []string {
			return withAll(rules[i].Kinds, rules[i].NotKinds, rules[i].Deny)
		}), b.numbers)
	}
	return b.level(byEntry(numbers, func(i int) []string {
		return withAll(rules[i].Verbs, rules[i].NotVerbs, rules[i].Deny)
	}), kinds)
}

// withAll is the entries a rule is found under.
func withAll(positive, negative []string, deny bool) []string {
	switch {
	case len(positive) == 0 || slices.Contains(negative, "*"):
		return nil
	case deny || slices.Contains(positive, "*") && len(negative) == 0:
		return append(slices.Clone(positive), all)
	}
	return positive
}
