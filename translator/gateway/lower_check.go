package gateway

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/tables"
)

// checks reports what only shows in effective policies, and works out what became
// of each policy.
func (g *lowerer) checks() {
	g.failures()
	g.patternRefs()
	g.computeStatus()
	if g.partial {
		return
	}
	above := make(map[*inherited]map[string]declaration)
	for _, f := range g.folded {
		if f.path != "" {
			f.declaredAbove(above)
		}
	}
	if !g.tooMany {
		g.conflicts()
	}
	for _, p := range g.policies {
		g.unsets(p, above[p])
		g.withoutEffect(p)
	}
}

// failures reports merge conditions that fail, each once. Paths of policies with
// mistakes are skipped: their conditions may fail because of the mistakes.
func (g *lowerer) failures() {
	reported := make(map[*document.Block]bool)
	for _, f := range g.folded {
		if f.path == "" || slices.ContainsFunc(f.policies, func(p *inherited) bool { return p.Document.Mistaken }) {
			continue
		}
		for _, failed := range f.failures {
			if reported[failed.block] {
				continue
			}
			reported[failed.block] = true
			failed.policy.reject()
			g.list.Add(diag.Diagnostic{
				Position: failed.block.When.At,
				Code:     diag.CEL,
				Message: fmt.Sprintf("when, merging on path %s with the lower policy %s: %v",
					f.path, f.policies[len(f.policies)-1].locator, failed.err),
				Hint: "write a condition that has a value for every lower policy",
			})
		}
	}
}

// reject marks a policy with an error. The directory compiles to nothing then.
func (p *inherited) reject() {
	p.Rejected = cmp.Or(p.Rejected, tables.Invalid)
}

// patternRefs reports references that the effective policy of some path cannot
// resolve, each once.
func (g *lowerer) patternRefs() {
	reported := make(map[diag.Position]bool)
	for _, f := range g.folded {
		if f.path == "" {
			continue
		}
		for _, rule := range f.effective.Rules {
			h := f.rules[rule.Key]
			for _, ref := range h.rule.PatternRefs {
				if _, ok := f.rules["patterns."+ref.Value]; ok || reported[ref.At] {
					continue
				}
				reported[ref.At] = true
				h.policy.reject()
				g.list.Add(ref.Diagnostic(diag.Error, diag.PatternRef, f.patternHint(ref.Value, h),
					"patternRef %q is not a pattern of the effective policy of path %s", ref.Value, f.path))
			}
		}
	}
}

// patternHint says what to write for a pattern that is not there.
func (f *fold) patternHint(name string, user held) string {
	var known []string
	for _, rule := range f.effective.Rules {
		if path := tables.RulePath(rule.Key); path[0] == "patterns" {
			known = append(known, path[1])
		}
	}
	hint := "add it to the patterns of the block that the rule is in"
	if _, declared := user.policy.declares["patterns."+name]; declared {
		hint = "the policy has such a pattern, which is replaced or in another block: carry it in the rule's own block"
	}
	return diag.Meant(name, known, hint)
}

// declaredAbove enters, for each policy, which rules higher ones declare.
func (f *fold) declaredAbove(above map[*inherited]map[string]declaration) {
	for i, p := range f.policies {
		if len(p.Document.Unset) == 0 {
			continue
		}
		if above[p] == nil {
			above[p] = make(map[string]declaration)
		}
		for _, key := range p.Document.Unset {
			declared := above[p][key.Value]
			for _, higher := range f.policies[:i] {
				one := higher.declares[key.Value]
				declared.byDefault = declared.byDefault || one.byDefault
				declared.override = declared.override || one.override
			}
			above[p][key.Value] = declared
		}
	}
}

// unsets warns of entries of unset that take nothing away on any path.
func (g *lowerer) unsets(p *inherited, above map[string]declaration) {
	if !p.status.onPath {
		return
	}
	for _, key := range p.Document.Unset {
		declared := above[key.Value]
		switch {
		case declared.byDefault:
		case declared.override:
			g.list.Add(key.Diagnostic(diag.Warning, diag.UnsetOverride, "leave it out: only the policy above can change an override",
				"%s cannot be unset: above, it is an override", key.Value))
		default:
			g.list.Add(key.Diagnostic(diag.Warning, diag.UnsetNothing, "check how the key is spelt above, or leave it out",
				"unset of %s has no effect: no higher policy declares it", key.Value))
		}
	}
}

// withoutEffect warns of a policy that does nothing.
func (g *lowerer) withoutEffect(p *inherited) {
	if p.Rejected != "" {
		return
	}
	enforced := p.enforced()
	if enforced.Status == tables.StatusTrue {
		return
	}
	hint := "remove it, or see `writ effective` for what replaced its rules"
	if enforced.Reason == tables.ReasonUnknown {
		hint = "attach a route to its target, or remove it"
	}
	g.list.Add(diag.Diagnostic{
		Position: p.Document.At,
		Severity: diag.Warning,
		Code:     diag.Overridden,
		Message:  fmt.Sprintf("%s (%s/%s)", enforced.Message, p.Document.Namespace, p.Document.Name),
		Hint:     hint,
	})
}
