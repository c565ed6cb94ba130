package translator

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/inventory"
	"github.com/writ-policy/writ/translator/lint"
	"github.com/writ-policy/writ/translator/tables"
)

// Lint returns the warnings for documents that compile and should still not be. Ends of
// documents are not reported for the zero value of ends.
func Lint(r *Result, ends lint.Ends) diag.List {
	list := lint.Check(r.grants, tables.Of[*tables.Access](r.Tables))
	risks, err := lint.RisksOf(context.Background(), statement.NewWorld(tables.Revision{Tables: r.Tables}))
	if err != nil {
		panic(err) // the context does not end
	}
	list = lint.WithoutRepeated(list, risks)
	for i := range risks {
		list.Add(risks[i].Diagnostic)
	}
	list = append(list, ends.Check(r.Directory)...)
	list = append(list, lint.Sessions(r.Directory, r.Tables)...)
	return capped(withoutBootstrap(list.Sorted()))
}

// LintAuthor returns an error for every rule that the author of the change from
// base to r gives away without holding it. Base may be nil: then all documents are new, and what the
// author holds is read from them too.
func LintAuthor(r, base *Result, author lint.Author, now time.Time) diag.List {
	var before *tables.Access
	var earlier tables.List
	denied := tables.Of[*tables.Deny](r.Tables)
	if base != nil {
		before, earlier = tables.Of[*tables.Access](base.Tables), base.Tables
		denied = tables.Of[*tables.Deny](earlier)
	}
	list := lint.Escalation(r.grants, tables.Of[*tables.Access](r.Tables), before, denied, author, dates.Of(now))
	list = append(list, lint.SessionEscalation(r.Directory, r.Tables, earlier, author, dates.Of(now))...)
	return capped(withoutBootstrap(list.Sorted()))
}

// PlaceOfPaths returns the place of a route of some paths, "GATEWAY > ROUTE", in the first
// revision that has one.
func PlaceOfPaths(paths []string, revisions ...*Result) diag.Position {
	for _, r := range revisions {
		for _, route := range directory.DocumentsOf[*document.Route](r.Directory) {
			name := "> " + tables.Locator(route.Kind, route.Namespace, route.Name) + "#"
			if slices.ContainsFunc(paths, func(path string) bool { return strings.Contains(path, name) }) {
				return route.At
			}
		}
	}
	return diag.Position{}
}

// PlaceOfEntity returns the place of a subject or a resource of an inventory in the first
// revision that lists it.
func PlaceOfEntity(isSubject bool, kind, id string, revisions ...*Result) diag.Position {
	for _, r := range revisions {
		if at, ok := inventory.PlaceOf(r.Directory, isSubject, kind, id); ok {
			return at
		}
	}
	return diag.Position{}
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
