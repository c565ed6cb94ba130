package lower

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/document"
)

// How a rule lost.
const (
	howCondition      = "condition"
	howUnset          = "unset"
	howAtomicDefault  = "atomic-default"
	howDefault        = "default"
	howAtomicOverride = "atomic-override"
	howOverride       = "override"
)

// fold is what the policies of a path come to, folded from the lowest to the highest.
type fold struct {
	kind     string
	policies []*inherited // highest first
	rules    map[string]held
	// unset holds, by rule key, the policies that unset it.
	unset    map[string][]*inherited
	replaced []loss
	// wiped holds the policies that took away the unsets of another.
	wiped map[*inherited][]*inherited
	// overridden are the policies whose atomic override applied.
	overridden map[*inherited]bool
}

// held is a rule in force by now.
type held struct {
	rule   *document.InheritedRule
	policy *inherited
	// merged says that it was merged in as a default.
	merged bool
}

// loss is a rule that lost, told at the moment it did.
type loss struct {
	rule   *document.InheritedRule
	policy *inherited
	how    string
	by     []*inherited
}

// fold folds policies, which stand highest first. name is the path, for messages.
func (g *gatewayLowerer) fold(kind string, policies []*inherited, name string) *fold {
	var key strings.Builder
	key.WriteString(kind)
	for _, p := range policies {
		key.WriteString("\x00" + p.locator)
	}
	if f, ok := g.folds[key.String()]; ok {
		return f
	}
	f := &fold{
		kind: kind, policies: policies, rules: make(map[string]held), unset: make(map[string][]*inherited),
		wiped: make(map[*inherited][]*inherited), overridden: make(map[*inherited]bool),
	}
	for _, p := range slices.Backward(policies) {
		took := len(p.Document.Blocks) == 0
		for i := range p.Document.Blocks {
			block := &p.Document.Blocks[i]
			if block.When != nil && !g.holds(f, p, block, name) {
				f.idles(p, block)
				continue
			}
			if block.Name == document.BlockOverrides {
				f.override(p, block)
				took = true
			} else if f.defaults(p, block) {
				took = true
			}
		}
		if took {
			for _, key := range p.Document.Unset {
				f.unset[key.Value] = append(f.unset[key.Value], p)
			}
		}
	}
	g.folds[key.String()] = f
	return f
}

// empty reports whether there is no rule but patterns and conditions, which do
// nothing by themselves.
func (f *fold) empty() bool {
	for key := range f.rules {
		if key != "when" && !strings.HasPrefix(key, "patterns.") {
			return false
		}
	}
	return true
}

func (f *fold) lose(rule *document.InheritedRule, policy *inherited, how string, by ...*inherited) {
	f.replaced = append(f.replaced, loss{rule, policy, how, by})
}

func (f *fold) idles(p *inherited, block *document.Block) {
	for i := range block.Rules {
		f.lose(&block.Rules[i], p, howCondition)
	}
}

// defaults applies defaults, or the bare set, and reports whether the policy had a
// say.
func (f *fold) defaults(p *inherited, block *document.Block) bool {
	var rest []*document.InheritedRule
	for i := range block.Rules {
		rule := &block.Rules[i]
		if by := f.unset[rule.Key]; by != nil {
			f.lose(rule, p, howUnset, by...)
			continue
		}
		rest = append(rest, rule)
	}
	switch {
	case f.empty():
		f.rules = make(map[string]held)
		for _, rule := range rest {
			f.rules[rule.Key] = held{rule, p, block.Merge}
		}
		return true
	case !block.Merge:
		sources := f.sources()
		for _, rule := range rest {
			f.lose(rule, p, howAtomicDefault, sources...)
		}
		return false
	}
	for _, rule := range rest {
		if lower, taken := f.rules[rule.Key]; taken {
			f.lose(rule, p, howDefault, lower.policy)
			continue
		}
		f.rules[rule.Key] = held{rule, p, true}
	}
	return true
}

// sources are the policies that have a rule in force.
func (f *fold) sources() []*inherited {
	seen := make(map[*inherited]bool)
	for _, h := range f.rules {
		seen[h.policy] = true
	}
	return slices.Collect(maps.Keys(seen))
}

func (f *fold) override(p *inherited, block *document.Block) {
	if !block.Merge {
		for _, key := range sortedKeys(f.rules) {
			h := f.rules[key]
			f.lose(h.rule, h.policy, howAtomicOverride, p)
		}
		for _, by := range f.unset {
			for _, q := range by {
				if !slices.Contains(f.wiped[q], p) {
					f.wiped[q] = append(f.wiped[q], p)
				}
			}
		}
		f.rules, f.unset = make(map[string]held), make(map[string][]*inherited)
		f.overridden[p] = true
	}
	for i := range block.Rules {
		rule := &block.Rules[i]
		if h, taken := f.rules[rule.Key]; taken {
			f.lose(h.rule, h.policy, howOverride, p)
		}
		f.rules[rule.Key] = held{rule, p, false}
	}
}

// holds decides a merge condition over what is folded by now. What fails otherwise
// than by a missing key is an error: to skip the block would let a lower policy out
// of a constraint by writing an odd value.
func (g *gatewayLowerer) holds(f *fold, p *inherited, block *document.Block, name string) bool {
	lowest := f.policies[len(f.policies)-1]
	condition, problem := cel.CompileMerge(block.When.Value)
	if problem != nil {
		return false // told where the document was read
	}
	holds, err := condition.Holds(f.self(p, lowest))
	if err != nil && !g.told[block.When.At] {
		g.told[block.When.At] = true
		lower := "no lower policy"
		if lowest != p {
			lower = lowest.locator
		}
		g.list.Add(diag.Diagnostic{
			Position: block.When.At, Code: diag.CEL,
			Message: fmt.Sprintf("the condition fails on the path %s over %s: %v", name, lower, err),
			Hint:    "guard it with has(), or compare what is of one type",
		})
	}
	return err == nil && holds
}

// self is the lower policy as merge conditions see it.
func (f *fold) self(p, lowest *inherited) map[string]any {
	self := map[string]any{"apiVersion": lowest.Document.APIVersion, "kind": f.kind}
	if p == lowest && len(f.rules) == 0 {
		self["metadata"] = map[string]any{"name": "", "namespace": ""}
		self["spec"] = map[string]any{}
		return self
	}
	d := lowest.Document
	self["metadata"] = map[string]any{"name": d.Name, "namespace": d.Namespace}
	values := make(map[string]any, len(f.rules))
	for key, h := range f.rules {
		values[key] = h.rule.Value
	}
	spec := Nested(values)
	target := map[string]any{"group": "gateway.networking.k8s.io", "kind": d.Target.Kind, "name": d.Target.Name.Value}
	if d.Target.Section.Value != "" {
		target["sectionName"] = d.Target.Section.Value
	}
	spec["targetRef"] = target
	self["spec"] = spec
	return self
}

// prefixes are the fixed parts of rule keys; what follows is a name, with dots in it
// perhaps.
var prefixes = []string{
	"rules.authentication.", "rules.metadata.", "rules.authorization.", "rules.callbacks.",
	"rules.response.success.headers.", "rules.response.success.filters.", "patterns.", "limits.",
}

// Nested writes flat rules in the form of a policy's spec.
func Nested(rules map[string]any) map[string]any {
	spec := make(map[string]any)
	for key, value := range rules {
		steps := strings.Split(key, ".")
		for _, prefix := range prefixes {
			if name, ok := strings.CutPrefix(key, prefix); ok {
				steps = append(strings.Split(strings.TrimSuffix(prefix, "."), "."), name)
				break
			}
		}
		at := spec
		for _, step := range steps[:len(steps)-1] {
			next, ok := at[step].(map[string]any)
			if !ok {
				next = make(map[string]any)
				at[step] = next
			}
			at = next
		}
		at[steps[len(steps)-1]] = value
	}
	return spec
}

// policy is the fold as the tables have it.
func (f *fold) policy() EffectivePolicy {
	out := EffectivePolicy{Kind: f.kind, Rules: []EffectiveRule{}, Policies: []string{}, Replaced: []Replacement{}}
	for _, key := range sortedKeys(f.rules) {
		h := f.rules[key]
		out.Rules = append(out.Rules, EffectiveRule{
			Key: key, Policy: h.policy.locator, Source: source(h.rule.At), Value: h.rule.Value, Meaning: h.rule.Meaning,
		})
	}
	for _, p := range f.policies {
		out.Policies = append(out.Policies, p.locator)
	}
	for _, l := range f.replaced {
		out.Replaced = append(out.Replaced, Replacement{
			Rule: l.rule.Key, Policy: l.policy.locator, How: l.how, By: locators(l.by), Source: source(l.rule.At),
		})
	}
	slices.SortStableFunc(out.Replaced, func(a, b Replacement) int {
		if c := strings.Compare(a.Policy, b.Policy); c != 0 {
			return c
		}
		return strings.Compare(a.Rule, b.Rule)
	})
	return out
}

func locators(policies []*inherited) []string {
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = p.locator
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// content is equal for folds that come to the same, with the same places.
func (f *fold) content() string {
	text, err := json.Marshal(f.policy())
	if err != nil {
		panic(err) // values were read from JSON or YAML
	}
	return string(text)
}
