// Package certificate confirms certificates of assertions that hold. It imports nothing of writ: it
// is another reading of what statements and classes mean, from JSON.
//
// What a branch leaves is a region: conditions on the values of each key. A statement or a class
// is an expression, which has parts in a region. What cannot be read of a statement
// (restrictions, labels, pods) may fit or not: what depends on it is never confirmed.
//
// # Design
//
// Following the tree is a fifth of the package. Most of it is what a tree cannot carry: what the
// rules of Kubernetes, of Origin and of deny policies fit, with negations and verbs that stand for
// subresources, and whether patterns leave a text. A certificate with an example for each region, or
// with rules that are spelled out as lists, would need no such reading here, and the checker would
// then believe the prover about exactly what it is to check. So it is longer than the format needs.
package certificate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Statement is a statement as reports of writ show it.
type Statement struct {
	ID, Step                           int
	Family, Effect, Namespace, Session string
	Subjects                           []string
	Rule, AppliesTo                    map[string]any
}

// Tree is a node of a certificate.
type Tree struct {
	Split    string
	Branches []struct {
		Values, Like, Prefix []string
		Rest                 bool
		Node                 *Tree
	}
	None, Empty     bool
	Denied, Allowed *int
}

// decider is a statement, or none, that would break the assertion by deciding.
type decider struct {
	id, outcome string
	before      int // the last step that decides before it
	fits        *expr
}

type checker struct {
	class    *expr
	byID     map[int]*Statement
	deciders []decider
}

// Check returns why a certificate does not prove its assertion, nil if it does.
func Check(text []byte) error {
	var c struct {
		Form, Word string
		Unless     []map[string]any
		Apart      [][]string
		Alone      bool
		Proofs     []struct {
			Cluster    string
			Statements []Statement
			Classes    []struct {
				Of   map[string]any
				Tree *Tree
			}
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	is, isWord := map[string][]string{"allowed": {"allow"}, "denied": {"deny"}, "decided": {"allow", "deny"}}[c.Word]
	bad := slices.DeleteFunc([]string{"allow", "deny", "none"}, func(o string) bool { return slices.Contains(is, o) != (c.Form == "never") })
	if !isWord || c.Form != "never" && c.Form != "always" || len(c.Proofs) == 0 {
		return fmt.Errorf("%s %s with %d proofs cannot be confirmed", c.Form, c.Word, len(c.Proofs))
	}
	for _, p := range c.Proofs {
		k := &checker{byID: make(map[int]*Statement)}
		named := make(map[string]bool)
		for i := range p.Statements {
			k.add(&p.Statements[i], bad)
			for _, subject := range p.Statements[i].Subjects {
				named[subject] = true
			}
		}
		if slices.Contains(bad, "none") {
			k.deciders = append(k.deciders, decider{"none", "none", 1 << 20, and()})
		}
		for _, class := range p.Classes {
			k.class = and(valid, classOf(class.Of, named))
			for _, u := range c.Unless {
				k.class.list = append(k.class.list, not(classOf(u, named)))
			}
			if p.Cluster != "" {
				k.class.list = append(k.class.list, word("cluster", p.Cluster))
			}
			if err := k.check(class.Tree, []*region{{apart: c.Apart, alone: c.Alone}}, k.deciders); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a statement as a decider, and as one whose evaluation may fail, which denies.
func (k *checker) add(s *Statement, bad []string) {
	k.byID[s.ID] = s
	if slices.Contains(bad, s.Effect) {
		k.deciders = append(k.deciders, decider{strconv.Itoa(s.ID), s.Effect, s.Step - 1, statementOf(s)})
	}
	restrictions, _ := s.Rule["attributeRestrictions"].(map[string]any)
	if kind := restrictions["kind"]; slices.Contains(bad, "deny") && s.Effect == "allow" && kind != nil && kind != "sameMinionRestriction" {
		k.deciders = append(k.deciders, decider{"error " + strconv.Itoa(s.ID), "deny", s.Step, statementOf(s)})
	}
}

// check confirms a node for the requests of some regions that one of some deciders decides.
func (k *checker) check(t *Tree, regions []*region, deciders []decider) error {
	if t == nil || t.Split == "" {
		return k.leaf(t, within(k.class, true, regions), deciders)
	}
	for i, b := range t.Branches { // a branch has what no branch before it has
		in, of := regions, deciders
		if t.Split == "decider" {
			isIn := func(d decider) bool { return b.Rest || slices.Contains(b.Values, d.id) }
			of = slices.DeleteFunc(slices.Clone(deciders), func(d decider) bool { return !isIn(d) })
			deciders = slices.DeleteFunc(slices.Clone(deciders), isIn)
		} else {
			fits := branchOf(t.Split, b.Values, b.Like, b.Prefix, b.Rest)
			in, regions = within(fits, true, regions), within(fits, false, regions)
		}
		if err := k.check(b.Node, in, of); err != nil {
			return fmt.Errorf("%s, branch %d: %w", t.Split, i, err)
		}
	}
	if len(deciders) > 0 && len(within(k.class, true, regions)) > 0 {
		return fmt.Errorf("the branches by %s leave requests out", t.Split)
	}
	return nil
}

func (k *checker) leaf(t *Tree, regions []*region, deciders []decider) error {
	if len(regions) == 0 {
		return nil
	}
	if t == nil || t.Empty || !t.None && t.Denied == nil && t.Allowed == nil {
		return fmt.Errorf("a leaf has requests: %v", regions[0].of)
	}
	for _, d := range deciders {
		in := within(d.fits, true, regions)
		for _, id := range []*int{t.Denied, t.Allowed} {
			if id == nil {
				continue
			}
			s := k.byID[*id]
			if s == nil || s.Effect == d.outcome || s.Step > d.before || (s.Effect == "allow") != (id == t.Allowed) {
				return fmt.Errorf("statement %d does not decide before %s", *id, d.id)
			}
			in = within(statementOf(s), false, in)
		}
		if len(in) > 0 {
			return fmt.Errorf("%s may decide requests: %v", d.id, in[0].of)
		}
	}
	return nil
}
