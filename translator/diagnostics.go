package translator

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// absences are the codes of diagnostics that a document which was not read can explain.
var absences = []diag.Code{
	diag.DanglingRole, diag.NoPolicy, diag.NoPolicyBinding, diag.DanglingReference, diag.EmptyReference, diag.UnknownRestriction,
	diag.TargetNotFound, diag.ParentNotFound, diag.RouteNotAccepted, diag.UnboundRole, diag.EmptyAggregation, diag.DanglingField,
	diag.NoDocuments,
}

// withoutAbsences returns the diagnostics that hold whatever else a directory has.
func withoutAbsences(list diag.List) diag.List {
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return slices.Contains(absences, d.Code) })
}

// holdsAnything reports whether a text that is not valid YAML may hold any document.
func holdsAnything(list []syntax.Undecoded) bool {
	return slices.ContainsFunc(list, func(u syntax.Undecoded) bool { return u.Kind == "" })
}

// emptyOrigins reports the sources without a policy document, if there are several: the
// documents of the others do not show that one of them is an unmounted volume.
func emptyOrigins(snapshot source.Snapshot, files []*decoded) (list diag.List) {
	if len(snapshot.Origins) < 2 {
		return nil
	}
	filled := make([]bool, len(snapshot.Origins))
	for i, file := range files {
		filled[snapshot.Files[i].Origin] = filled[snapshot.Files[i].Origin] ||
			slices.ContainsFunc(file.Documents, func(d syntax.Document) bool { return !d.Meta().Auxiliary })
	}
	for i, origin := range snapshot.Origins {
		if !filled[i] && !origin.MayBeEmpty {
			list.Add(diag.Diagnostic{
				Position: diag.Position{File: origin.Name},
				Code:     diag.NoDocuments,
				Message:  "the source holds no policy document",
				Hint:     "an unmounted volume looks like this; use --allow-empty if it is intended",
			})
		}
	}
	return list
}

// maxDiagnostics bounds what is said about a directory: a hundred thousand
// bindings to one role that is gone are one mistake.
const maxDiagnostics = 10_000

// capped keeps errors before warnings, each in the order they are in, and counts
// what it leaves out.
func capped(list diag.List) diag.List {
	left := len(list) - maxDiagnostics
	if left <= 0 {
		return list
	}
	var errors, warnings diag.List
	for _, d := range list {
		if d.Severity == diag.Error {
			errors = append(errors, d)
		} else {
			warnings = append(warnings, d)
		}
	}
	severity := diag.Warning
	if len(errors) > maxDiagnostics {
		severity = diag.Error
	}
	kept := append(errors, warnings...)[:maxDiagnostics]
	kept.Add(diag.Diagnostic{
		Severity: severity,
		Code:     diag.TooManyMistakes,
		Message:  fmt.Sprintf("%d further mistakes in this directory are not shown", left),
	})
	return kept.Sorted()
}

// isFinal reports whether the same text has the same diagnostics again: it does not if its
// translation did not come to its end.
func isFinal(list diag.List) bool {
	return !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.Interrupted })
}

// interrupted adds the error of a translation that did not come to its end.
func interrupted(list diag.List, err error) diag.List {
	list.Add(diag.Diagnostic{
		Code:    diag.Interrupted,
		Message: fmt.Sprintf("the documents were not translated: %v", err),
	})
	return list.Sorted()
}
