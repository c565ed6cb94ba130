package resolve

import (
	"fmt"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/visibility"
)

// identity is what makes two documents one: two families never collide.
type identity struct {
	family, kind, namespace, name string
}

// names finds the first document of each identity among those of a directory, and
// is kept from one run to the next.
type names struct {
	documents []syntax.Document // in the order of positions
	first     map[identity]syntax.Document
	contested map[identity]bool // which more than one document has
}

func identityOf(h *syntax.Header) identity {
	return identity{h.Family, h.Kind, h.Namespace, h.Name}
}

// update puts other documents in the place of those before and returns which have come
// or gone. Who is first where several have an identity is looked for anew: that is an
// error, and so it is rare.
func (n *names) update(documents []syntax.Document) (changed []syntax.Document) {
	if n.first == nil {
		n.first = make(map[identity]syntax.Document, len(documents))
		n.contested = make(map[identity]bool)
	}
	gone, come := Changes(n.documents, documents, func(a, b syntax.Document) bool { return a == b })
	n.documents = documents
	for _, d := range gone {
		if id := identityOf(d.Meta()); n.first[id] == d {
			delete(n.first, id)
		}
	}
	for _, d := range come {
		switch id := identityOf(d.Meta()); {
		case !unique(d):
		case n.first[id] == nil:
			n.first[id] = d
		default:
			n.contested[id] = true
		}
	}
	if len(n.contested) > 0 {
		n.contest()
	}
	return append(gone, come...)
}

// unique reports whether nothing else may have the document's identity. Several
// files may share a package of Rego.
func unique(d syntax.Document) bool {
	_, shared := d.(*extension.Extension)
	return !shared
}

// contest finds the first documents of contested identities.
func (n *names) contest() {
	doubtful := n.contested
	n.contested = make(map[identity]bool)
	for id := range doubtful {
		delete(n.first, id)
	}
	for _, d := range n.documents {
		id := identityOf(d.Meta())
		switch {
		case !unique(d), !doubtful[id]:
		case n.first[id] == nil:
			n.first[id] = d
		default:
			n.contested[id] = true
		}
	}
}

// claim reports whether the document is the first of its identity.
func (r *resolver) claim(d syntax.Document) bool {
	if len(r.names.contested) == 0 {
		return true
	}
	h := d.Meta()
	first := r.names.first[identityOf(h)]
	if first == d {
		return true
	}
	r.duplicate(h, first.Meta(), title(h)+" is declared twice")
	return false
}

// claimPolicy takes a namespace for its Policy: the container may have any name,
// but there is one.
func (r *resolver) claimPolicy(p *access.OriginPolicy) {
	first, taken := r.originPolicies[p.Namespace]
	if !taken {
		r.originPolicies[p.Namespace] = p
		return
	}
	r.duplicate(&p.Header, &first.Header, fmt.Sprintf(
		"namespace %q already has a Policy %q, so there is no room for %q", p.Namespace, first.Name, p.Name))
}

func (r *resolver) duplicate(second, first *syntax.Header, message string) {
	at := second.At
	if second.Family == visibility.FamilyVisibility || second.Family == document.FamilyGateway {
		at = second.NameAt // where these families have every name that is there twice
	}
	r.list.Add(diag.Diagnostic{
		Position: at,
		Code:     diag.Duplicate,
		Message:  fmt.Sprintf("%s; the first is at %s", message, place(first.At)),
		Hint:     "remove one of them, or give it a name of its own",
		Related:  []diag.Related{{Position: first.At, Message: "the first is here"}},
	})
}

// place is a position within a message.
func place(p diag.Position) string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// title is how a message names a document: kind and name, with the namespace
// where it has one.
func title(h *syntax.Header) string {
	if h.Namespace == "" {
		return fmt.Sprintf("%s %q", h.Kind, h.Name)
	}
	return fmt.Sprintf("%s %q in namespace %q", h.Kind, h.Name, h.Namespace)
}

// maxSuggestions bounds the near names looked for in one run. Each looks at
// every role, and of more mistakes than these nobody reads the hints.
const maxSuggestions = 10

// farthest is how much longer or shorter a name may be that is near to another.
const farthest = 3

// near returns the role whose name is nearest to the wanted one among those that
// fit, or nil where none is close.
func near[D syntax.Document](r *resolver, want string, roles []D, fits func(*syntax.Header) bool) *syntax.Header {
	if r.suggested++; r.suggested > maxSuggestions {
		return nil
	}
	byName := make(map[string]*syntax.Header)
	var names []string
	for _, role := range roles {
		h := role.Meta()
		if fits(h) && len(h.Name) <= len(want)+farthest && len(want) <= len(h.Name)+farthest {
			byName[h.Name] = h
			names = append(names, h.Name)
		}
	}
	return byName[diag.Suggest(want, names)]
}
