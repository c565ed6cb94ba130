package lint

import (
	"slices"

	"github.com/writ-policy/writ/translator/lower"
)

// originGroup is the API group of Origin's own documents.
const originGroup = "writ.dev"

// holdings are the rules that apply to an author, by the namespace they are
// bound in.
type holdings struct {
	access   *lower.Access
	subjects []string
	cluster  level
	local    map[string]held // by scope, what in has already put together
}

// level is the rules of one step of the order: denials before grants.
type level struct {
	deny, allow []rule
}

// rule is a rule of either family; exactly one is set.
type rule struct {
	kubernetes *lower.KubernetesRule
	origin     *lower.OriginRule
}

// held is what counts in one scope, in the order in which it decides: denials
// bound cluster-wide, grants there, denials bound in the namespace, grants
// there. ends says where each of the four ends.
type held struct {
	rules []rule
	ends  [4]int
}

func newHoldings(access *lower.Access, author Author) *holdings {
	h := &holdings{access: access, local: make(map[string]held)}
	if author.User != "" {
		h.subjects = append(h.subjects, "user:"+author.User)
	}
	for _, group := range author.Groups {
		h.subjects = append(h.subjects, "group:"+group)
	}
	h.cluster = h.level(access.Subjects.Cluster)
	return h
}

// in is what the author holds in a namespace, or cluster-wide where it is empty.
func (h *holdings) in(namespace string) held {
	if out, ok := h.local[namespace]; ok {
		return out
	}
	var local level
	if namespace != "" {
		local = h.level(h.access.Subjects.Namespaces.At(namespace))
	}
	var out held
	for i, rules := range [][]rule{h.cluster.deny, h.cluster.allow, local.deny, local.allow} {
		out.rules = append(out.rules, rules...)
		out.ends[i] = len(out.rules)
	}
	h.local[namespace] = out
	return out
}

// level collects the rules of the bindings that name the author. A grant under
// attributeRestrictions is none here: it may not hold when it matters. A denial
// under them counts, for the same reason.
func (h *holdings) level(subjects lower.Map[[]string]) level {
	var keys []string
	for _, subject := range h.subjects {
		keys = append(keys, subjects.At(subject)...)
	}
	slices.Sort(keys)
	var out level
	for _, key := range slices.Compact(keys) {
		role := h.access.Roles.At(h.access.Bindings.At(key).Role)
		for i := range role.Kubernetes {
			out.allow = append(out.allow, rule{kubernetes: &role.Kubernetes[i]})
		}
		for i := range role.Origin {
			switch r := &role.Origin[i]; {
			case r.Deny:
				out.deny = append(out.deny, rule{origin: r})
			case r.Restrictions == nil:
				out.allow = append(out.allow, rule{origin: r})
			}
		}
	}
	return out
}

// has decides one tuple, given which rules meet it: cover it if they grant,
// touch it if they deny.
func (h held) has(meets bits) bool {
	from := 0
	for i, end := range h.ends {
		if meets.anyIn(from, end) {
			return i%2 == 1
		}
		from = end
	}
	return false
}

// bits is a set of indexes.
type bits []uint64

func (h held) newBits() bits { return make(bits, (len(h.rules)+63)/64) }

func (b bits) set(i int) { b[i/64] |= 1 << (i % 64) }

func (b bits) anyIn(from, to int) bool {
	for i := from; i < to; i++ {
		if b[i/64]&(1<<(i%64)) != 0 {
			return true
		}
	}
	return false
}

// and is the intersection of sets of one size.
func and(sets ...bits) bits {
	out := slices.Clone(sets[0])
	for _, set := range sets[1:] {
		for i := range out {
			out[i] &= set[i]
		}
	}
	return out
}
