package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// write lays the world out as files: documents in random order, in random
// spelling, in containers or alone. It notes in the world where each rule stands.
func (g *generator) write() map[string]string {
	documents := slices.Concat(g.originDocuments(), g.kubernetesDocuments(), g.denyDocuments())
	g.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
	files := map[string]string{}
	for n := 0; len(documents) > 0; n++ {
		count := min(len(documents), 1+g.IntN(8))
		path, text := g.file(n, documents[:count])
		files[path] = text
		documents = documents[count:]
	}
	g.addModules(files)
	return files
}

// addModules adds the extension modules that some rule uses.
func (g *generator) addModules(files map[string]string) {
	for name, used := range g.restrictionKinds() {
		if used {
			files["rego/"+name+".rego"] = modules[name]
		}
	}
}

// restrictionKinds says which extension modules some rule uses.
func (g *generator) restrictionKinds() map[string]bool {
	used := map[string]bool{}
	for _, role := range g.world.OriginRoles {
		for _, rule := range role.Rules {
			if rule.Restrictions != nil && modules[rule.Restrictions.Kind] != "" {
				used[rule.Restrictions.Kind] = true
			}
		}
	}
	return used
}

func (g *generator) file(n int, documents []object) (string, string) {
	folder := g.one([]string{"", "", "roles/", "a/b/"})
	if g.once(5) {
		p := &printer{random: g.random, file: fmt.Sprintf("%sf%d.json", folder, n)}
		p.json(listOf(documents), 0, g.once(2))
		return p.file, p.text.String()
	}
	p := &printer{random: g.random, file: fmt.Sprintf("%sf%d.%s", folder, n, g.one([]string{"yaml", "yml"}))}
	if g.once(5) {
		p.document(listOf(documents))
		return p.file, p.text.String()
	}
	if g.once(3) {
		p.text.WriteString("---\n")
	}
	for i, document := range documents {
		if i > 0 {
			p.text.WriteString("---\n")
		}
		p.document(document)
	}
	return p.file, p.text.String()
}

func listOf(documents []object) object {
	items := list{}
	for _, document := range documents {
		items = append(items, document)
	}
	return object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}
}

func (g *generator) originDocuments() []object {
	w := g.world
	var documents []object
	roles := slices.Clone(w.OriginRoles)
	bindings := slices.Clone(w.OriginBindings)
	for _, namespace := range namespaces {
		own := slices.ContainsFunc(bindings, func(b *OriginBinding) bool { return b.Namespace == namespace && b.RoleNamespace == namespace })
		needed := namespace != w.Master && (own || slices.ContainsFunc(roles, func(r *OriginRole) bool { return r.Namespace == namespace }))
		if needed || g.once(6) {
			documents = append(documents, g.policy(namespace, &roles))
			if own || g.once(6) {
				documents = append(documents, g.policyBinding(namespace, namespace, &bindings))
			}
		}
		if namespace != w.Master && g.once(3) {
			documents = append(documents, g.policyBinding(namespace, w.Master, &bindings))
		}
	}
	for _, role := range roles {
		flat := g.once(2)
		documents = append(documents, g.originHeader(flat, "Role", role.Namespace, role.Name, object{{"rules", g.originRules(flat, role)}}))
	}
	for _, b := range bindings {
		flat := g.once(2)
		documents = append(documents, g.originHeader(flat, "RoleBinding", b.Namespace, b.Name, g.originBindingBody(flat, b)))
	}
	return documents
}

// policy is the container of a namespace; it takes some of the roles into itself.
func (g *generator) policy(namespace string, roles *[]*OriginRole) object {
	flat := g.once(2)
	var body, inside object
	*roles = slices.DeleteFunc(*roles, func(role *OriginRole) bool {
		if role.Namespace != namespace || g.once(2) {
			return false
		}
		inside = append(inside, member{role.Name, append(g.inner(flat, namespace, role.Name), member{"rules", g.originRules(flat, role)})})
		return true
	})
	if inside != nil {
		body = object{{"roles", inside}}
	}
	if g.once(4) {
		body = append(body, member{"lastModified", "2015-01-20T10:00:00Z"})
	}
	return g.originHeader(flat, "Policy", namespace, g.one(names), body)
}

func (g *generator) policyBinding(namespace, target string, bindings *[]*OriginBinding) object {
	flat := g.once(2)
	var body, inside object
	if g.once(2) {
		body = object{{"policyRef", object{{"namespace", target}}}}
	}
	*bindings = slices.DeleteFunc(*bindings, func(b *OriginBinding) bool {
		if b.Namespace != namespace || b.RoleNamespace != target || g.once(2) {
			return false
		}
		inside = append(inside, member{b.Name, append(g.inner(flat, namespace, b.Name), g.originBindingBody(flat, b)...)})
		return true
	})
	if inside != nil {
		body = append(body, member{"roleBindings", inside})
	}
	return g.originHeader(flat, "PolicyBinding", namespace, target, body)
}

// inner is what a document in a container may repeat of its name.
func (g *generator) inner(flat bool, namespace, name string) object {
	if g.once(2) {
		return nil
	}
	if flat {
		return object{{"name", name}, {"namespace", namespace}}
	}
	return object{{"metadata", object{{"name", name}, {"namespace", namespace}}}}
}

func (g *generator) originHeader(flat bool, kind, namespace, name string, body object) object {
	if !flat {
		metadata := object{{"name", name}, {"namespace", namespace}}
		if g.once(4) {
			metadata = append(metadata, member{"labels", object{{"a", "b"}}}, member{"uid", "123"})
		}
		return append(object{{"apiVersion", OriginVersion}, {"kind", kind}, {"metadata", metadata}}, body...)
	}
	if g.once(2) {
		kind = g.one([]string{strings.ToLower(kind), strings.ToLower(kind[:1]) + kind[1:], strings.ToUpper(kind)})
	}
	header := object{{"kind", kind}, {"name", name}, {"namespace", namespace}}
	if g.once(3) {
		header = append(header, member{"apiVersion", OriginVersion})
	}
	return append(header, body...)
}

// spelt is a field name of the flat form in some case, and as it is otherwise.
func (g *generator) spelt(flat bool, field string) string {
	if !flat || !g.once(4) {
		return field
	}
	return g.one([]string{strings.ToUpper(field[:1]) + field[1:], strings.ToLower(field), strings.ToUpper(field)})
}

func (g *generator) originRules(flat bool, role *OriginRole) list {
	rules := list{}
	for _, rule := range role.Rules {
		body := object{{g.spelt(flat, "verbs"), texts(rule.Verbs)}, {g.spelt(flat, "resourceKinds"), texts(rule.Kinds)}}
		if rule.Deny || g.once(5) {
			var value any = rule.Deny
			if flat && g.once(2) {
				value = fmt.Sprint(rule.Deny)
			}
			body = append(body, member{g.spelt(flat, "deny"), value})
		}
		if rule.Restrictions != nil {
			body = append(body, member{g.spelt(flat, "attributeRestrictions"), restrictionBody(rule.Restrictions)})
		}
		g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
		rules = append(rules, marked{body, &rule.Source})
	}
	return rules
}

func restrictionBody(s *Restrictions) object {
	var body object
	if s.Fields != nil {
		body = append(body, member{"fieldsMutatable", texts(s.Fields)})
	}
	if s.Labels != nil {
		body = append(body, member{"labelsContain", texts(s.Labels)})
	}
	if s.Kind != "" {
		body = append(body, member{"kind", s.Kind})
	}
	for key, value := range s.Params { // at most one
		if items, ok := value.([]any); ok {
			value = list(items)
		}
		body = append(body, member{key, value})
	}
	return body
}

func (g *generator) originBindingBody(flat bool, b *OriginBinding) object {
	var body object
	global := b.RoleNamespace == g.world.Master
	switch {
	case g.once(2):
		ref := object{{g.spelt(flat, "name"), b.RoleName}}
		if b.RoleNamespace != b.Namespace || g.once(2) {
			ref = append(ref, member{g.spelt(flat, "namespace"), b.RoleNamespace})
		}
		if g.once(4) {
			ref = append(ref, member{"kind", "Role"}, member{"apiVersion", OriginVersion})
		}
		body = object{{g.spelt(flat, "roleRef"), ref}}
	case global && (b.Namespace != g.world.Master || g.once(2)):
		body = object{{g.spelt(flat, "roleName"), b.RoleName}, {g.spelt(flat, "referencesGlobalRole"), true}}
	default:
		body = object{{g.spelt(flat, "roleName"), b.RoleName}}
		if g.once(2) {
			body = append(body, member{g.spelt(flat, "referencesGlobalRole"), false})
		}
	}
	if len(b.Users) > 0 || g.once(2) {
		body = append(body, member{g.spelt(flat, "userNames"), texts(b.Users)})
	}
	if len(b.Groups) > 0 || g.once(2) {
		body = append(body, member{g.spelt(flat, "groupNames"), texts(b.Groups)})
	}
	return body
}

func texts(values []string) list {
	out := list{}
	for _, value := range values {
		out = append(out, value)
	}
	return out
}
