package statement

// Place is what a namespace is to some statements. They treat namespaces of one place
// alike.
type Place struct {
	// Left are the statements that may fit in the namespace.
	Left []*Statement
}

// Places finds the place of each namespace for one list of statements.
type Places struct {
	list []*Statement
	by   map[string]*Place // by namespace
	same map[string]*Place // by what the statements make of it
}

// NewPlaces returns the places of some statements.
func NewPlaces(list []*Statement) *Places {
	return &Places{list: list, by: map[string]*Place{"": {Left: list}}, same: make(map[string]*Place)}
}

// Of returns the place of a namespace. The empty one stands for every namespace, and none.
func (p *Places) Of(namespace string) *Place {
	if found := p.by[namespace]; found != nil {
		return found
	}
	var key []byte
	var left []*Statement
	for i, s := range p.list {
		if f := s.fitIn(namespace); f != never {
			key = append(key, byte(i), byte(i>>8), byte(i>>16), byte(f))
			left = append(left, s)
		}
	}
	found := p.same[string(key)]
	if found == nil {
		found = &Place{Left: left}
		p.same[string(key)] = found
	}
	p.by[namespace] = found
	return found
}

// fit is whether a statement fits in a namespace as far as its name decides.
type fit byte

const (
	never fit = iota
	always
	byLabels // of the namespace
)

// ReadsNamespace reports whether the condition treats some namespaces in another way.
func (s *Statement) ReadsNamespace() bool { return s.Condition.filter() != nil }

func (s *Statement) fitIn(namespace string) fit {
	if s.Namespace != "" && s.Namespace != namespace {
		return never
	}
	f := s.Condition.filter()
	switch {
	case f == nil, len(f.Patterns) > 0 && matchGlobs(f.Patterns, namespace):
		return always
	case len(f.Terms) > 0:
		return byLabels
	}
	return never
}
