package gateway

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/tables"
)

// inherited is a policy while it is lowered.
type inherited struct {
	resolvedPolicy
	locator string
	level   int
	target  string
	// declares has, for each rule key, the blocks that declare it; keys are sorted.
	declares map[string]declaration
	keys     []string
	// conditions are the compiled merge conditions of blocks, filled on demand.
	conditions map[*document.Block]*cel.Merge
	// status is the status over all paths.
	status policyStatus
}

// declaration is which blocks of a policy declare a rule.
type declaration struct{ byDefault, override bool }

// place is what a policy can be attached to: a gateway or a route, or a section of
// it.
type place struct {
	gateway *document.Gateway
	route   *document.Route
	section int
	kind    string // of the policy
}

// stack is the policies of a kind at one place, highest first. Numbers begin at 1.
type stack struct {
	number   int
	policies []*inherited
}

// foldKey tells sets of policies apart: by kind, the stacks' numbers at gateway,
// listener, route and rule, zero where nothing is attached.
type foldKey struct {
	kind   string
	stacks [4]int
}

// attach puts the accepted policies where they are attached.
func (g *lowerer) attach(policies []resolvedPolicy) {
	for i := range policies {
		p := newInherited(policies[i])
		g.policies = append(g.policies, p)
	}
	slices.SortStableFunc(g.policies, func(a, b *inherited) int {
		return cmp.Or(cmp.Compare(a.Document.Kind, b.Document.Kind), compareNames(&a.Document.Header, &b.Document.Header))
	})
	for _, p := range g.policies {
		if p.Rejected != "" {
			g.partial = true // a rejected policy must not cause warnings
		}
		if p.Gateway == nil && p.Route == nil || p.Rejected == tables.Conflicted || p.Rejected == tables.TargetNotFound {
			continue
		}
		at := place{p.Gateway, p.Route, p.Section, p.Document.Kind}
		s := g.attached[at]
		if s == nil {
			s = &stack{number: len(g.attached) + 1}
			g.attached[at] = s
		}
		s.policies = append(s.policies, p)
	}
	for _, s := range g.attached {
		// The policies are sorted by name; a stable sort keeps that order within an age.
		slices.SortStableFunc(s.policies, func(a, b *inherited) int {
			return compareAges(a.Document.Created, b.Document.Created)
		})
	}
}

func newInherited(p resolvedPolicy) *inherited {
	d := p.Document
	out := &inherited{
		resolvedPolicy: p,
		locator:        tables.Locator(d.Kind, d.Namespace, d.Name),
		target:         tables.TargetName(d.Target.Kind, d.Namespace, d.Target.Name.Value, d.Target.Section.Value),
		declares:       make(map[string]declaration),
	}
	if d.Target.Kind != tables.KindGateway {
		out.level = 2
	}
	if d.Target.Section.Value != "" {
		out.level++
	}
	for i := range d.Blocks {
		for j := range d.Blocks[i].Rules {
			key := d.Blocks[i].Rules[j].Key
			declared, known := out.declares[key]
			if !known {
				out.keys = append(out.keys, key)
			}
			if d.Blocks[i].Name == document.BlockOverrides {
				declared.override = true
			} else {
				declared.byDefault = true
			}
			out.declares[key] = declared
		}
	}
	slices.Sort(out.keys)
	return out
}

// effective returns, by kind, the index of the fold of the policies attached to
// places, highest first.
func (g *lowerer) effective(places ...place) map[string]int {
	out := make(map[string]int, len(tables.GatewayKinds))
	for _, kind := range tables.GatewayKinds {
		key := foldKey{kind: kind}
		for i, at := range places {
			at.kind = kind
			if s := g.attached[at]; s != nil {
				key.stacks[i] = s.number
			}
		}
		index, known := g.folds[key]
		if !known {
			var policies []*inherited
			for _, at := range places {
				at.kind = kind
				if s := g.attached[at]; s != nil {
					policies = append(policies, s.policies...)
				}
			}
			index = len(g.folded)
			g.folds[key] = index
			f := foldPolicies(kind, policies)
			g.folded = append(g.folded, f)
			g.size += len(f.effective.Rules) + len(f.effective.Replaced)
		}
		out[kind] = index
	}
	return out
}

// policyTables are all policies with their conditions.
func (g *lowerer) policyTables() []tables.GatewayPolicy {
	out := make([]tables.GatewayPolicy, len(g.policies))
	for i, p := range g.policies {
		d := p.Document
		out[i] = tables.GatewayPolicy{
			Kind: d.Kind, Namespace: d.Namespace, Name: d.Name,
			Target: p.target, Level: p.level, Source: d.At.Source(),
			Conditions: p.conditionList(),
			Blocks:     make([]tables.GatewayBlock, len(d.Blocks)),
		}
		for j, b := range d.Blocks {
			out[i].Blocks[j] = tables.GatewayBlock{Block: b.Name, Strategy: strategy(&b)}
		}
		for _, key := range d.Unset {
			out[i].Unset = append(out[i].Unset, key.Value)
		}
	}
	return out
}

func strategy(b *document.Block) string {
	if b.Merge {
		return "merge"
	}
	return "atomic"
}

// isEmpty reports whether a rule key gives no rule by itself: patterns and
// conditions only say something about others.
func isEmpty(key string) bool { return key == "when" || strings.HasPrefix(key, "patterns.") }

const groupGateway = "gateway.networking.k8s.io"

// holds reports whether the merge condition of a block is true of what has been
// folded by now. One that fails does not, and is recorded: it is an error if
// there is such a path.
func (s *state) holds(p *inherited, b *document.Block, ownDefaults bool) bool {
	condition := p.condition(b)
	if condition == nil {
		return false // its text is invalid, which is reported where it was read
	}
	holds, err := condition.Holds(s.self(ownDefaults))
	if err != nil {
		s.failures = append(s.failures, failure{p, b, err})
		return false
	}
	return holds
}

// condition is a block's merge condition; nil where its text has mistakes.
func (p *inherited) condition(b *document.Block) *cel.Merge {
	if compiled, ok := p.conditions[b]; ok {
		return compiled
	}
	compiled, _ := cel.CompileMerge(b.When.Value)
	if p.conditions == nil {
		p.conditions = make(map[*document.Block]*cel.Merge)
	}
	p.conditions[b] = compiled
	return compiled
}

// self is the lower policy as merge conditions see it: the rules folded by now under
// the name and target of the lowest policy. Where nothing is lower, not even defaults
// of the policy itself, it has no name and an empty spec.
func (s *state) self(ownDefaults bool) map[string]any {
	spec := make(map[string]any)
	metadata := map[string]any{"name": "", "namespace": ""}
	if s.lower > 0 || ownDefaults {
		lowest := s.policies[len(s.policies)-1].Document
		metadata["name"], metadata["namespace"] = lowest.Name, lowest.Namespace
		target := map[string]any{"group": groupGateway, "kind": lowest.Target.Kind, "name": lowest.Target.Name.Value}
		if section := lowest.Target.Section.Value; section != "" {
			target["sectionName"] = section
		}
		spec["targetRef"] = target
	}
	for key, h := range s.rules {
		tables.Nest(spec, key, h.rule.Value)
	}
	return map[string]any{"apiVersion": tables.PolicyVersion(s.kind), "kind": s.kind, "metadata": metadata, "spec": spec}
}
