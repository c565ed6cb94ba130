package translator

import (
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
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
