package statement

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// Search looks for a request that fits all of some statements and none of others. All
// statements concern the principals of the request.
type Search struct {
	Must, MustNot []*Statement
	// Pin overrides what a question states. It returns false if the request is not one of
	// the question. Nil states nothing.
	Pin   func(*Request) bool
	Point string
	Base  Request // user, groups and facts

	Values Values
	tried  int
	Cut    bool // the search ended early: a request may exist that it did not find

	// IsProven asks for Proof, which is set if no request is found.
	IsProven bool
	Proof    *Proof
}

// maxTried bounds the requests of one search. It is far above what documents need.
const maxTried = 1 << 18

// Find returns a request, or nil if it finds no request.
func (s *Search) Find() *Request {
	s.Mention()
	r := s.Base
	found, proof := s.descend(0, &r, s.MustNot)
	if found {
		return &r
	}
	s.Proof = proof
	s.Cut = s.Cut || s.Values.IsCut()
	return nil
}

// Mention collects what the statements tell apart.
func (s *Search) Mention() {
	for _, st := range s.Must {
		st.Condition.Mention(&s.Values)
		st.mentionPlace(&s.Values)
	}
	s.Values.isProven = s.IsProven
	s.Values.addOthers()
	for _, st := range s.MustNot {
		st.Condition.Mention(&s.Values)
		st.mentionPlace(&s.Values)
	}
	s.Values.addStandIns()
}

// ValuesOf returns the values of a key that the statements tell apart, after Mention.
func (s *Search) ValuesOf(key string) []string {
	return inOrder(s.Values.list(key).All())
}

// list returns the values of a key that is a text.
func (v *Values) list(key string) *List {
	switch key {
	case "path":
		return &v.paths
	case "resource":
		return &v.resources
	case "subresource":
		return &v.subresources
	case "verb":
		return &v.verbs
	case "apiGroup":
		return &v.groups
	case "name":
		return &v.names
	case "namespace":
		return &v.namespaces
	}
	if i := slices.Index(tables.ScopeKeys(), key); i >= 0 {
		return &v.scope[i]
	}
	return nil
}

func (s *Statement) mentionPlace(v *Values) {
	if s.Namespace != "" {
		v.namespaces.Add(s.Namespace)
	}
}

// option is a value of a stage with what it leaves: bits that a statement must match
// count as good, those that it must not match as bad.
type option struct {
	set       candidate
	kind      string // options of different kinds are not compared
	good, bad []uint8
	left      []*Statement

	// by excludes the value: it must match and does not, or if fits is set, the other way round.
	by   *Statement
	fits bool
}

// descend chooses the values from a stage on. It returns why no request is found if that is
// asked for.
func (s *Search) descend(at stage, r *Request, not []*Statement) (bool, *Proof) {
	if at == stages {
		return len(not) == 0, nil
	}
	if s.tried++; s.tried > maxTried {
		s.Cut = true
		return false, nil
	}
	var l *level
	if s.IsProven {
		l = new(level)
	}
	options := s.options(at, r, not, l)
	for _, o := range options {
		next := *r
		o.set(&next)
		if s.Pin != nil {
			s.Pin(&next)
		}
		if at <= stageGroup {
			next.spelled = new(spelled)
		}
		found, proof := s.descend(at+1, &next, o.left)
		if found {
			*r = next
			return true, nil
		}
		if l != nil {
			l.nodes = append(l.nodes, proof)
		}
	}
	if l == nil || s.Cut {
		return false, nil
	}
	return false, s.proof(at, l, options)
}

// options returns the values of a stage that can lead to a request, without those that
// another one dominates.
func (s *Search) options(at stage, r *Request, not []*Statement, l *level) []option {
	candidates := []candidate{func(*Request) {}} // the absence of a value
	if s.matters(at, not) {
		candidates = s.candidates(at, r, not)
	}
	return s.front(at, r, not, candidates, l)
}

// front returns the candidates that no other one dominates.
func (s *Search) front(at stage, r *Request, not []*Statement, candidates []candidate, l *level) []option {
	var out []option
	known, tried := make(map[string]bool), make(map[chosen]bool)
	for _, set := range candidates {
		next := *r
		set(&next)
		if s.Pin != nil && !s.Pin(&next) {
			continue
		}
		// A question that states a member makes one value of all candidates for it.
		if s.Pin != nil && at <= stageName && l == nil {
			value := chosenOf(&next)
			if tried[value] {
				continue
			}
			tried[value] = true
		}
		if at <= stageGroup {
			next.spelled = new(spelled)
		}
		o, ok := s.option(at, &next, not)
		l.record(&next, o, ok)
		if !ok {
			continue
		}
		o.set = set
		key := o.kind + "\x00" + string(o.good) + "\x00" + string(o.bad)
		if known[key] {
			continue
		}
		known[key] = true
		if out = insert(out, o); len(o.left) == 0 && len(o.good) == 0 && !s.hasKinds(at) && l == nil {
			break
		}
	}
	return out
}

// chosen are the members of a request that the stages until stageName choose.
type chosen struct{ path, resource, subresource, verb, group, name string }

func chosenOf(r *Request) chosen {
	return chosen{r.Path, r.Resource, r.Subresource, r.Verb, r.Group, r.Name}
}

// matters reports whether a condition of a stage is left.
func (s *Search) matters(at stage, not []*Statement) bool {
	if at <= stageGroup || at == stageNamespace || at == StageCluster && s.Point == PointVisibility {
		return true
	}
	depends := func(st *Statement) bool { return st.last() >= at }
	return slices.ContainsFunc(s.Must, depends) || slices.ContainsFunc(not, depends)
}

// option matches the statements at a stage. It returns false if the request cannot fit.
func (s *Search) option(at stage, r *Request, not []*Statement) (o option, ok bool) {
	varies := at == stageTarget || at == stageVerb
	for _, st := range s.Must {
		bits := st.Match(at, r)
		if bits == 0 {
			o.by = st
			return o, false
		}
		if varies {
			o.good = append(o.good, bits)
		}
	}
	o.bad = make([]uint8, len(not))
	for i, st := range not {
		if bits := st.Match(at, r); bits != 0 {
			if st.last() <= at {
				o.by, o.fits = st, true
				return o, false
			}
			o.bad[i] = bits
			o.left = append(o.left, st)
		}
	}
	o.kind = s.kind(at, r)
	return o, true
}

// kind tells apart values on which later stages depend beyond the bits.
func (s *Search) kind(at stage, r *Request) string {
	switch at {
	case stageTarget:
		if r.Path != "" {
			return "path"
		}
		if s.Values.manyGroups {
			return r.Resource + "/" + r.Subresource
		}
		var pods string
		if s.Values.nodes && isPod(r) {
			pods = "pods"
		}
		if !s.Values.folds {
			return pods
		}
		sub := strings.ToLower(r.Subresource)
		if stream := rule.Carried("", sub)[0]; sub == "" || stream != "" {
			return pods + stream + sub
		}
		return pods + "sub"
	case stageVerb:
		kind := ""
		if s.Values.reads {
			kind = string(rune('0' + verbClass(r)))
		}
		isRead := len(s.Values.selected.Keys) > 0 || len(r.LabelSelector)+len(r.FieldSelector) > 0
		if isRead && selector.Counts(r.Verb, OtherWord, "") {
			kind += "selects"
		}
		return kind
	case stageName:
		if s.Values.pods {
			return r.Name
		}
		return s.Values.selected.kind("metadata.name", r.Name)
	case stageNamespace:
		return s.Values.selected.kind("metadata.namespace", r.Namespace)
	case StageCluster:
		return s.Values.tenants.In(tables.Scope{Cluster: r.Cluster}).Tenant
	}
	return ""
}

// hasKinds reports whether a later condition reads the value of a stage, so that the first
// value that fits need not lead to a request.
func (s *Search) hasKinds(at stage) bool {
	switch v := &s.Values; at {
	case stageName:
		return v.pods || v.selected.values["metadata.name"] != nil
	case stageNamespace:
		return v.selected.values["metadata.namespace"] != nil
	case StageCluster:
		return len(v.tenants) > 0
	}
	return false
}

// insert adds an option unless another one dominates it, and removes those that it
// dominates.
func insert(options []option, o option) []option {
	for i := range options {
		if options[i].dominates(&o) {
			return options
		}
	}
	kept := options[:0]
	for i := range options {
		if !o.dominates(&options[i]) {
			kept = append(kept, options[i])
		}
	}
	return append(kept, o)
}

func (o *option) dominates(p *option) bool {
	if o.kind != p.kind {
		return false
	}
	for i := range o.good {
		if p.good[i]&^o.good[i] != 0 {
			return false
		}
	}
	for i := range o.bad {
		if o.bad[i]&^p.bad[i] != 0 {
			return false
		}
	}
	return true
}
