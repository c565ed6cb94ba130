package risk

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
)

// reach is how far a power goes, in the order of what matters less.
type reach int

const (
	nowhere      reach = iota
	someNames          // for names that a rule lists
	oneNamespace       // in one namespace, or in some
	inSystem           // in kube-system
	everywhere
)

// discovery is what every stock cluster grants to everybody.
var discovery = []*statement.Statement{
	{Condition: &statement.KubernetesRule{Verbs: []string{"get", "head", "options"}, Paths: []string{
		"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*",
		"/openapi", "/openapi/*", "/version", "/version/", "/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks", "/openid/v1/jwks/"}}},
	{Condition: &statement.KubernetesRule{Verbs: []string{"create"}, Groups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}}},
	{Condition: &statement.KubernetesRule{Verbs: []string{"create"}, Groups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}}},
}

// target is a request of a probe.
type target struct{ verb, group, resource, sub string }

func (p *probe) targets() []target {
	or := func(list []string) []string {
		if len(list) == 0 {
			return []string{""}
		}
		return list
	}
	var out []target
	for _, verb := range or(p.verbs) {
		for _, group := range or(p.groups) {
			for _, resource := range or(p.resources) {
				kind, sub, _ := strings.Cut(resource, "/")
				out = append(out, target{verb, group, kind, sub})
			}
		}
	}
	return out
}

// pin returns what sets the stated members of a request.
func (p *probe) pin(t target, namespace, name string) func(*statement.Request) bool {
	return func(r *statement.Request) bool {
		if t.verb != "" {
			r.Verb = t.verb
		}
		if t.resource != "" {
			r.Group, r.Resource, r.Subresource, r.Path = t.group, t.resource, t.sub, ""
		}
		if namespace != "" {
			r.Namespace = namespace
		}
		if p.isCluster {
			r.Namespace, r.NamespaceLabels = "", nil
		}
		switch {
		case name == noName:
			r.Name = ""
		case name != "":
			r.Name = name
		}
		if r.Path != "" {
			return r.Resource == "" && r.Subresource == "" && r.Group == "" && (t.verb == "" || r.Verb == t.verb)
		}
		return r.Resource != ""
	}
}

// reach returns how far requests that fit all statements, and no denial, are what a rule
// looks for.
func (r *rule) reach(must, denials []*statement.Statement) (reach, map[string]any) {
	best, example := nowhere, map[string]any(nil)
	for i := range r.probes {
		p := &r.probes[i]
		for _, t := range p.targets() {
			if t.resource != "" && !must[0].MayFit(&statement.Request{Verb: t.verb, Resource: t.resource, Subresource: t.sub}) {
				continue
			}
			found, request := p.reach(t, must, denials)
			if found > best {
				best, example = found, request
			}
			if best == everywhere {
				return best, example
			}
		}
	}
	return best, example
}

// noName pins a request to have no name.
const noName = "\x00"

// attempt is a place and a name with the reach of a request that is allowed there. Empty
// members are open.
type attempt struct {
	reach           reach
	namespace, name string
}

// attempts returns the places of a request, the widest first.
func (p *probe) attempts(t target, inNamespace bool) []attempt {
	name := other
	named := []attempt{{someNames, p.namespace, ""}}
	if t.verb == "create" && t.sub == "" {
		// RBAC, "Referring to resources": a list of names cannot cover create, whose
		// request has no name yet.
		name, named = noName, nil
	}
	switch {
	case p.isCluster:
		return append([]attempt{{everywhere, "", name}}, named...)
	case p.namespace != "":
		return append([]attempt{{inSystem, p.namespace, name}}, named...)
	case t.resource == "" && !inNamespace:
		return append([]attempt{{everywhere, "", noName}, {everywhere, "", other}}, named...)
	case t.resource == "":
		return append([]attempt{{oneNamespace, "", noName}, {oneNamespace, "", other}}, named...)
	}
	return append([]attempt{{everywhere, other, name}, {inSystem, systemNamespace, name}, {oneNamespace, "", name}}, named...)
}

// reach tries the places of a request, the widest first.
func (p *probe) reach(t target, must, denials []*statement.Statement) (reach, map[string]any) {
	s := must[0]
	for _, a := range p.attempts(t, s.Namespace != "") {
		if a.namespace != "" && s.Namespace != "" && s.Namespace != a.namespace {
			continue
		}
		not := denials
		if t.resource == "" && t.verb == "" {
			not = slices.Concat(denials, discovery)
		}
		base, _ := statement.RequestOf(statement.PointAccess, nil)
		search := statement.Search{Must: must, MustNot: not, Pin: p.pin(t, a.namespace, a.name), Point: statement.PointAccess, Base: base}
		found := search.Find()
		if found == nil && search.Cut { // more documents than can be searched: report, do not hide
			return a.reach, nil
		}
		if found != nil {
			return a.reach, found.Object(statement.PointAccess)
		}
	}
	return nowhere, nil
}
