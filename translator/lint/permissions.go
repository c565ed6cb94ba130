package lint

import (
	"slices"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// originGroup is the API group of Origin's own documents.
const originGroup = "writ.dev"

// permissions are the rules that apply to an author, by the namespace of the binding, and the rules
// of deny policies, which apply to everybody.
type permissions struct {
	access   *tables.Access
	denied   []*tables.DenyRule
	subjects []string
	now      dates.Instant
	cluster  boundRules
	local    map[string]ruleSet // results of in, by scope
}

// boundRules are the rules bound in one namespace, or cluster-wide.
type boundRules struct {
	deny, allow []rule.Row
}

// ruleSet holds the rules of one scope in the order of decision: denials bound
// cluster-wide, grants bound cluster-wide, denials bound in the namespace, grants
// bound in the namespace. ends are the ends of these four parts.
//
// denied are the rules of deny policies that deny requests in the scope.
type ruleSet struct {
	rules  []rule.Row
	ends   [4]int
	denied []*tables.DenyRule
}

func newPermissions(access *tables.Access, deny *tables.Deny, author Author, now dates.Instant) *permissions {
	h := &permissions{access: access, denied: denyRules(deny, now), now: now, local: make(map[string]ruleSet)}
	if author.User != "" {
		h.subjects = append(h.subjects, tables.User(author.User))
	}
	h.subjects = append(h.subjects, elements.Map(author.Groups, tables.Group)...)
	h.cluster = h.boundRules(access.Subjects.Cluster)
	return h
}

// in returns the author's rules in a namespace, or cluster-wide if it is empty.
func (h *permissions) in(namespace string) ruleSet {
	if out, ok := h.local[namespace]; ok {
		return out
	}
	var local boundRules
	if namespace != "" {
		local = h.boundRules(h.access.Subjects.Namespaces.At(namespace))
	}
	var out ruleSet
	for i, rules := range [][]rule.Row{h.cluster.deny, h.cluster.allow, local.deny, local.allow} {
		out.rules = append(out.rules, rules...)
		out.ends[i] = len(out.rules)
	}
	out.denied = elements.Filter(h.denied, func(r *tables.DenyRule) bool { return deniesIn(r, namespace) })
	h.local[namespace] = out
	return out
}

// boundRules collects the rules of the bindings that name the author. A grant with
// attributeRestrictions does not count, because it does not apply to every request. A
// denial with restrictions counts, for the same reason.
func (h *permissions) boundRules(subjects tables.Map[[]string]) boundRules {
	var keys []string
	for _, subject := range h.subjects {
		keys = append(keys, subjects.At(subject)...)
	}
	slices.Sort(keys)
	var out boundRules
	for _, key := range slices.Compact(keys) {
		binding := h.access.Bindings.At(key)
		lasts := binding.Dates.Holds(h.now) && binding.Dates.End() == ""
		role := h.access.Roles.At(binding.Role)
		for i := range role.Kubernetes {
			if !lasts {
				continue
			}
			out.allow = append(out.allow, rule.Row{Kubernetes: &role.Kubernetes[i]})
		}
		for i := range role.Origin {
			switch r := &role.Origin[i]; {
			case r.Deny:
				out.deny = append(out.deny, rule.Row{Origin: r})
			case r.Restrictions == nil && lasts:
				out.allow = append(out.allow, rule.Row{Origin: r})
			}
		}
	}
	return out
}

// allows decides one tuple, given the rules that match it.
func (h ruleSet) allows(matches bits) bool {
	from := 0
	for i, end := range h.ends {
		if matches.anyIn(from, end) {
			return i%2 == 1
		}
		from = end
	}
	return false
}

// bits is a set of indexes.
type bits []uint64

func (h ruleSet) newBits() bits { return make(bits, (len(h.rules)+63)/64) }

func (b bits) set(i int) { b[i/64] |= 1 << (i % 64) }

func (b bits) anyIn(from, to int) bool {
	for i := from; i < to; i++ {
		if b[i/64]&(1<<(i%64)) != 0 {
			return true
		}
	}
	return false
}

// intersect returns the intersection of sets of the same size.
func intersect(sets ...bits) bits {
	out := slices.Clone(sets[0])
	for _, set := range sets[1:] {
		for i := range out {
			out[i] &= set[i]
		}
	}
	return out
}
