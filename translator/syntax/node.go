package syntax

import "unicode/utf8"

// Type is what a node is in the YAML 1.2 core schema.
type Type uint8

// The types of nodes.
const (
	null Type = iota
	Boolean
	Integer
	float
	String
	List
	Mapping
)

// String is what a message calls a node of this kind.
func (k Type) String() string {
	return [...]string{"null", "a boolean", "a number", "a number", "a string", "a list", "a mapping"}[k]
}

// Node is a value of a document. Nodes are immutable once built: an alias shares
// the node its anchor names, so that expansion costs no memory.
type Node struct {
	Type   Type
	Quoted bool
	Line   int
	Column int
	// Value is the text of a scalar: of a string after unescaping, of anything
	// else as written.
	Value  string
	Items  []*Node
	Fields []Field
}

// Field is one entry of a mapping, in the order written.
type Field struct {
	Key   *Node
	Value *Node
}

// Length is how many runes the node covers on its line, as far as one can tell
// from its value: one for collections.
func (n *Node) Length() int {
	if n.Type == List || n.Type == Mapping {
		return 1
	}
	length := utf8.RuneCountInString(n.Value)
	if n.Quoted {
		length += 2
	}
	return max(length, 1)
}

// IsNull reports whether n is absent or null: both read the same.
func (n *Node) IsNull() bool { return n == nil || n.Type == null }

// Limits on one file. A document within them is decoded in time and memory
// proportional to its length.
const (
	// maxFileBytes bounds a file: a hundred thousand documents are a tenth of it.
	maxFileBytes = 256 << 20
	// maxDocumentBytes and maxDocumentNodes bound one document, which is held in
	// memory as a whole. A List of a hundred thousand roles fits.
	maxDocumentBytes = 64 << 20
	maxDocumentNodes = 12 << 20
	// maxDepth bounds nesting. Kubernetes' deepest objects stay under thirty.
	maxDepth = 100
	// maxAliasNodes is how many nodes the aliases of one document may stand for
	// together, a long text counting as several.
	maxAliasNodes = 100_000
	// maxDiagnostics bounds what is said of one document: a megabyte of unknown
	// fields is one mistake.
	maxDiagnostics = 1000
)

// syntaxError is why a text is no YAML or JSON, with its place. A line of 0
// means the first one.
type syntaxError struct {
	Line, Column int
	Message      string
	Hint         string
}

// Empty reports whether n is absent or a list without items.
func (n *Node) Empty() bool { return n == nil || n.Type == List && len(n.Items) == 0 }
