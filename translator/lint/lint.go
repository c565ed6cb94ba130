// Package lint says what compiles and should still not be. Resolved documents
// and their tables come in, diagnostics go out. It never changes what compiles,
// and knows neither Rego nor how a request is decided: where that matters, it
// asks.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/document"
	"github.com/writ-policy/writ/translator/lower"
	"github.com/writ-policy/writ/translator/resolve"
)

// Check returns the warnings for documents that compile, sorted.
func Check(r *resolve.Resolved, access *lower.Access) diag.List {
	var list diag.List
	for _, role := range r.KubernetesRoles {
		// What an aggregated role holds is said where it is written.
		if !role.Document.Aggregated {
			list = append(list, kubernetesGrants(role.Document, access)...)
		}
	}
	for _, role := range r.OriginRoles {
		list = append(list, originGrants(role, access)...)
		list = append(list, reviewDenials(role, access)...)
	}
	list = append(list, stockRolesInMaster(r)...)
	return list.Sorted()
}

// stockRolesInMaster warns of edit and admin bound in the master namespace:
// they leave out roles, but not clusterroles, and are meant for namespaces.
func stockRolesInMaster(r *resolve.Resolved) diag.List {
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
				Hint: "bind it in a namespace, or say cluster-admin where that is meant",
			})
		}
	}
	return list
}

// reviewDenials warns of deny rules that deny whatever they touch where the
// object is not known: a SubjectAccessReview carries neither labels nor fields.
func reviewDenials(d *document.OriginRole, access *lower.Access) diag.List {
	var list diag.List
	role := access.Roles.At(lower.RoleKey(d.Family, d.Namespace, d.Name))
	for i := range role.Origin {
		rule := &role.Origin[i]
		if !rule.Deny || rule.Restrictions == nil {
			continue
		}
		var reads []string
		if rule.Restrictions.Fields != nil && changesFields(rule) {
			reads = append(reads, "fieldsMutatable")
		}
		if rule.Restrictions.Labels != nil {
			reads = append(reads, "labelsContain")
		}
		if len(reads) == 0 {
			continue
		}
		list.Add(diag.Diagnostic{
			Position: d.Rules[i].Restrictions.At,
			Severity: diag.Warning,
			Code:     diag.ReviewDenies,
			Message: fmt.Sprintf("rule %d of Role %q denies every SubjectAccessReview it touches: a review does not carry what %s reads",
				i, d.Name, strings.Join(reads, " and ")),
			Hint: "use it where the enforcement point sends labels and fields, or deny without restrictions",
		})
	}
	return list
}

// changesFields reports whether a rule's verbs are of those whose requests may
// or may not say which fields change: of others fieldsMutatable is decided
// without.
func changesFields(rule *lower.OriginRule) bool {
	return slices.ContainsFunc([]string{"update", "patch", "create"}, func(verb string) bool {
		return lower.MatchesVerb(rule, verb, "")
	})
}
