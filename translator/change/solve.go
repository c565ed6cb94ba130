package change

import (
	"slices"
	"strings"
)

// search looks for a request that fits all of some statements and none of others. All
// statements concern the principals of the request.
type search struct {
	must, mustNot []*statement
	// pin overrides what a question states. It returns false if the request is not one of
	// the question. Nil states nothing.
	pin   func(*request) bool
	point string
	base  request // user, groups and facts

	values values
	tried  int
	cut    bool // the search ended early: a request may exist that it did not find
}

// maxTried bounds the requests of one search. It is far above what documents need.
const maxTried = 1 << 18

// find returns a request, or nil if it finds no request.
func (s *search) find() *request {
	s.mention()
	r := s.base
	if s.descend(0, &r, s.mustNot) {
		return &r
	}
	s.cut = s.cut || s.values.isCut()
	return nil
}

// mention collects what the statements tell apart.
func (s *search) mention() {
	for _, st := range s.must {
		st.condition.mention(&s.values)
		st.mentionPlace(&s.values)
	}
	s.values.addOthers()
	for _, st := range s.mustNot {
		st.condition.mention(&s.values)
		st.mentionPlace(&s.values)
	}
}

func (s *statement) mentionPlace(v *values) {
	if s.namespace != "" {
		v.namespaces.add(s.namespace)
	}
}

// option is a value of a stage with what it leaves: bits that a statement must match
// count as good, those that it must not match as bad.
type option struct {
	set       candidate
	kind      string // options of different kinds are not compared
	good, bad []uint8
	left      []*statement
}

func (s *search) descend(at stage, r *request, not []*statement) bool {
	if at == stages {
		return len(not) == 0
	}
	if s.tried++; s.tried > maxTried {
		s.cut = true
		return false
	}
	for _, o := range s.options(at, r, not) {
		next := *r
		o.set(&next)
		if s.pin != nil {
			s.pin(&next)
		}
		if s.descend(at+1, &next, o.left) {
			*r = next
			return true
		}
	}
	return false
}

// options returns the values of a stage that can lead to a request, without those that
// another one dominates.
func (s *search) options(at stage, r *request, not []*statement) []option {
	candidates := []candidate{func(*request) {}} // the absence of a value
	if s.matters(at, not) {
		candidates = s.candidates(at, r, not)
	}
	return s.front(at, r, not, candidates)
}

// front returns the candidates that no other one dominates.
func (s *search) front(at stage, r *request, not []*statement, candidates []candidate) []option {
	var out []option
	known := make(map[string]bool)
	for _, set := range candidates {
		next := *r
		set(&next)
		if s.pin != nil && !s.pin(&next) {
			continue
		}
		o, ok := s.option(at, &next, not)
		if !ok {
			continue
		}
		o.set = set
		key := o.kind + "\x00" + string(o.good) + "\x00" + string(o.bad)
		if known[key] {
			continue
		}
		known[key] = true
		if out = insert(out, o); len(o.left) == 0 && len(o.good) == 0 {
			break
		}
	}
	return out
}

// matters reports whether a condition of a stage is left.
func (s *search) matters(at stage, not []*statement) bool {
	if at <= stageGroup || at == stageNamespace || at == stageCluster && s.point == PointVisibility {
		return true
	}
	depends := func(st *statement) bool { return st.last() >= at }
	return slices.ContainsFunc(s.must, depends) || slices.ContainsFunc(not, depends)
}

// option matches the statements at a stage. It returns false if the request cannot fit.
func (s *search) option(at stage, r *request, not []*statement) (o option, ok bool) {
	varies := at == stageTarget || at == stageVerb
	for _, st := range s.must {
		bits := st.match(at, r)
		if bits == 0 {
			return o, false
		}
		if varies {
			o.good = append(o.good, bits)
		}
	}
	o.bad = make([]uint8, len(not))
	for i, st := range not {
		if bits := st.match(at, r); bits != 0 {
			if st.last() <= at {
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
func (s *search) kind(at stage, r *request) string {
	switch at {
	case stageTarget:
		if r.path != "" {
			return "path"
		}
		var pods string
		if s.values.nodes && isKind("pods", r.resource) {
			pods = "pods"
		}
		if !s.values.folds {
			return pods
		}
		switch sub := strings.ToLower(r.subresource); sub {
		case "":
			return pods
		case "exec", "attach":
			return pods + "exec" + sub
		case "proxy", "portforward":
			return pods + "proxy" + sub
		}
		return pods + "sub"
	case stageVerb:
		kind := ""
		if s.values.reads {
			kind = string(rune('0' + verbClass(r)))
		}
		return kind
	}
	return ""
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
