// Package lint reports documents that compile but are dangerous. The input is
// resolved documents and their tables, the output diagnostics. The package does not
// affect what compiles, and knows nothing about Rego and the evaluation of requests;
// where it needs a decision, it calls Author.May.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/diag"
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
			list.Add(diag.Diagnostic{
				Position: b.Document.RoleName.At,
				Length:   len([]rune(name)),
				Severity: diag.Warning,
				Code:     diag.StockRoleInMaster,
				Message: fmt.Sprintf("RoleBinding %q binds %q in the master namespace, where it also grants clusterroles and clusterrolebindings",
					b.Document.Name, name),
				Hint: "bind it in another namespace, or bind cluster-admin if that is intended",
			})
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
