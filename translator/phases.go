package translator

import (
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/deny"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/gateway"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/visibility"
)

// resolved is the documents of a directory with their references followed, a
// family each.
type resolved struct {
	Access     *access.Resolved
	Deny       *deny.Resolved
	Visibility *visibility.Resolved
	Gateway    *gateway.Resolved
	Extensions []*extension.Extension
	Tests      []*decisiontest.DecisionTest
}

// resolver reads documents together, time and again, most of which it has seen
// before. What comes out does not depend on what it has seen. The zero value has
// seen nothing. It is not safe for concurrent use.
type resolver struct {
	names  directory.Names
	access access.Resolver
}

// Resolve reads documents together. The list is kept and must not be changed.
func (s *resolver) Resolve(documents []syntax.Document, o directory.Options) (*resolved, diag.List) {
	d := s.names.NewDirectory(documents, o)
	out := &resolved{
		Access:     s.access.Resolve(d),
		Deny:       deny.Resolve(d),
		Visibility: visibility.Resolve(d),
		Gateway:    gateway.Resolve(d),
		Extensions: extension.Resolve(d),
		Tests:      directory.DocumentsOf[*decisiontest.DecisionTest](d),
	}
	return out, d.List
}

// lowerer makes the tables of all families, time and again.
type lowerer struct{ access access.Lowerer }

// Lower makes the tables of the documents.
func (l *lowerer) Lower(r *resolved) (*tables.Tables, diag.List) {
	roles, list := l.access.Lower(r.Access)
	paths, more := gateway.Lower(r.Gateway)
	return &tables.Tables{
		Deny: deny.Lower(r.Deny), Access: roles, Visibility: visibility.Lower(r.Visibility), Gateway: paths,
	}, append(list, more...)
}
