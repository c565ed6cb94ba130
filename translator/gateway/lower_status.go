package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/tables"
)

// names is a set of rule keys or policies.
type names map[string]bool

func (n names) sorted() []string { return slices.Sorted(maps.Keys(n)) }

// policyStatus is the status of a policy over all paths. The zero value is that of a
// policy without a path.
type policyStatus struct {
	onPath bool
	lives  bool // one of its rules is in force on some path
	// accounted is whether a rule was in force or was replaced on some path.
	accounted bool
	lost      map[string]names // keys of lost rules, by the policies that replaced them
	by        names            // all policies that replaced rules
	added     map[string]names // keys of merged defaults, by the higher policy
	// wiped are the policies that removed its unset; kept is whether the unset stays
	// on some path.
	wiped names
	kept  bool
}

// computeStatus computes the status of all policies. Each distinct set of policies is
// counted once, because all its paths get the same result.
func (g *lowerer) computeStatus() {
	for _, f := range g.folded {
		if f.path != "" {
			f.computeStatus()
		}
	}
}

func (f *fold) computeStatus() {
	lost := make(map[string][]*tables.Replacement)
	for i := range f.effective.Replaced {
		r := &f.effective.Replaced[i]
		if r.How != byCondition {
			lost[r.Policy] = append(lost[r.Policy], r)
		}
	}
	var added []string // keys of merged defaults, in order
	for _, r := range f.effective.Rules {
		if b := f.rules[r.Key].block; b.Merge && b.Name == document.BlockDefaults {
			added = append(added, r.Key)
		}
	}
	higher := make(map[*inherited]bool, len(f.policies))
	for _, p := range f.policies {
		p.status.count(f, p, lost[p.locator], added, higher)
		higher[p] = true
	}
}

// count enters what becomes of a policy on the paths of one fold.
func (s *policyStatus) count(f *fold, p *inherited, lost []*tables.Replacement, added []string, higher map[*inherited]bool) {
	if !s.onPath {
		*s = policyStatus{onPath: true, lost: make(map[string]names), by: names{}, added: make(map[string]names), wiped: names{}}
	}
	lives := false
	for _, key := range p.keys {
		lives = lives || f.rules[key].policy == p
	}
	s.lives = s.lives || lives
	s.accounted = s.accounted || lives
	for _, r := range lost {
		s.accounted = true
		for _, by := range r.By {
			s.by[by] = true
		}
		if f.rules[r.Rule].policy != p {
			enterName(s.lost, joinNames(r.By), r.Rule)
		}
	}
	if by := f.wiped[p]; by != nil {
		s.wiped[by.locator] = true
	} else {
		s.kept = true
	}
	if !lives {
		return
	}
	for _, key := range added {
		if q := f.rules[key].policy; higher[q] {
			enterName(s.added, tables.BareName(q.locator), key)
		}
	}
}

func enterName(groups map[string]names, group, name string) {
	if groups[group] == nil {
		groups[group] = names{}
	}
	groups[group][name] = true
}

func joinNames(locators []string) string {
	out := elements.Map(locators, tables.BareName)
	return strings.Join(out, ", ")
}

// status is the conditions of a policy.
func (p *inherited) conditionList() []tables.GatewayCondition {
	kind, d := p.Document.Kind, p.Document
	accepted := tables.GatewayCondition{Type: tables.ConditionAccepted, Status: tables.StatusFalse, Reason: string(p.Rejected)}
	switch p.Rejected {
	case tables.Conflicted:
		accepted.Message = fmt.Sprintf("%s is conflicted by %s/%s", kind, d.Namespace, d.Name)
	case tables.TargetNotFound:
		accepted.Message = fmt.Sprintf("%s target %s was not found", kind, d.Target.Name.Value)
	case tables.Invalid:
		accepted.Message = kind + " is invalid"
	default:
		accepted = tables.GatewayCondition{Type: tables.ConditionAccepted, Status: tables.StatusTrue, Reason: tables.ReasonAccepted, Message: kind + " has been accepted"}
		return []tables.GatewayCondition{accepted, p.enforced()}
	}
	return []tables.GatewayCondition{accepted}
}

// enforced is the condition that states whether a policy has an effect.
func (p *inherited) enforced() tables.GatewayCondition {
	kind, s := p.Document.Kind, &p.status
	onlyUnsets := len(p.Document.Blocks) == 0
	by := s.by
	if onlyUnsets && !s.kept {
		by = s.wiped
	}
	switch {
	case !s.onPath:
		return tables.GatewayCondition{
			Type: tables.ConditionEnforced, Status: tables.StatusFalse, Reason: tables.ReasonUnknown,
			Message: kind + " has encountered some issues: it is not in the path to any existing route",
		}
	case onlyUnsets && !s.kept, s.accounted && !s.lives:
		return tables.GatewayCondition{
			Type: tables.ConditionEnforced, Status: tables.StatusFalse, Reason: tables.ReasonOverridden,
			Message: fmt.Sprintf("%s has been overridden by %s", kind, joinNames(by.sorted())),
		}
	}
	out := tables.GatewayCondition{
		Type: tables.ConditionEnforced, Status: tables.StatusTrue, Reason: tables.ReasonEnforced,
		Message: kind + " has been successfully enforced",
	}
	var parts []string
	if len(s.lost) > 0 {
		out.Reason = tables.ReasonPartiallyEnforced
		parts = nameParts("the following rules have been overridden by", s.lost)
	}
	parts = append(parts, nameParts("the following defaults have been added by", s.added)...)
	if len(parts) > 0 {
		out.Message += ". T" + strings.Join(parts, "; ")[1:]
	}
	return out
}

// nameParts returns one part of a message per group, with the names in it.
func nameParts(text string, groups map[string]names) []string {
	var parts []string
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		parts = append(parts, fmt.Sprintf("%s %s: %s", text, group, strings.Join(groups[group].sorted(), ", ")))
	}
	return parts
}
