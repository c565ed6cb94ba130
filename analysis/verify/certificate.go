package verify

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/assertion"
)

// Certificate is why an assertion holds, for a checker that shares no code with the prover:
// the statements of the documents, the class, and for each time and class a tree.
type Certificate struct {
	Document string `json:"document"`
	Name     string `json:"name"`
	Form     string `json:"form"`
	Word     string `json:"word"`
	// Unless are the classes that are left out, with those of exceptions in force.
	Unless []map[string]any `json:"unless"`
	Apart  [][]string       `json:"apart"`
	Alone  bool             `json:"alone"`
	Proofs []ProofAt        `json:"proofs"`
}

// ProofAt is the trees for the documents at one time.
type ProofAt struct {
	At time.Time `json:"at"`
	// Cluster is the only cluster that the documents decide on, empty for any.
	Cluster    string           `json:"cluster"`
	Statements []statement.JSON `json:"statements"`
	Classes    []ClassProof     `json:"classes"`
}

// ClassProof is the tree for one class of the assertion.
type ClassProof struct {
	Of   map[string]any `json:"of"`
	Tree *Tree          `json:"tree"`
}

// Tree is a node of a certificate: a leaf, or branches by the values of a key.
type Tree struct {
	Split    string   `json:"split,omitempty"`
	Branches []Branch `json:"branches,omitempty"`
	// None states that no statement that would break the assertion fits what the branch leaves.
	None bool `json:"none,omitempty"`
	// Denied and Allowed are the ID of a statement that fits all of it and decides before those
	// that would break the assertion.
	Denied  *int `json:"denied,omitempty"`
	Allowed *int `json:"allowed,omitempty"`
	// Empty states that no request of the class is left.
	Empty bool `json:"empty,omitempty"`

	isPartial bool
}

// Branch is the requests of a node whose value is one of Values, or fits all of Like and
// Prefix, or any value, and that no branch before it has.
type Branch struct {
	Values []string `json:"values,omitempty"`
	Like   []string `json:"like,omitempty"`
	Prefix []string `json:"prefix,omitempty"`
	Rest   bool     `json:"rest,omitempty"`
	Node   *Tree    `json:"node"`
}

// The key of the statement that decides, and its values that are not IDs: no statement, and
// the beginning for one whose evaluation fails.
const (
	keyDecider    = "decider"
	noDecider     = "none"
	failedDecider = "error "
)

// decider is the proof that a statement decides no request of some of its subjects with an
// outcome.
type decider struct {
	by       *statement.Statement // nil: no statement decides
	outcome  string
	subjects []string // nil: everybody
	proof    *statement.Proof
}

// record keeps a proof about a decider.
func (s *search) record(g *goal, chosen []*statement.Statement, base []string, proof *statement.Proof) {
	if !s.p.isRecording {
		return
	}
	d := decider{by: chosen[0], outcome: g.parts[0].outcome, subjects: base, proof: proof}
	if len(base) > 0 {
		d.subjects = append(slices.Clone(base), s.alike[base[0]]...)
	}
	s.deciders = append(s.deciders, d)
}

// tree returns why no request of the class breaks the assertion.
func (s *search) tree() *Tree {
	ids, _ := s.p.all.index.numbered()
	out := &Tree{Split: keyDecider}
	for i := 0; i < len(s.deciders); {
		first := s.deciders[i]
		node := &Tree{Split: "holds"}
		for ; i < len(s.deciders) && s.deciders[i].by == first.by && s.deciders[i].outcome == first.outcome; i++ {
			d := s.deciders[i]
			if d.subjects == nil {
				node = s.written(d.proof, ids)
				continue
			}
			node.Branches = append(node.Branches, Branch{Values: d.subjects, Node: s.written(d.proof, ids)})
		}
		if node.Split == "holds" && first.subjects != nil {
			node.Branches = append(node.Branches, Branch{Rest: true, Node: &Tree{None: true}})
		}
		for _, b := range node.Branches {
			node.isPartial = node.isPartial || b.Node.isPartial
		}
		name := noDecider
		if first.by != nil {
			name = strconv.Itoa(ids[first.by])
			if first.by.Effect != first.outcome {
				name = failedDecider + name
			}
		}
		out.isPartial = out.isPartial || node.isPartial
		out.Branches = append(out.Branches, Branch{Values: []string{name}, Node: node})
	}
	if len(out.Branches) == 0 {
		return &Tree{None: true}
	}
	out.Branches = append(out.Branches, Branch{Rest: true, Node: &Tree{None: true}})
	return out
}

// written returns a proof about a decider with the IDs of statements.
func (s *search) written(p *statement.Proof, ids map[*statement.Statement]int) *Tree {
	if p == nil { // the search was cut
		return &Tree{isPartial: true}
	}
	out := &Tree{isPartial: p.IsPartial}
	if p.Split != "" {
		out.Split = p.Split
		for _, b := range p.Branches {
			node := s.written(b.Node, ids)
			out.isPartial = out.isPartial || node.isPartial
			out.Branches = append(out.Branches, Branch{b.Values, b.Like, b.Prefix, b.Rest, node})
		}
		return out
	}
	id, isKnown := ids[p.By]
	switch {
	case !isKnown: // the class, or one that is left out
		out.Empty = true
	case !p.Fits:
		out.None = true
	case p.By.Effect == statement.OutcomeAllow:
		out.Allowed = &id
	default:
		out.Denied = &id
	}
	return out
}

// numbered returns the statements of the documents with their IDs.
func (x *index) numbered() (map[*statement.Statement]int, []statement.JSON) {
	if x.ids != nil {
		return x.ids, x.listed
	}
	type numbered struct {
		s    *statement.Statement
		json statement.JSON
		text string
	}
	var list []numbered
	add := func(s *statement.Statement) {
		j := s.JSON()
		list = append(list, numbered{s, j, statement.JSONText(j)})
	}
	for _, s := range x.deny {
		add(s)
	}
	for i := range x.rules {
		x.each(&x.rules[i], func(string) bool { return true }, add)
	}
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Or(a.s.Step-b.s.Step, cmp.Compare(a.text, b.text)) })
	x.ids = make(map[*statement.Statement]int)
	for i := range list {
		list[i].json.ID = i
		x.ids[list[i].s] = i
		x.listed = append(x.listed, list[i].json)
	}
	return x.ids, x.listed
}

// certify sets the certificate of an assertion that holds: never or always at access. The search
// that has proven it is run once more and records what it tries. A proof that depends on values
// which no key has gets a note in place of a certificate.
func (r *run) certify(a *assertion.Assertion, provers []*prover, active []*assertion.Class, out *Result) error {
	if a.Point != assertion.Access || a.Path != nil || a.Form != assertion.Never && a.Form != assertion.Always {
		return nil
	}
	c := &Certificate{Document: a.Document, Name: a.Name, Form: a.Form, Word: a.Word, Alone: a.Alone, Unless: []map[string]any{}, Apart: append([][]string{}, a.Apart...)}
	c.Unless = append(c.Unless, elements.Map(slices.Concat(a.Unless, active), (*assertion.Class).Written)...)
	for _, p := range provers {
		r.SetNow(p.now)
		p.isRecording, p.trees, p.askers.proof = true, nil, func() *statement.Proof { return p.last }
		found, err := p.prove(slices.Concat(a.Unless, active))
		p.isRecording, p.askers.proof = false, nil
		if err != nil || !found.holds() {
			return err
		}
		_, list := p.all.index.numbered()
		at := ProofAt{At: p.now.UTC(), Cluster: p.all.index.world.Access.Cluster, Statements: list}
		for i, tree := range p.trees {
			if tree.isPartial {
				out.note("no-certificate", "the proof depends on labels, fields or nodes of requests, which a certificate does not have")
				return nil
			}
			at.Classes = append(at.Classes, ClassProof{a.Of[i].Written(), tree})
		}
		c.Proofs = append(c.Proofs, at)
	}
	out.Certificate = c
	return nil
}
