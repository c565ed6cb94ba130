package access

import (
	"slices"

	"github.com/writ-policy/writ/translator/syntax"
)

// Container is a Policy or a PolicyBinding, and the names of the roles or bindings in it.
type Container struct {
	*syntax.Header
	Members []string
}

// Has reports whether a role or a binding is in the container.
func (c *Container) Has(kind, namespace, name string) bool {
	holds := map[string]string{kindRole: "Policy", kindRoleBinding: "PolicyBinding"}
	return holds[kind] == c.Kind && c.Namespace == namespace && slices.Contains(c.Members, name)
}

// Containers returns the containers among documents.
func Containers(documents []syntax.Document) []Container {
	var out []Container
	at := make(map[*syntax.Header]int)
	add := func(h *syntax.Header) {
		at[h] = len(out)
		out = append(out, Container{Header: h})
	}
	member := func(of, h *syntax.Header) {
		if i, known := at[of]; known {
			out[i].Members = append(out[i].Members, h.Name)
		}
	}
	for _, d := range documents {
		switch d := d.(type) {
		case *originPolicy:
			add(&d.Header)
		case *OriginPolicyBinding:
			add(&d.Header)
		}
	}
	for _, d := range documents {
		switch d := d.(type) {
		case *OriginRole:
			if d.in != nil {
				member(&d.in.Header, &d.Header)
			}
		case *OriginBinding:
			if d.In != nil {
				member(&d.In.Header, &d.Header)
			}
		}
	}
	return out
}
