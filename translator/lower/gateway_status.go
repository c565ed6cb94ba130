package lower

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/document"
	"github.com/writ-policy/writ/translator/resolve"
)

// The words of a policy's conditions.
const (
	conditionAccepted = "Accepted"
	conditionEnforced = "Enforced"
	statusTrue        = "True"
	statusFalse       = "False"

	reasonAccepted          = "Accepted"
	reasonEnforced          = "Enforced"
	reasonPartiallyEnforced = "PartiallyEnforced"
	reasonOverridden        = "Overridden"
	reasonUnknown           = "Unknown"
)

// names is a set of rule keys or policies.
type names map[string]bool

func (n names) sorted() []string { return slices.Sorted(maps.Keys(n)) }

// standing is what becomes of a policy over all paths. The zero value is of one on
// no path.
type standing struct {
	onPath bool
	lives  bool // some rule of it does, somewhere
	// accounted says that some rule counts: its block applied somewhere, or it lives.
	accounted bool
	lost      map[string]names // keys of lost rules, by who replaced them
	by        names            // all of those
	added     map[string]names // merged defaults of higher policies, by these
	// wiped are the policies that took away its unset; kept says that on some path
	// none did.
	wiped names
	kept  bool
}

// stand works out the standing of all policies. Each set of policies counts once: of
// its paths one is like the other.
func (g *gatewayLowerer) stand() {
	for _, f := range g.folded {
		if f.path != "" {
			f.stand()
		}
	}
}

func (f *fold) stand() {
	lost := make(map[string][]*Replacement)
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
		p.standing.count(f, p, lost[p.locator], added, higher)
		higher[p] = true
	}
}

// count enters what becomes of a policy on the paths of one fold.
func (s *standing) count(f *fold, p *inherited, lost []*Replacement, added []string, higher map[*inherited]bool) {
	if !s.onPath {
		*s = standing{onPath: true, lost: make(map[string]names), by: names{}, added: make(map[string]names), wiped: names{}}
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
			enterName(s.added, BareName(q.locator), key)
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
	out := make([]string, len(locators))
	for i, l := range locators {
		out[i] = BareName(l)
	}
	return strings.Join(out, ", ")
}

// status is the conditions of a policy.
func (p *inherited) status() []GatewayCondition {
	kind, d := p.Document.Kind, p.Document
	accepted := GatewayCondition{Type: conditionAccepted, Status: statusFalse, Reason: string(p.Rejected)}
	switch p.Rejected {
	case resolve.Conflicted:
		accepted.Message = fmt.Sprintf("%s is conflicted by %s/%s", kind, d.Namespace, d.Name)
	case resolve.TargetNotFound:
		accepted.Message = fmt.Sprintf("%s target %s was not found", kind, d.Target.Name.Value)
	case resolve.Invalid:
		accepted.Message = kind + " is invalid"
	default:
		accepted = GatewayCondition{Type: conditionAccepted, Status: statusTrue, Reason: reasonAccepted, Message: kind + " has been accepted"}
		return []GatewayCondition{accepted, p.enforced()}
	}
	return []GatewayCondition{accepted}
}

// enforced is the condition that tells whether a policy has an effect.
func (p *inherited) enforced() GatewayCondition {
	kind, s := p.Document.Kind, &p.standing
	onlyUnsets := len(p.Document.Blocks) == 0
	by := s.by
	if onlyUnsets && !s.kept {
		by = s.wiped
	}
	switch {
	case !s.onPath:
		return GatewayCondition{
			Type: conditionEnforced, Status: statusFalse, Reason: reasonUnknown,
			Message: kind + " has encountered some issues: it is not in the path to any existing route",
		}
	case onlyUnsets && !s.kept, s.accounted && !s.lives:
		return GatewayCondition{
			Type: conditionEnforced, Status: statusFalse, Reason: reasonOverridden,
			Message: fmt.Sprintf("%s has been overridden by %s", kind, joinNames(by.sorted())),
		}
	}
	out := GatewayCondition{
		Type: conditionEnforced, Status: statusTrue, Reason: reasonEnforced,
		Message: kind + " has been successfully enforced",
	}
	var parts []string
	if len(s.lost) > 0 {
		out.Reason = reasonPartiallyEnforced
		parts = nameParts("the following rules have been overridden by", s.lost)
	}
	parts = append(parts, nameParts("the following defaults have been added by", s.added)...)
	if len(parts) > 0 {
		out.Message += ". T" + strings.Join(parts, "; ")[1:]
	}
	return out
}

// nameParts says of each group what is in it.
func nameParts(text string, groups map[string]names) []string {
	var parts []string
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		parts = append(parts, fmt.Sprintf("%s %s: %s", text, group, strings.Join(groups[group].sorted(), ", ")))
	}
	return parts
}

// rejections orders why one of several documents of a name is rejected: what says most
// about the name comes first.
var rejections = []string{string(resolve.Conflicted), string(resolve.TargetNotFound), string(resolve.Invalid), reasonAccepted}

// Accepted is, by locator, whether policies are accepted: what is known of them where
// the directory has errors and nothing is enforced. Of several documents of one name
// the worst counts.
func (g *Gateway) Accepted() map[string][]GatewayCondition {
	out := make(map[string][]GatewayCondition, len(g.Policies))
	rank := func(c GatewayCondition) int { return slices.Index(rejections, c.Reason) }
	for i := range g.Policies {
		p := &g.Policies[i]
		locator, accepted := Locator(p.Kind, p.Namespace, p.Name), p.Conditions[0]
		if before, ok := out[locator]; !ok || rank(accepted) < rank(before[0]) {
			out[locator] = []GatewayCondition{accepted}
		}
	}
	return out
}
