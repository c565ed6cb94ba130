package resolve

import (
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/syntax"
)

// Resolved is the documents of a directory with their references followed, a
// family each.
type Resolved struct {
	Access     *AccessResolved
	Deny       *DenyResolved
	Visibility *VisibilityResolved
	Gateway    *GatewayResolved
	Extensions []*extension.Extension
	Tests      []*decisiontest.DecisionTest
}

// Resolve reads documents together. The result does not depend on their order.
func Resolve(documents []syntax.Document, o Options) (*Resolved, diag.List) {
	return new(Resolver).Resolve(documents, o)
}

// Resolver reads documents together, time and again, most of which it has seen
// before. What comes out does not depend on what it has seen. The zero value has
// seen nothing. It is not safe for concurrent use.
type Resolver struct {
	names  names
	access AccessResolver
}

// Resolve reads documents together. The list is kept and must not be changed.
func (s *Resolver) Resolve(documents []syntax.Document, o Options) (*Resolved, diag.List) {
	d := s.names.newDirectory(documents, o)
	out := &Resolved{
		Access:     s.access.Resolve(d),
		Deny:       ResolveDeny(d),
		Visibility: ResolveVisibility(d),
		Gateway:    ResolveGateway(d),
		Extensions: ResolveExtensions(d),
		Tests:      documentsOf[*decisiontest.DecisionTest](d),
	}
	return out, d.list
}
