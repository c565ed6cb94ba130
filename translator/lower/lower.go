// Package lower turns resolved documents of all families into the tables that
// decide. What comes in has no dangling reference and no duplicate; what goes
// out is data without positions, save the file and line that a decision reports.
// It knows no Rego and no bundle.
package lower

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/resolve"
	"github.com/writ-policy/writ/translator/tables"
)

// Lower makes the tables. Equal documents give equal tables, whatever their
// order.
func Lower(r *resolve.Resolved) (*tables.Tables, diag.List) { return new(Lowerer).Lower(r) }

// Lowerer makes the tables of all families, time and again.
type Lowerer struct{ access AccessLowerer }

// Lower makes the tables of the documents.
func (l *Lowerer) Lower(r *resolve.Resolved) (*tables.Tables, diag.List) {
	access, list := l.access.Lower(r.Access)
	gateway, more := lowerGateway(r.Gateway)
	return &tables.Tables{
		Deny: denyPolicies(r.Deny), Access: access, Visibility: lowerVisibility(r.Visibility), Gateway: gateway,
	}, append(list, more...)
}
