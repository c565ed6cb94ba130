// Package lint reports documents that compile but are dangerous. The input is
// resolved documents and their tables, the output diagnostics. The package does not
// affect what compiles, and knows nothing about Rego and the evaluation of requests;
// where it needs a decision, it calls Author.May.
package lint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint/risk"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// InCheck reports whether a code is one of translating documents, without lint.
func InCheck(code diag.Code) bool {
	return !strings.HasPrefix(string(code), "risk-") &&
		!slices.Contains([]diag.Code{diag.EscalationGrant, diag.Escalation, diag.StockRoleInMaster, diag.ReviewDenies, diag.SelectorTrust, diag.Expired, diag.EndsSoon, diag.TestNeedsNow,
			diag.NeverEnds, diag.LiftsDenials, diag.LongerThanAllowed, diag.SelfApproval, diag.ApproverDomain, diag.HiddenApprover, diag.Provider}, code)
}

// Check returns the warnings about documents that compile, sorted.
func Check(r *access.Resolved, access *tables.Access) diag.List {
	var list diag.List
	for _, role := range r.KubernetesRoles {
		// The rules of an aggregated role are reported for the roles that declare them,
		// and those that API servers make are not the author's.
		if role.Document.Aggregation == nil && !role.Document.Stock {
			list = append(list, kubernetesGrants(role.Document, access)...)
		}
	}
	for _, role := range r.OriginRoles {
		list = append(list, originGrants(role, access)...)
		list = append(list, reviewDenials(role, access)...)
		list = append(list, trustedSelectors(role, access)...)
	}
	list = append(list, stockRolesInMaster(r)...)
	return list.Sorted()
}

// stockRolesInMaster warns about edit and admin bound in the master namespace. They
// exclude roles but not clusterroles, and are intended for other namespaces.
func stockRolesInMaster(r *access.Resolved) diag.List {
	var list diag.List
	for _, b := range r.OriginBindings {
		if b.Document.Namespace != r.Master || b.Role.Namespace != r.Master {
			continue
		}
		if name := b.Role.Name; name == "edit" || name == "admin" {
			at := syntax.Text{Value: name, At: b.Document.RoleName.At}
			list.Add(at.Diagnostic(diag.Warning, diag.StockRoleInMaster, "bind it in another namespace, or bind cluster-admin if that is intended",
				"RoleBinding %q binds %q in the master namespace, where it also grants clusterroles and clusterrolebindings", b.Document.Name, name))
		}
	}
	return list
}

// reviewDenials warns about deny rules with restrictions on labels or fields. A
// SubjectAccessReview has neither, so they deny every review that they match, but lists
// whose selector excludes the labels.
func reviewDenials(d *access.OriginRole, access *tables.Access) diag.List {
	var list diag.List
	role := access.Roles.At(tables.RoleKey(d.Family, d.Namespace, d.Name))
	for i := range role.Origin {
		rule := &role.Origin[i]
		if !rule.Deny || rule.Restrictions == nil {
			continue
		}
		var reads []string
		if rule.Restrictions.Fields != nil && changesFields(rule) {
			reads = append(reads, "fieldsMutatable")
		}
		if rule.Restrictions.Labels != nil && !onlySelects(rule) {
			reads = append(reads, "labelsContain")
		}
		if len(reads) == 0 {
			continue
		}
		list.Add(diag.Diagnostic{
			Position: d.Rules[i].Restrictions.At,
			Severity: diag.Warning,
			Code:     diag.ReviewDenies,
			Message: fmt.Sprintf("rule %d of Role %q denies every SubjectAccessReview that it matches: a review does not contain what %s reads",
				i, d.Name, strings.Join(reads, " and ")),
			Hint: "use it only if the enforcement point sends labels and fields, or deny without restrictions",
		})
	}
	return list
}

// trustedSelectors warns about rules that the selector of a list decides, for kinds that
// Kubernetes does not serve itself.
func trustedSelectors(d *access.OriginRole, access *tables.Access) diag.List {
	var list diag.List
	role := access.Roles.At(tables.RoleKey(d.Family, d.Namespace, d.Name))
	for i := range role.Origin {
		row := &role.Origin[i]
		r := row.Restrictions
		if r == nil || r.Labels == nil && r.Select == nil || !rule.MatchesVerb(row, "list", "") && !rule.MatchesVerb(row, "watch", "") {
			continue
		}
		foreign := slices.IndexFunc(row.Kinds, func(kind string) bool { return !strings.Contains(kind, "/") && !isBuiltIn(kind) })
		if foreign < 0 {
			continue
		}
		list.Add(diag.Diagnostic{
			Position: d.Rules[i].Restrictions.At,
			Severity: diag.Warning,
			Code:     diag.SelectorTrust,
			Message: fmt.Sprintf("the selector of a list decides rule %d of Role %q for kind %s: an aggregated API server that ignores selectors returns every object",
				i, d.Name, syntax.Quote(row.Kinds[foreign])),
			Hint: "leave list and watch out for kinds of servers that ignore selectors",
		})
	}
	return list
}

// isBuiltIn reports whether Kubernetes serves a kind itself.
func isBuiltIn(kind string) bool {
	return slices.ContainsFunc(tables.KindSynonyms(kind), func(word string) bool {
		_, found := vocabulary.GroupOf(word)
		return found
	})
}

// onlySelects reports whether a rule matches no verb but those whose reviews have a selector.
func onlySelects(rule *tables.OriginRule) bool {
	return len(rule.Verbs) > 0 && !slices.ContainsFunc(rule.Verbs, func(verb string) bool { return verb != "list" && verb != "watch" })
}

// changesFields reports whether a rule matches verbs that change fields. For other
// verbs fieldsMutatable does not depend on the request.
func changesFields(row *tables.OriginRule) bool {
	return slices.ContainsFunc([]string{"update", "patch", "create"}, func(verb string) bool {
		return rule.MatchesVerb(row, verb, "")
	})
}

// Risk is a dangerous grant with its warning, which is at the line of the binding.
type Risk struct {
	risk.Finding
	Diagnostic diag.Diagnostic
}

// RisksOf returns the dangerous grants of a revision, the most severe first. The error is
// that of a context that ends.
func RisksOf(ctx context.Context, w *statement.World) ([]Risk, error) {
	findings, err := risk.Of(ctx, w)
	if err != nil {
		return nil, err
	}
	out := make([]Risk, len(findings))
	for i := range findings {
		out[i] = Risk{findings[i], riskDiagnostic(&findings[i])}
	}
	return out, nil
}

// escalations are the codes of risks that say of a bound role what EscalationGrant says.
var escalations = []diag.Code{diag.RiskAllPowers, diag.RiskImpersonate, diag.RiskBindEscalate, diag.RiskWriteRoles}

// WithoutRepeated removes the warnings about rules that grant an escalation if a binding of
// the role has it as a risk: that has the subjects as well.
func WithoutRepeated(list diag.List, risks []Risk) diag.List {
	reported := make(map[string]bool)
	for i := range risks {
		if slices.Contains(escalations, risks[i].Code) {
			for _, source := range risks[i].Sources {
				reported[source] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool {
		return d.Code == diag.EscalationGrant && reported[d.Position.Source()]
	})
}

func riskDiagnostic(f *risk.Finding) diag.Diagnostic {
	at, _ := diag.ParseSource(f.Binding.Source)
	subjects := elements.Map(f.Subjects, risk.Subject)
	d := diag.Diagnostic{
		Position: at, Severity: diag.Warning, Code: f.Code, Risk: f.Severity, Subjects: f.Subjects,
		Message: fmt.Sprintf("%s, %s: %s can %s, by %s", f.Severity, f.Reach(), strings.Join(statement.Shorten(subjects), ", "), f.What(), f.Binding),
	}
	if text, known := diag.Explain(f.Code); known {
		_, d.Hint, _ = strings.Cut(strings.TrimSuffix(text.Text, "."), "\nRemedy: ")
	}
	if role, ok := diag.ParseSource(f.Role.Source); ok {
		d.Related = []diag.Related{{Position: role, Message: fmt.Sprintf("rule %d of %s allows it", f.Rule, f.Role)}}
	}
	return d
}
