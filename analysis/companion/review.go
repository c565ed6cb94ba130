package companion

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// Rule identifies a rule as a binding applies it.
type Rule struct {
	Kind, Namespace, Name string // of the binding
	Index                 int    // of the rule in its role
	Source, Binding       string // FILE:LINE of the rule and of the binding
}

func ruleOf(d *statement.Document) Rule {
	return Rule{d.Kind, d.Namespace, d.Name, d.Rule, d.Source, d.Binding.Source}
}

// Review is what an API server states of a write before it reads the object.
type Review struct {
	User                               string
	Groups                             []string
	Node                               string // of the user, where the review states one
	Verb, Group, Resource, Subresource string
}

// Hit is a rule that a review fits, its restrictions aside, and whether these hold as far as
// the review says.
type Hit struct {
	Rule    Rule
	Deny    bool
	Verdict selector.Verdict
}

// Answer is the answer to a review while the companion is in force.
type Answer int

// The answers.
const (
	// Strict is the answer without the companion.
	Strict Answer = iota
	// Allow allows: the companion refuses what is not allowed for the object.
	Allow
	// noOpinion neither allows nor denies: the companion refuses what is denied for the object.
	noOpinion
)

// register notes what the answers to reviews depend on.
func (c *Companion) register(parts []*part) {
	c.rules, c.hasNames = make(map[Rule]*part, len(parts)), true
	for _, p := range parts {
		if p.rule != (Rule{}) {
			if _, isTwice := c.rules[p.rule]; isTwice {
				c.rules[p.rule] = nil // which one a hit means is not known
			} else {
				c.rules[p.rule] = p
			}
			continue
		}
		if s := p.state(create); s.covers && s.conditional && !p.printed[create] {
			c.hasNames = false
		}
	}
}

// Answer decides a review over all objects. The hits are all rules of bindings that it fits,
// in the order of evaluation, no deny policy denies it, and its resource is one about whose
// objects admission policies are asked, but for notAdmitted.
func (c *Companion) Answer(r *Review, hits []Hit) Answer {
	op, ok := r.operation()
	if !ok || isExempt(r) || op == create && !c.hasNames {
		return Strict
	}
	var matching []Hit
	for i := range hits {
		ok, mayMatch := c.has(r, &hits[i], op)
		if !ok {
			return Strict
		}
		if mayMatch {
			matching = append(matching, hits[i])
		}
	}
	return c.fold(matching, op)
}

// has reports whether the companion has what a hit is for an operation, and whether the hit
// may match the object.
func (c *Companion) has(r *Review, h *Hit, op operation) (ok, mayMatch bool) {
	p := c.rules[h.Rule]
	if p == nil || p.deny != h.Deny {
		return false, false
	}
	s := p.state(op)
	switch {
	case !s.covers && (h.Verdict == selector.None || !h.Deny && h.Verdict == selector.Unknown):
		return true, false // what no object decides, as fieldsSelect of a write, allows nothing
	case !s.covers, s.problem != nil:
		return false, false
	case p.readsNode && r.Node != "" && tables.UserPrefix+r.User != statement.NodePrefix+r.Node:
		return false, false // admission knows the node by the name of the user alone
	case h.Verdict == selector.None: // of an update, for the object as it was
		return !s.conditional || p.printed[op], false
	}
	return s.conditional || h.Verdict == selector.All, true
}

// fold walks the hits until one decides for every object.
func (c *Companion) fold(hits []Hit, op operation) Answer {
	allows, denies, isDecided := false, false, false
	for _, h := range hits {
		p := c.rules[h.Rule]
		// Without a validation nothing refuses the objects for which this one decides.
		if (p.at[op].conditional || h.Deny && allows) && !p.printed[op] {
			return Strict
		}
		if h.Deny {
			denies = true
		} else {
			allows = true
		}
		// What is known of an object that is updated is not true of what it becomes.
		if isDecided = h.Verdict == selector.All && (!p.at[op].conditional || op == remove); isDecided {
			break
		}
	}
	switch {
	case allows && (denies || !isDecided):
		return Allow
	case !allows && denies && !isDecided:
		return noOpinion
	}
	return Strict
}

// notAdmitted are the API groups with resources about which admission policies are not asked.
var notAdmitted = []string{"admissionregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}

// operation returns the operation as which admission sees the write of a review. It returns
// false for a review of anything that admission does not see, or sees as another object.
func (r *Review) operation() (op operation, ok bool) {
	if slices.Contains(notAdmitted, r.Group) {
		return 0, false
	}
	for op, verbs := range operationVerbs {
		if slices.Contains(verbs, r.Verb) {
			return operation(op), r.Subresource == "" || operation(op) == update && slices.Contains(wholeObjects, "*/"+r.Subresource)
		}
	}
	return 0, false
}

// isExempt reports whether the companion leaves out the user of a review.
func isExempt(r *Review) bool {
	return r.User == "" || slices.Contains(exemptUsers, r.User) || strings.HasPrefix(r.User, tables.AccountPrefix+"kube-system:") ||
		slices.ContainsFunc(r.Groups, func(g string) bool { return slices.Contains(exemptGroups, g) })
}
