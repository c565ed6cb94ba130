package translator

import (
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// PolicyConditions returns, by locator, which gateway policies are accepted, if the
// last snapshot had errors. It is nil if it had none: then the tables of the result
// hold the conditions.
func (t *Translator) PolicyConditions() map[string][]tables.GatewayCondition {
	t.mu.Lock()
	defer t.mu.Unlock()
	if gateway := tables.Of[*tables.Gateway](t.rejected); gateway != nil {
		return gateway.Accepted()
	}
	return nil
}

// Result is what a directory without errors translates to. It is immutable, and
// its members are shared with later results.
type Result struct {
	// Tables are what the documents come to, a table a family. Consumers of one family
	// use tables.Of.
	Tables tables.List
	// Counts are the numbers of documents by family and kind, as "kubernetes/Role".
	// DecisionTests are not among them: they are not part of a bundle.
	Counts map[string]int
	// Data is the JSON of the tables.
	Data tables.Text
	// Files are the other emitted files by their path in a bundle.
	Files map[string][]byte
	// Footprint is what the documents can tell apart. It is also one of Files.
	Footprint *footprint.Footprint
	// Directory holds the documents.
	Directory *directory.Directory
	// Documents is how many documents there are, containers' contents included and skipped
	// ones excluded.
	Documents int
	// Skipped are the documents of other kinds, in the order of the files.
	Skipped []syntax.Skipped

	grants *access.Resolved // keeps positions for Lint
}

// Skipped returns the documents of other kinds of the last snapshot, also if it had
// errors. The list must not be modified.
func (t *Translator) Skipped() []syntax.Skipped {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.skipped
}

// Documents returns the documents of the last snapshot, also if it had errors, in the order
// of the files. The list must not be modified.
func (t *Translator) Documents() []syntax.Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.documents
}

// Master returns the master namespace of the last snapshot.
func (t *Translator) Master() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return directory.MasterOr(t.master)
}
