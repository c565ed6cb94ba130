package jsontext

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
)

// Object is an object that is too large to be read as one text: its members are in groups, and a
// member whose value is a large object is one of its own.
type Object struct {
	Members []Member // in the order of their keys
}

// Member is a group of members with their commas, or one with a large object. Within a group, keys are in order.
type Member struct {
	First, Last string  // keys; one if it has an object
	Object      *Object // nil for a group
	// Depth is how many objects are around that of the group.
	Depth int
	// Block has the group, from From to To.
	Block, From, To int
}

// AppendObject appends the group of a block as an object of its own.
func (m *Member) AppendObject(out, block []byte) []byte {
	return append(append(append(out, '{'), block[m.From:m.To]...), '}')
}

// Sizes of Split.
const (
	// blockSize is how long a block is at least.
	blockSize = 256 << 10
	// largeSize is how long an object is at least whose members are read one by one.
	largeSize = 64 << 10
	// unordered is how many members of an object may be out of order: the first, each a group of its own.
	unordered = 32
)

// Split cuts the text of an object into blocks, each of which it gives to keep, in their order; they are
// the whole text. So a text is read that never is in memory at once. What is between groups is
// checked; if Check accepts each group as an object, at its depth, it accepts the whole. Split returns
// nil for a text that is not an object or cannot be cut so: keys are too much out of order, or have
// escapes. The error is that of the reader.
func Split(r io.Reader, keep func(block []byte)) (*Object, error) {
	return (&splitter{r: r, keep: keep, block: blockSize, large: largeSize}).split()
}

type splitter struct {
	r            io.Reader
	keep         func(block []byte)
	block, large int

	text   []byte // from the beginning of the block
	at     int
	ended  bool // the reader
	err    error
	blocks int // that were kept
	open   []*openObject
}

// openObject is an object whose members are being read.
type openObject struct {
	Object
	key   string
	group Member // that is being read; empty before its first member
}

var errNotSplit = errors.New("cannot be split")

func (s *splitter) split() (*Object, error) {
	root, err := s.root()
	if err != nil && s.err == nil {
		root = nil
		for s.fill() { // the rest of the text
			s.at = len(s.text)
			s.cut()
		}
		s.at = len(s.text)
	}
	s.cut()
	return root, s.err
}

// root reads the text.
func (s *splitter) root() (*Object, error) {
	if s.skip() != '{' {
		return nil, errNotSplit
	}
	s.at++
	root := new(openObject)
	s.open = append(s.open, root)
	for first := true; len(s.open) > 0; {
		var err error
		if first, err = s.member(first); err != nil {
			return nil, err
		}
	}
	if s.skip(); s.at < len(s.text) {
		return nil, errNotSplit
	}
	return &root.Object, s.err
}

// member reads a member of the innermost object and what follows it, and reports whether the next
// is the first of its object.
func (s *splitter) member(first bool) (nextIsFirst bool, err error) {
	o := s.open[len(s.open)-1]
	c := s.skip()
	if first && c == '}' {
		return false, s.close()
	}
	key, err := s.key()
	if err != nil {
		return false, err
	}
	from := s.at - len(key) - 2
	if s.skip() != ':' {
		return false, errNotSplit
	}
	s.at++
	if opened, err := s.value(o, key); opened || err != nil {
		return true, err
	}
	if err := o.add(Member{First: key, Last: key, Depth: len(s.open) - 1, Block: s.blocks, From: from, To: s.at}); err != nil {
		return false, err
	}
	if s.at >= s.block {
		o.end()
		s.cut()
	}
	return false, s.after()
}

// key reads a key without escapes.
func (s *splitter) key() (string, error) {
	if s.skip() != '"' {
		return "", errNotSplit
	}
	from := s.at
	for !s.scan() {
		if !s.fill() {
			return "", errNotSplit
		}
	}
	key := s.text[from+1 : s.at-1]
	if bytes.IndexByte(key, '\\') >= 0 || Check(s.text[from:s.at], Limits{}) != nil {
		return "", errNotSplit
	}
	return string(key), nil
}

// value reads a value, or opens the large object that it is.
func (s *splitter) value(of *openObject, key string) (opened bool, err error) {
	isObject := s.skip() == '{'
	for from := s.at; !s.scan(); s.at = from {
		isLarge := isObject && len(s.text)-from >= s.large
		if isLarge || !s.fill() {
			if !isLarge || len(s.open) >= MaxDepth/2 {
				return false, errNotSplit
			}
			s.at = from + 1
			of.end()
			s.open = append(s.open, &openObject{key: key})
			return true, nil
		}
	}
	return false, nil
}

// after reads what follows a value.
func (s *splitter) after() error {
	switch s.skip() {
	case ',':
		s.at++
		return nil
	case '}':
		return s.close()
	}
	return errNotSplit
}

// close ends the innermost object, and reads what follows it.
func (s *splitter) close() error {
	s.at++
	o := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	if err := o.sort(); err != nil || len(s.open) == 0 {
		return err
	}
	outer := s.open[len(s.open)-1]
	outer.Members = append(outer.Members, Member{First: o.key, Last: o.key, Object: &o.Object})
	return s.after()
}

// add adds a member to the group.
func (o *openObject) add(m Member) error {
	switch {
	case len(o.Members) < unordered:
		o.Members = append(o.Members, m)
	case o.group.To == 0:
		o.group = m
	case m.First <= o.group.Last:
		return errNotSplit
	default:
		o.group.Last, o.group.To = m.Last, m.To
	}
	return nil
}

// end ends the group.
func (o *openObject) end() {
	if o.group.To > 0 {
		o.Members = append(o.Members, o.group)
		o.group = Member{}
	}
}

// sort brings the groups into the order of their keys, which is an error if keys of two overlap.
func (o *openObject) sort() error {
	o.end()
	slices.SortFunc(o.Members, func(a, b Member) int { return cmp.Compare(a.First, b.First) })
	for i := 1; i < len(o.Members); i++ {
		if o.Members[i].First <= o.Members[i-1].Last {
			return errNotSplit
		}
	}
	o.Members = slices.Clip(o.Members)
	return nil
}

// skip skips space, and returns the character behind it, zero at the end.
func (s *splitter) skip() byte {
	for {
		for ; s.at < len(s.text); s.at++ {
			if c := s.text[s.at]; !isSpace(c) {
				return c
			}
		}
		if !s.fill() {
			return 0
		}
	}
}

// scan goes to the end of a value or a key if what was read has it.
func (s *splitter) scan() bool {
	depth := 0
	for i := s.at; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			for i++; i < len(s.text) && s.text[i] != '"'; i++ {
				if s.text[i] == '\\' {
					i++
				}
			}
			if i >= len(s.text) {
				return false
			}
		case c == '{' || c == '[':
			depth++
			continue
		case depth == 0 && (c == ',' || c == '}' || c == ']' || isSpace(c)): // behind a bare literal
			s.at = i
			return true
		case c == '}' || c == ']':
			depth--
		default:
			continue
		}
		if depth == 0 {
			s.at = i + 1
			return true
		}
	}
	return false
}

// fill reads more, at least as much as what is not yet scanned, and reports whether there was more.
func (s *splitter) fill() bool {
	if s.ended {
		return false
	}
	n := len(s.text)
	s.text = slices.Grow(s.text, max(s.block, n-s.at))
	for len(s.text) < cap(s.text) && !s.ended {
		read, err := s.r.Read(s.text[len(s.text):cap(s.text)])
		s.text = s.text[:len(s.text)+read]
		if s.ended = err != nil; err != nil && !errors.Is(err, io.EOF) {
			s.err = err
		}
	}
	return len(s.text) > n
}

// cut ends the block.
func (s *splitter) cut() {
	if s.at == 0 {
		return
	}
	s.keep(s.text[:s.at])
	s.blocks++
	s.text = s.text[:copy(s.text, s.text[s.at:])]
	s.at = 0
}
