package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/document"
)

// fate is what becomes of a policy over all paths it is on.
type fate struct {
	paths int
	// counted are its rules that are in account somewhere, lives those that are in
	// force somewhere, and missing those that are in account on some path and not in
	// force there.
	counted, lives, missing map[string]bool
	// lost holds its lost rules by who took them, as messages name them.
	lost map[string]map[string]bool
	// takers are all who took a rule of it, with or without one left.
	takers map[string]bool
	// added holds what merged defaults of higher policies stand beside its rules, by
	// policy.
	added map[string]map[string]bool
	// wiped counts the paths on which its unsets were taken away, by wipers.
	wiped  int
	wipers map[string]bool
	// higher are the policies that stand above it on some path.
	higher map[*inherited]bool
	// shadows says that its atomic override applied somewhere.
	shadows bool
}

func newFate() fate {
	return fate{
		counted: make(map[string]bool), lives: make(map[string]bool), missing: make(map[string]bool),
		lost: make(map[string]map[string]bool), takers: make(map[string]bool),
		added: make(map[string]map[string]bool), wipers: make(map[string]bool),
		higher: make(map[*inherited]bool),
	}
}

// onPath adds up, for each policy of the fold, what became of it on one more path.
func (f *fold) onPath() {
	for i, p := range f.policies {
		p.paths++
		for _, q := range f.policies[:i] {
			p.higher[q] = true
		}
		lives := f.livesOf(p)
		for key := range lives {
			p.lives[key] = true
		}
		f.account(p, lives)
		f.losses(p, lives)
		if len(lives) > 0 {
			f.addedTo(p, f.policies[:i])
		}
		if by := f.wiped[p]; len(by) > 0 {
			p.wiped++
			for _, q := range by {
				p.wipers[fullName(q)] = true
			}
		}
		p.shadows = p.shadows || f.overridden[p]
	}
}

func (f *fold) livesOf(p *inherited) map[string]bool {
	lives := make(map[string]bool)
	for key, h := range f.rules {
		if h.policy == p {
			lives[key] = true
		}
	}
	return lives
}

// account notes which rules count on this path: those of blocks that apply, and
// those in force.
func (f *fold) account(p *inherited, lives map[string]bool) {
	count := func(key string) {
		p.counted[key] = true
		if !lives[key] {
			p.missing[key] = true
		}
	}
	idle := make(map[*document.InheritedRule]bool)
	for _, l := range f.replaced {
		if l.policy == p && l.how == howCondition {
			idle[l.rule] = true
		}
	}
	for i := range p.Document.Blocks {
		for j := range p.Document.Blocks[i].Rules {
			rule := &p.Document.Blocks[i].Rules[j]
			if !idle[rule] || lives[rule.Key] {
				count(rule.Key)
			}
		}
	}
}

func (f *fold) losses(p *inherited, lives map[string]bool) {
	for _, l := range f.replaced {
		if l.policy != p || l.how == howCondition {
			continue
		}
		var names []string
		for _, q := range l.by {
			names = append(names, fullName(q))
		}
		slices.Sort(names)
		names = slices.Compact(names)
		for _, name := range names {
			p.takers[name] = true
		}
		if !lives[l.rule.Key] {
			add(p.lost, strings.Join(names, ", "), l.rule.Key)
		}
	}
}

// addedTo notes the merged defaults of higher policies that are in force beside a
// rule of p.
func (f *fold) addedTo(p *inherited, higher []*inherited) {
	for key, h := range f.rules {
		if h.merged && h.policy != p && slices.Contains(higher, h.policy) {
			add(p.added, fullName(h.policy), key)
		}
	}
}

func add(groups map[string]map[string]bool, group, key string) {
	if groups[group] == nil {
		groups[group] = make(map[string]bool)
	}
	groups[group][key] = true
}

func fullName(p *inherited) string { return p.Document.Namespace + "/" + p.Document.Name }

// conditions are the policy's Accepted and Enforced.
func (p *inherited) conditions() []GatewayCondition {
	return []GatewayCondition{
		{"Accepted", "True", "Accepted", p.Document.Kind + " has been accepted"},
		p.enforced(),
	}
}

func (p *inherited) enforced() GatewayCondition {
	kind := p.Document.Kind
	overridden := func(by map[string]bool) GatewayCondition {
		return GatewayCondition{"Enforced", "False", "Overridden", kind + " has been overridden by " + strings.Join(sortedKeys(by), ", ")}
	}
	success := kind + " has been successfully enforced"
	switch {
	case p.paths == 0:
		return GatewayCondition{"Enforced", "False", "Unknown", kind + " has encountered some issues: it is not in the path to any existing route"}
	case len(p.counted) == 0:
		if len(p.Document.Blocks) == 0 && p.wiped == p.paths {
			return overridden(p.wipers)
		}
		return GatewayCondition{"Enforced", "True", "Enforced", success}
	case len(p.lives) == 0:
		return overridden(p.takers)
	case len(p.missing) == 0:
		return GatewayCondition{"Enforced", "True", "Enforced", sentence(success, p.addedParts())}
	}
	var parts []string
	for _, by := range sortedKeys(p.lost) {
		parts = append(parts, fmt.Sprintf("the following rules have been overridden by %s: %s", by, strings.Join(sortedKeys(p.lost[by]), ", ")))
	}
	return GatewayCondition{"Enforced", "True", "PartiallyEnforced", sentence(success, append(parts, p.addedParts()...))}
}

func (p *inherited) addedParts() []string {
	var parts []string
	for _, by := range sortedKeys(p.added) {
		parts = append(parts, fmt.Sprintf("the following defaults have been added by %s: %s", by, strings.Join(sortedKeys(p.added[by]), ", ")))
	}
	return parts
}

// sentence joins parts behind a sentence, the first with a capital letter.
func sentence(text string, parts []string) string {
	if len(parts) == 0 {
		return text
	}
	joined := strings.Join(parts, "; ")
	return text + ". " + strings.ToUpper(joined[:1]) + joined[1:]
}

// warn tells of what a policy says without effect.
func (g *gatewayLowerer) warn(p *inherited, conditions []GatewayCondition) {
	d := p.Document
	if enforced := conditions[1]; enforced.Status == "False" {
		g.list.Add(diag.Diagnostic{
			Position: d.NameAt, Length: len([]rune(d.Name)), Severity: diag.Warning, Code: diag.Overridden,
			Message: enforced.Message, Hint: "ask writ effective which rules took the place of its own",
		})
	}
	g.warnShadowed(p)
	if p.paths > 0 {
		g.warnUnset(p)
	}
}

// warnShadowed tells of own defaults that an own atomic override took away on some
// path. Where that has no condition it was told when the document was read.
func (g *gatewayLowerer) warnShadowed(p *inherited) {
	blocks := p.Document.Blocks
	if len(blocks) != 2 || blocks[1].When == nil || !p.shadows {
		return
	}
	g.list.Add(diag.Diagnostic{
		Position: blocks[0].At, Length: len([]rune(blocks[0].Name)), Severity: diag.Warning, Code: diag.OwnDefaultsShadowed,
		Message: "the policy's own atomic override takes these defaults away",
		Hint:    "write strategy: merge under overrides, or remove the defaults",
	})
}

// warnUnset tells of entries that unset nothing on any path.
func (g *gatewayLowerer) warnUnset(p *inherited) {
	if len(p.Document.Unset) == 0 {
		return
	}
	defaults, overrides := make(map[string]bool), make(map[string]bool)
	for q := range p.higher {
		for i := range q.Document.Blocks {
			block := &q.Document.Blocks[i]
			declared := defaults
			if block.Name == document.BlockOverrides {
				declared = overrides
			}
			for j := range block.Rules {
				declared[block.Rules[j].Key] = true
			}
		}
	}
	for _, key := range p.Document.Unset {
		d := diag.Diagnostic{Position: key.At, Length: len([]rune(key.Value)), Severity: diag.Warning}
		switch {
		case defaults[key.Value]:
			continue
		case overrides[key.Value]:
			d.Code, d.Message = diag.UnsetOverride, fmt.Sprintf("%s is an override above, which cannot be unset", key.Value)
		default:
			d.Code, d.Message = diag.UnsetNothing, fmt.Sprintf("no higher policy declares %s", key.Value)
		}
		d.Hint = "remove the entry"
		g.list.Add(d)
	}
}
