package syntax

import "github.com/writ-policy/writ/translator/diag"

// Observer notes how a decoder reads a document: which fields it asks for, where a value has
// a wrong type, and which words it may be. A schema is derived from that, so that it cannot differ from
// what decodes. The nil Observer notes nothing. It is not safe for concurrent use.
type Observer struct {
	root  *Node
	asked map[*Node][]string
	wrong map[*Node]bool
	open  map[*Node]bool
	words map[*Node]Words
}

// Words are what a text may be.
type Words struct {
	// Only are all texts that are valid; nil: any.
	Only []string
	// Examples are some texts that are valid.
	Examples []string
}

func (o *Observer) begin(root *Node) {
	if o != nil {
		o.root, o.asked, o.words = root, make(map[*Node][]string), make(map[*Node]Words)
		o.wrong, o.open = make(map[*Node]bool), make(map[*Node]bool)
	}
}

func (o *Observer) done(c *Cursor) { o.Closed(c.Node, c.Asked) }

// opened notes that the mapping n may have fields that the decoder does not ask for.
func (o *Observer) opened(n *Node) {
	if o != nil {
		o.open[n] = true
	}
}

// IsOpen reports whether the decoder accepts other fields in the value at a path than those
// that it asks for.
func (o *Observer) IsOpen(path []string) bool { return o.open[o.find(path)] }

// Closed notes that the mapping n has no other fields than these, where a decoder reports
// other ones itself.
func (o *Observer) Closed(n *Node, names []string) {
	if o != nil {
		o.asked[n] = append(o.asked[n], names...)
	}
}

func (o *Observer) report(n *Node, code diag.Code) {
	if o != nil && (code == diag.WrongType || code == diag.WhenForm) {
		o.wrong[n] = true
	}
}

// note notes what the value n may be.
func (o *Observer) note(n *Node, w Words) {
	if o != nil {
		o.words[n] = w
	}
}

// Words returns what the value at a path may be. The lists must not be modified.
func (o *Observer) Words(path []string) Words { return o.words[o.find(path)] }

// Fields returns the names of the fields that the value at a path may have; closed is
// false if the decoder does not report other ones. A path has names of fields, and "0"
// for the first item of a list.
func (o *Observer) Fields(path []string) (names []string, closed bool) {
	names, closed = o.asked[o.find(path)]
	return names, closed
}

// IsWrongType reports whether the value at a path has a type that the decoder rejects.
func (o *Observer) IsWrongType(path []string) bool { return o.wrong[o.find(path)] }

func (o *Observer) find(path []string) *Node {
	n := o.root
	for _, name := range path {
		switch {
		case n == nil:
			return nil
		case n.Type == List && len(n.Items) > 0:
			n = n.Items[0]
		default:
			n = n.Find(name, false).valueOrNil()
		}
	}
	return n
}

func (f *Field) valueOrNil() *Node {
	if f == nil {
		return nil
	}
	return f.Value
}
