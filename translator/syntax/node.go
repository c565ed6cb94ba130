package syntax

import "unicode/utf8"

// Type is the type of a node in the YAML 1.2 core schema.
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

// String returns the name of the type in messages.
func (k Type) String() string {
	return [...]string{"null", "a boolean", "a number", "a number", "a string", "a list", "a mapping"}[k]
}

// Node is a value of a document. Nodes are immutable once built: an alias shares
// the node its anchor names, so that expansion costs no memory.
type Node struct {
	Type   Type
	Quoted bool
	// Explicit states that !!str or the style of a block makes a scalar without quotes a string.
	Explicit bool
	Line     int
	Column   int
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

// Length estimates how many runes the node covers on its line, from its value; it is 1
// for collections.
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
	// maxFileBytes bounds a file. A hundred thousand documents take a tenth of it.
	maxFileBytes = 256 << 20
	// maxDocumentBytes and maxDocumentNodes bound one document, which is held in
	// memory as a whole. A List of a hundred thousand roles fits.
	maxDocumentBytes = 64 << 20
	maxDocumentNodes = 12 << 20
	// maxDepth bounds nesting. Kubernetes' deepest objects stay under thirty.
	maxDepth = 100
	// maxAliasNodes bounds the nodes that the aliases of one document expand to; a long
	// text counts as several.
	maxAliasNodes = 100_000
	// maxDiagnostics bounds the diagnostics of one document, because a megabyte of unknown
	// fields usually has one cause.
	maxDiagnostics = 1000
)

// Empty reports whether n is absent or a list without items.
func (n *Node) Empty() bool { return n == nil || n.Type == List && len(n.Items) == 0 }
