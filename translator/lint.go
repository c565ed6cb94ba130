package translator

import (
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/lint"
	"github.com/writ-policy/writ/translator/tables"
)

// Lint returns the warnings for documents that compile and should still not be.
func Lint(r *Result) diag.List {
	return capped(withoutBootstrap(lint.Check(r.grants, tables.Of[*tables.Access](r.Tables))))
}

// LintAuthor returns an error for every rule that the author of the change from
// base to r gives away without holding it, and for every denial that goes away for the
// author. Base may be nil: then all documents are new, what the author holds is read
// from them too, and no denial goes away.
func LintAuthor(r, base *Result, author lint.Author) diag.List {
	var before *tables.Access
	if base != nil {
		before = tables.Of[*tables.Access](base.Tables)
	}
	list := lint.Escalation(r.grants, tables.Of[*tables.Access](r.Tables), before, author)
	if base != nil {
		list = append(list, lint.Relaxed(revisionOf(r), revisionOf(base), author)...).Sorted()
	}
	return capped(withoutBootstrap(list))
}

// revisionOf returns what lint compares of a result.
func revisionOf(r *Result) lint.Revision {
	out := lint.Revision{Tables: r.Tables, Extensions: make(map[string]string), Routes: make(map[string]string)}
	for _, e := range directory.DocumentsOf[*extension.Extension](r.Directory) {
		out.Extensions[e.File] = string(e.Source)
	}
	for _, route := range directory.DocumentsOf[*document.Route](r.Directory) {
		out.Routes[tables.Locator(route.Kind, route.Namespace, route.Name)] = route.At.Source()
	}
	return out
}

// grantsOf returns the roles and bindings of a directory, which lint reads.
func grantsOf(families []Family) *access.Resolved {
	for _, family := range families {
		if f, ok := family.(*access.Family); ok {
			return f.Resolved()
		}
	}
	return new(access.Resolved)
}
