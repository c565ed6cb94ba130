package console

import "encoding/json"

// MatrixQuery asks for a matrix.
type MatrixQuery struct {
	// Of is "who" (empty means the same) or "what".
	Of string
	// Resource, APIGroup and Name are those of who; Subject of what: user:NAME,
	// group:NAME, or a name of either.
	Resource, APIGroup, Name string
	Subject                  string
	Namespace                string
	// Facts are further facts of the request as JSON; nil for none.
	Facts json.RawMessage
	// Search keeps rows whose name contains it, in any case.
	Search string
	// Only keeps the subjects of who that a rule allows something, and the resources of what
	// that a rule allows the subject something on.
	Only bool
	// Limit is the most rows; zero means 50. After is Matrix.After of the page before.
	Limit int
	After string
	// Each, if set, gets the columns without rows, and then all rows in parts, whose cells
	// have neither sources nor requests; Matrix returns none. Its error ends Matrix. It
	// must not keep a part.
	Each func(part *Matrix) error
}

// Matrix has subjects or resources as rows and verbs as columns.
type Matrix struct {
	Columns []string `json:"columns"`
	Rows    []Row    `json:"rows"`
	// Total is the number of rows of all pages.
	Total int `json:"total"`
	// After is MatrixQuery.After of the next page; empty on the last one.
	After string `json:"after,omitempty"`
	// Letters are the first letters of names, of matrices with more than a page.
	Letters []Letter `json:"letters,omitempty"`
	// Warnings are what the matrix leaves out.
	Warnings []string `json:"warnings"`
	Revision string   `json:"revision"`
}

// Row is a subject with its kind (user, group or service account), or a resource with
// its API group.
type Row struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Cells []Cell `json:"cells"`
}

// Letter is the first letter of names.
type Letter struct {
	Letter string `json:"letter"`
	// After is MatrixQuery.After of the page that begins with the letter.
	After string `json:"after"`
}

// Depends is the outcome of a cell that depends on a fact of the request.
const Depends = "depends"

// Cell is what a subject may do to a resource: allow, deny, none or Depends.
type Cell struct {
	Outcome string `json:"outcome"`
	// Text is why, in few words; it may be empty.
	Text string `json:"text"`
	// Until is when the outcome of Request changes by the clock; empty if it does not.
	Until string `json:"until,omitempty"`
	// Source is FILE:LINE of the rule, and Title its binding.
	Source string `json:"source"`
	Title  string `json:"title"`
	// Request is a request of the cell, which Explain takes.
	Request json.RawMessage `json:"request"`
}
