package translator

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint"
	"github.com/writ-policy/writ/translator/tables"
)

// Lint returns the warnings for documents that compile and should still not be.
func Lint(r *Result) diag.List { return capped(lint.Check(r.resolved.Access, r.Access)) }

// LintAuthor returns an error for every rule that the author of the change from
// base to r gives away without holding it. Base may be nil: then all documents
// are new, and what the author holds is read from them too.
func LintAuthor(r, base *Result, author lint.Author) diag.List {
	var before *tables.Access
	if base != nil {
		before = base.Access
	}
	return capped(lint.Escalation(r.resolved.Access, r.Access, before, author))
}
