package console

// Files are the documents of the active revision, and the diagnostics of the last attempt.
type Files struct {
	Files []File `json:"files"`
	// Diagnostics are errors first, at most 100 of Errors and Warnings.
	Diagnostics []Diagnostic `json:"diagnostics"`
	Errors      int          `json:"errors"`
	Warnings    int          `json:"warnings"`
	// Note is why texts are missing; empty if none is.
	Note string `json:"note,omitempty"`
}

// File is a file of documents with the numbers of documents and diagnostics.
type File struct {
	File        string `json:"file"`
	Documents   int    `json:"documents"`
	Diagnostics int    `json:"diagnostics"`
	// Errors is how many of Diagnostics are errors.
	Errors int `json:"errors"`
}

// Diagnostic is a mistake in documents.
type Diagnostic struct {
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Column   int       `json:"column"`
	Field    string    `json:"field,omitempty"`
	Length   int       `json:"length"`
	Severity string    `json:"severity"`
	Code     string    `json:"code"`
	Message  string    `json:"message"`
	Hint     string    `json:"hint"`
	Related  []Related `json:"related"`
	// Text is the line that the diagnostic is about; empty if it is not known.
	Text string `json:"text"`
}

// Related is another place that explains a diagnostic.
type Related struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// Document is a file with its text, rules and diagnostics.
type Document struct {
	File string `json:"file"`
	// From is the number of the first of Lines, and Total the number of lines.
	From   int       `json:"from"`
	Total  int       `json:"total"`
	Lines  []string  `json:"lines"`
	Tokens [][]Token `json:"tokens"`
	// Documents are those with rules, or that bind them, in the order of lines.
	Documents   []Object     `json:"documents"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	// Note is why the text is missing; empty if it is not.
	Note string `json:"note,omitempty"`
}

// Object is one document of a file.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Family is that of a role, kubernetes or origin; empty for other documents.
	Family string `json:"family,omitempty"`
	// Binds is the role that a binding grants; nil for other documents.
	Binds *BoundRole `json:"binds,omitempty"`
	Line  int        `json:"line"`
	Rules []RuleLine `json:"rules"`
}

// BoundRole is the role of a binding, with its family.
type BoundRole struct {
	Named
	Family string `json:"family"`
}

// RuleLine is a rule of a document with its counts.
type RuleLine struct {
	// Rule is its index, -1 for the document as a whole.
	Rule    int    `json:"rule"`
	Line    int    `json:"line"`
	Decided uint64 `json:"decided"`
	Matched uint64 `json:"matched"`
}

// RulesQuery asks for rules.
type RulesQuery struct {
	// Never keeps rules that never decided.
	Never bool
	// Limit is the most rules; zero means 50. After is Rules.After of the page before.
	Limit int
	After string
}

// Rules are rules with how often they decided, most often first.
type Rules struct {
	Rules []Rule `json:"rules"`
	Total int    `json:"total"`
	After string `json:"after,omitempty"`
}

// Rule is a rule of a role or policy. Decided is how many decisions it made since the
// revision that has it first, and Matched how many it matched.
type Rule struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Family is that of a role, kubernetes or origin; empty for policies.
	Family  string `json:"family,omitempty"`
	Rule    int    `json:"rule"`
	Source  string `json:"source"`
	Decided uint64 `json:"decided"`
	Matched uint64 `json:"matched"`
}
