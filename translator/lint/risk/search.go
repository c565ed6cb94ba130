package risk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
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
	{Condition: &statement.KubernetesRule{KubernetesLists: &tables.KubernetesLists{Verbs: []string{"get", "head", "options"}, Paths: []string{
		"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*",
		"/openapi", "/openapi/*", "/version", "/version/", "/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks", "/openid/v1/jwks/"}}}},
	{Condition: &statement.KubernetesRule{KubernetesLists: &tables.KubernetesLists{
		Verbs: []string{"create"}, Groups: []string{"authorization.k8s.io"},
		Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"},
	}}},
	{Condition: &statement.KubernetesRule{KubernetesLists: &tables.KubernetesLists{
		Verbs: []string{"create"}, Groups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"},
	}}},
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
		r.Verb = cmp.Or(t.verb, r.Verb)
		if t.resource != "" {
			r.Group, r.Resource, r.Subresource, r.Path = t.group, t.resource, t.sub, ""
		}
		r.Namespace = cmp.Or(namespace, r.Namespace)
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

// reach returns where requests that fit all statements, and no denial, are what a rule looks
// for.
func (r *rule) reach(must, denials []*statement.Statement) (attempt, map[string]any) {
	best, example := attempt{}, map[string]any(nil)
	if rule, ok := must[0].Condition.(*statement.OriginRule); ok {
		switch {
		case r == &allPowers && len(rule.NotVerbs)+len(rule.NotKinds) > 0:
			return best, nil // everything but something: the other rules name what remains
		case r.word == Wildcards && !slices.Contains(rule.Verbs, "*"):
			return best, nil // exec and proxy match every verb, of some subresources
		}
	}
	for i := range r.probes {
		p := &r.probes[i]
		for _, t := range p.targets() {
			if t.resource != "" && !must[0].MayFit(&statement.Request{Verb: t.verb, Resource: t.resource, Subresource: t.sub}) {
				continue
			}
			found, request := p.reach(t, must, denials)
			if found.reach > best.reach || found.reach == best.reach && best.isNamed && !found.isNamed {
				best, example = found, request
			}
			if best.reach == everywhere && !best.isNamed {
				return best, example
			}
		}
	}
	return best, example
}

// noName pins a request to have no name.
const noName = "\x00"

// attempt is a place and a name with the reach of a request that is allowed there. Empty
// members are open. The zero value reaches nothing.
type attempt struct {
	reach           reach
	namespace, name string
	isNamed         bool
}

// attempts returns the places of a request, the widest first.
func (p *probe) attempts(t target, inNamespace bool) []attempt {
	switch {
	case p.isCluster:
		return p.atNames(t, attempt{reach: everywhere})
	case p.namespace != "":
		return p.atNames(t, attempt{reach: inSystem, namespace: p.namespace})
	case t.resource == "" && !inNamespace:
		return []attempt{{reach: everywhere, name: noName}, {reach: everywhere, name: other}, {reach: someNames, isNamed: true}}
	case t.resource == "":
		return []attempt{{reach: oneNamespace, name: noName}, {reach: oneNamespace, name: other}, {reach: someNames, isNamed: true}}
	}
	return p.atNames(t, attempt{reach: everywhere, namespace: other}, attempt{reach: inSystem, namespace: systemNamespace}, attempt{reach: oneNamespace})
}

// atNames returns attempts at places: for a name that no document has, for those that are as
// dangerous as all, and for those that a rule lists.
func (p *probe) atNames(t target, places ...attempt) []attempt {
	name, isOpen := other, true
	if t.verb == "create" && t.sub == "" {
		// RBAC, "Referring to resources": a list of names cannot cover create, whose
		// request has no name yet.
		name, isOpen = noName, false
	}
	var out []attempt
	for _, a := range places {
		a.name = name
		out = append(out, a)
		for _, named := range p.names {
			out = append(out, attempt{a.reach, a.namespace, named, true})
		}
	}
	if isOpen {
		out = append(out, attempt{reach: someNames, namespace: p.namespace, isNamed: true})
	}
	return out
}

// reach tries the places of a request, the widest first.
func (p *probe) reach(t target, must, denials []*statement.Statement) (attempt, map[string]any) {
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
			return a, nil
		}
		if found != nil {
			return a, found.Object(statement.PointAccess)
		}
	}
	return attempt{}, nil
}

// everyone are the principals that Kubernetes gives to callers whatever their name is.
var everyone = []string{"group:system:authenticated", "group:system:unauthenticated", "user:system:anonymous"}

const (
	accountUser  = statement.UserPrefix + statement.AccountPrefix
	accountGroup = statement.GroupPrefix + "system:serviceaccounts"
)

func isEverybody(principal string) bool { return slices.Contains(everyone, principal) }

func isDefaultAccount(principal string) bool {
	return strings.HasPrefix(principal, accountUser) && strings.HasSuffix(principal, ":default")
}

// weight is what a holder adds to the level of a finding: a power of everybody, or of every
// pod, matters more than that of an account, and that of a named person matters less.
func weight(principal string) Level {
	switch {
	case isEverybody(principal), isDefaultAccount(principal),
		principal == accountGroup, strings.HasPrefix(principal, accountGroup+":"):
		return 1
	case strings.HasPrefix(principal, accountUser):
		return 0
	}
	return -1
}

// isStock reports whether an API server makes the grant itself. A subject that was added to
// such a binding does not count: only names that begin with "system:" do, without those
// of everybody and of accounts outside of kube-system.
func isStock(b *tables.Binding, principal string) bool {
	if !b.Stock || isEverybody(principal) {
		return false
	}
	if account, ok := strings.CutPrefix(principal, accountUser); ok {
		return strings.HasPrefix(account, systemNamespace+":") && !isDefaultAccount(principal)
	}
	_, name, _ := strings.Cut(principal, ":")
	return strings.HasPrefix(name, "system:") && !strings.HasPrefix(principal, accountGroup) || b.Name == "system:service-account-issuer-discovery"
}

// Subject names a principal for people.
func Subject(principal string) string {
	if account, ok := strings.CutPrefix(principal, accountUser); ok {
		return "service account " + strings.Replace(account, ":", "/", 1)
	}
	return strings.Replace(principal, ":", " ", 1)
}
