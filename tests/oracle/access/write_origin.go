package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/tests/oracle/yaml"
)

// write lays the world out as files: documents in random order, in random
// spelling, in containers or alone. It notes in the world where each rule stands.
func (g *Generator) write() map[string]string {
	documents := slices.Concat(g.OriginDocuments(), g.KubernetesDocuments(), g.World.Denials.Documents(g.Source))
	g.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
	files := map[string]string{}
	for n := 0; len(documents) > 0; n++ {
		count := min(len(documents), 1+g.IntN(8))
		path, text := yaml.LayOut(g.Source, n, documents[:count])
		files[path] = text
		documents = documents[count:]
	}
	g.AddModules(files)
	return files
}

// AddModules adds the extension modules that some rule uses.
func (g *Generator) AddModules(files map[string]string) {
	for name, used := range g.restrictionKinds() {
		if used {
			files["rego/"+name+".rego"] = modules[name]
		}
	}
}

// restrictionKinds states which extension modules some rule uses.
func (g *Generator) restrictionKinds() map[string]bool {
	used := map[string]bool{}
	for _, role := range g.World.OriginRoles {
		for _, rule := range role.Rules {
			if rule.Restrictions != nil && modules[rule.Restrictions.Kind] != "" {
				used[rule.Restrictions.Kind] = true
			}
		}
	}
	return used
}

// OriginDocuments writes the roles and bindings of Origin, in containers or alone.
func (g *Generator) OriginDocuments() []yaml.Object {
	w := g.World
	var documents []yaml.Object
	roles := slices.Clone(w.OriginRoles)
	bindings := slices.Clone(w.OriginBindings)
	for _, namespace := range random.Namespaces {
		own := slices.ContainsFunc(bindings, func(b *OriginBinding) bool { return b.Namespace == namespace && b.RoleNamespace == namespace })
		needed := namespace != w.Master && (own || slices.ContainsFunc(roles, func(r *OriginRole) bool { return r.Namespace == namespace }))
		if needed || g.Once(6) {
			documents = append(documents, g.policy(namespace, &roles))
			if own || g.Once(6) {
				documents = append(documents, g.policyBinding(namespace, namespace, &bindings))
			}
		}
		if namespace != w.Master && g.Once(3) {
			documents = append(documents, g.policyBinding(namespace, w.Master, &bindings))
		}
	}
	for _, role := range roles {
		flat := g.Once(2)
		documents = append(documents, g.originHeader(flat, "Role", role.Namespace, role.Name, yaml.Object{{"rules", g.originRules(flat, role)}}, new(string)))
	}
	for _, b := range bindings {
		flat := g.Once(2)
		documents = append(documents, g.originHeader(flat, "RoleBinding", b.Namespace, b.Name, g.originBindingBody(flat, b), &b.Source))
	}
	return documents
}

// policy is the container of a namespace; it takes some of the roles into itself.
func (g *Generator) policy(namespace string, roles *[]*OriginRole) yaml.Object {
	flat := g.Once(2)
	var body, inside yaml.Object
	*roles = slices.DeleteFunc(*roles, func(role *OriginRole) bool {
		if role.Namespace != namespace || g.Once(2) {
			return false
		}
		inside = append(inside, yaml.Member{role.Name, append(g.inner(flat, namespace, role.Name), yaml.Member{"rules", g.originRules(flat, role)})})
		return true
	})
	if inside != nil {
		body = yaml.Object{{"roles", inside}}
	}
	if g.Once(4) {
		body = append(body, yaml.Member{"lastModified", "2015-01-20T10:00:00Z"})
	}
	return g.originHeader(flat, "Policy", namespace, g.One(names), body, new(string))
}

func (g *Generator) policyBinding(namespace, target string, bindings *[]*OriginBinding) yaml.Object {
	flat := g.Once(2)
	var body, inside yaml.Object
	if g.Once(2) {
		body = yaml.Object{{"policyRef", yaml.Object{{"namespace", target}}}}
	}
	*bindings = slices.DeleteFunc(*bindings, func(b *OriginBinding) bool {
		if b.Namespace != namespace || b.RoleNamespace != target || g.Once(2) {
			return false
		}
		inside = append(inside, yaml.Member{b.Name, yaml.Mark(append(g.inner(flat, namespace, b.Name), g.originBindingBody(flat, b)...), &b.Source)})
		return true
	})
	if inside != nil {
		body = append(body, yaml.Member{"roleBindings", inside})
	}
	return g.originHeader(flat, "PolicyBinding", namespace, target, body, new(string))
}

// inner is what a document in a container may repeat of its name.
func (g *Generator) inner(flat bool, namespace, name string) yaml.Object {
	if g.Once(2) {
		return nil
	}
	if flat {
		return yaml.Object{{"name", name}, {"namespace", namespace}}
	}
	return yaml.Object{{"metadata", yaml.Object{{"name", name}, {"namespace", namespace}}}}
}

// originHeader writes the place of the document to source.
func (g *Generator) originHeader(flat bool, kind, namespace, name string, body yaml.Object, source *string) yaml.Object {
	if !flat {
		metadata := yaml.Object{{"name", name}, {"namespace", namespace}}
		if g.Once(4) {
			metadata = append(metadata, yaml.Member{"labels", yaml.Object{{"a", "b"}}}, yaml.Member{"uid", "123"})
		}
		return append(yaml.Object{{"apiVersion", OriginVersion}, {"kind", yaml.Mark(kind, source)}, {"metadata", metadata}}, body...)
	}
	if g.Once(2) {
		kind = g.One([]string{strings.ToLower(kind), strings.ToLower(kind[:1]) + kind[1:], strings.ToUpper(kind)})
	}
	header := yaml.Object{{"kind", yaml.Mark(kind, source)}, {"name", name}, {"namespace", namespace}}
	if g.Once(3) {
		header = append(header, yaml.Member{"apiVersion", OriginVersion})
	}
	return append(header, body...)
}

// spelt is a field name of the flat form in some case, and as it is otherwise.
func (g *Generator) spelt(flat bool, field string) string {
	if !flat || !g.Once(4) {
		return field
	}
	return g.One([]string{strings.ToUpper(field[:1]) + field[1:], strings.ToLower(field), strings.ToUpper(field)})
}

func (g *Generator) originRules(flat bool, role *OriginRole) yaml.List {
	rules := yaml.List{}
	for _, rule := range role.Rules {
		body := yaml.Object{{g.spelt(flat, "verbs"), yaml.Texts(rule.Verbs)}, {g.spelt(flat, "resourceKinds"), yaml.Texts(rule.Kinds)}}
		if rule.Deny || g.Once(5) {
			var value any = rule.Deny
			if flat && g.Once(2) {
				value = fmt.Sprint(rule.Deny)
			}
			body = append(body, yaml.Member{g.spelt(flat, "deny"), value})
		}
		if rule.Restrictions != nil {
			body = append(body, yaml.Member{g.spelt(flat, "attributeRestrictions"), restrictionBody(rule.Restrictions)})
		}
		g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
		rules = append(rules, yaml.Mark(body, &rule.Source))
	}
	return rules
}

func restrictionBody(s *Restrictions) yaml.Object {
	var body yaml.Object
	if s.Fields != nil {
		body = append(body, yaml.Member{"fieldsMutatable", yaml.Texts(s.Fields)})
	}
	if s.Labels != nil {
		body = append(body, yaml.Member{"labelsContain", yaml.Texts(s.Labels)})
	}
	if s.Select != nil {
		body = append(body, yaml.Member{"fieldsSelect", yaml.Texts(s.Select)})
	}
	if s.Kind != "" {
		body = append(body, yaml.Member{"kind", s.Kind})
	}
	for key, value := range s.Params { // at most one
		if items, ok := value.([]any); ok {
			value = yaml.List(items)
		}
		body = append(body, yaml.Member{key, value})
	}
	return body
}

func (g *Generator) originBindingBody(flat bool, b *OriginBinding) yaml.Object {
	var body yaml.Object
	global := b.RoleNamespace == g.World.Master
	switch {
	case g.Once(2):
		ref := yaml.Object{{g.spelt(flat, "name"), b.RoleName}}
		if b.RoleNamespace != b.Namespace || g.Once(2) {
			ref = append(ref, yaml.Member{g.spelt(flat, "namespace"), b.RoleNamespace})
		}
		if g.Once(4) {
			ref = append(ref, yaml.Member{"kind", "Role"}, yaml.Member{"apiVersion", OriginVersion})
		}
		body = yaml.Object{{g.spelt(flat, "roleRef"), ref}}
	case global && (b.Namespace != g.World.Master || g.Once(2)):
		body = yaml.Object{{g.spelt(flat, "roleName"), b.RoleName}, {g.spelt(flat, "referencesGlobalRole"), true}}
	default:
		body = yaml.Object{{g.spelt(flat, "roleName"), b.RoleName}}
		if g.Once(2) {
			body = append(body, yaml.Member{g.spelt(flat, "referencesGlobalRole"), false})
		}
	}
	if len(b.Users) > 0 || g.Once(2) {
		body = append(body, yaml.Member{g.spelt(flat, "userNames"), yaml.Texts(b.Users)})
	}
	if len(b.Groups) > 0 || g.Once(2) {
		body = append(body, yaml.Member{g.spelt(flat, "groupNames"), yaml.Texts(b.Groups)})
	}
	if b.Dates.NotBefore != "" {
		body = append(body, yaml.Member{g.spelt(flat, "notBefore"), yaml.Bare(b.Dates.NotBefore)})
	}
	if b.Dates.NotAfter != "" {
		body = append(body, yaml.Member{g.spelt(flat, "notAfter"), b.Dates.NotAfter})
	}
	return body
}
