package access

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

// countBound counts the bindings of each role, and finds the roles without one if there are
// others than in the last directory.
func (r *resolver) countBound() {
	isKept := r.kept.bound != nil
	if !isKept {
		r.kept.bound = make(map[*KubernetesRole]int, len(r.kubernetesRoles))
	}
	gone, come := directory.Changes(r.before.KubernetesBindings, r.out.KubernetesBindings,
		func(a, b ResolvedKubernetesBinding) bool { return a == b })
	touched := make(map[*KubernetesRole]int) // roles, with their bindings before
	for i, b := range slices.Concat(gone, come) {
		if _, found := touched[b.Role]; !found {
			touched[b.Role] = r.kept.bound[b.Role]
		}
		if r.kept.bound[b.Role]--; i >= len(gone) {
			r.kept.bound[b.Role] += 2
		}
	}
	for role, before := range touched {
		isKept = isKept && (before > 0) == (r.kept.bound[role] > 0)
	}
	if isKept {
		return
	}
	r.kept.unbound = nil
	for _, role := range r.kubernetesRoles {
		if r.kept.bound[role] == 0 && !r.kept.aggregated[role] {
			r.kept.unbound = unused(r.kept.unbound, &role.Header)
		}
	}
}

// unused appends a role without a binding, unless every API server makes it.
func unused(unbound []*syntax.Header, h *syntax.Header) []*syntax.Header {
	if h.Stock {
		return unbound
	}
	return append(unbound, h)
}

// shownUnbound is how many roles without a binding have a warning; maxUnbound of the others
// are named by the last one.
const (
	shownUnbound = 10
	maxUnbound   = 1000
)

// reportUnused warns about roles without a binding. A directory of roles that are bound
// elsewhere has many.
func (r *resolver) reportUnused() {
	if r.Partial {
		return
	}
	if len(r.unbound) > len(r.kept.unbound) { // those of Origin are among them
		slices.SortStableFunc(r.unbound, func(a, b *syntax.Header) int { return a.At.Compare(b.At) })
	}
	for i, h := range r.unbound {
		d := diag.Diagnostic{
			Position: h.At,
			Severity: diag.Warning,
			Code:     diag.UnboundRole,
			Message:  directory.Title(h) + " is not bound by any binding",
			Hint:     "bind it or remove it",
		}
		if rest := len(r.unbound) - i; i == shownUnbound && rest > 1 {
			d.Message = fmt.Sprintf("%s and %d more roles are not bound by any binding", directory.Title(h), rest-1)
			d.Hint = "bind them or remove them, or silence this warning if they are bound elsewhere"
			for _, h := range r.unbound[i+1:][:min(rest-1, maxUnbound)] {
				d.Related = append(d.Related, diag.Related{Position: h.At, Message: directory.Title(h)})
			}
			r.List.Add(d)
			return
		}
		r.List.Add(d)
	}
}
