package oracle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Small vocabularies, so that documents and requests meet.
var (
	namespaces = []string{"master", "hammer", "anvil", "team-a"}
	users      = []string{"alice", "Alice", "bob", "*", "system:node:n1", "kubelet", "system:serviceaccount:hammer:bot", "system:serviceaccount:anvil:bot", "dev"}
	groupNames = []string{"dev", "ops", "system:authenticated", "*", "alice"}
	names      = []string{"view", "edit", "Editors", "team:lead", "a.b", "x y", "Ünal", "r1", "r2", "r3", "r4", "system:x"}
	labelKeys  = []string{"protected", "tier", "team"}

	originVerbs = []string{"get", "list", "watch", "create", "update", "delete", "exec", "proxy", "permission-request",
		"patch", "deletecollection", "impersonate", "bind", "frobnicate", "GET", "Update"}
	originKinds = []string{"Pod", "pods", "PODS", "Policy", "policies", "gateway", "Gateways", "Ingress", "ingresses", "box", "Boxes",
		"componentStatus", "imageCache", "batches", "Dish", "roles", "roleBindings", "secret", "Endpoints", "pods/exec", "pod/status",
		"Pods/Log", "*/status", "*/exec", "*/proxy", "services/proxy", "node", "deploymentConfig", "widget"}
	restrictedFields = []string{"spec", "spec.replicas", "labels", "metadata.labels", "labels.app", "metadata.annotations", "status", "spec.containers", "spec[0]", "metadata", "finalizers"}
	changedFields    = append([]string{"spec.replicasX", "spec.replicas.min", "metadata.labels.app", "spec.containers[0].image", "annotations", "Spec", "labels[app]", "metadata.finalizers", "ownerReferences.uid"}, restrictedFields...)

	kubernetesVerbs     = []string{"get", "list", "create", "update", "patch", "delete", "deletecollection", "*", "GET"}
	kubernetesGroups    = []string{"", "apps", "*", "example.com", "ap*"}
	kubernetesResources = []string{"pods", "pods/log", "pods/exec", "*/exec", "*/scale", "*", "deployments", "secrets", "pods/*", "Pods", "nodes", "*/*", "widgets"}
	resourceNames       = []string{"a", "b.c", "*", "A", ""}
	resourceURLs        = []string{"*", "/api", "/api/*", "/api*", "/healthz", "/logs/**", "/a*b", "/", "/*"}
	paths               = []string{"/api", "/api/", "/api/v1", "/apis", "/healthz", "/logs/", "/logs/x", "/a*b", "/axb", "/", "*", "metrics"}
)

// Extension modules that a generated directory may use, and what they mean.
var modules = map[string]string{
	"ticketed": `package writ.extensions.ticketed

holds(request, _) := "unknown" if not request.attributes.ticket

holds(request, params) if request.attributes.ticket in params.tickets
`,
	"odd": `package writ.extensions.odd

holds(request, _) := request.attributes.odd
`,
}

var extensions = map[string]func(Request, map[string]any) any{
	"ticketed": func(r Request, params map[string]any) any {
		ticket, there := r.Attributes["ticket"]
		if !there {
			return "unknown"
		}
		if slices.Contains(params["tickets"].([]any), ticket) {
			return true
		}
		return nil
	},
	"odd": func(r Request, _ map[string]any) any { return r.Attributes["odd"] },
}

// random draws everything a generator needs.
type random struct{ *rand.Rand }

func newRandom(seed, stream uint64) random { return random{rand.New(rand.NewPCG(seed, stream))} }

// once is true once in n times.
func (r random) once(n int) bool { return r.IntN(n) == 0 }

func (r random) one(from []string) string { return from[r.IntN(len(from))] }

// some draws between low and high entries, repetitions included.
func (r random) some(low, high int, from []string) []string {
	var list []string
	for range low + r.IntN(high-low+1) {
		list = append(list, r.one(from))
	}
	return list
}

// Generate makes a random policy directory, path to content, and what it means.
func Generate(seed uint64) (map[string]string, *World) { return GenerateWithMaster(seed, "master") }

// GenerateWithMaster does so for another master namespace: master, hammer, anvil
// or team-a.
func GenerateWithMaster(seed uint64, master string) (map[string]string, *World) {
	g := &generator{random: newRandom(seed, 1), world: &World{Master: master, Extensions: extensions, seed: seed}, taken: map[string]bool{}}
	g.origin()
	g.kubernetes()
	return g.write(), g.world
}

type generator struct {
	random
	world *World
	taken map[string]bool
}

// name draws a name that is not taken among documents of that identity.
func (g *generator) name(identity string) string {
	for {
		name := g.one(names)
		if g.once(4) {
			name = fmt.Sprintf("%s-%d", name, g.IntN(100))
		}
		if key := identity + "\x00" + name; !g.taken[key] {
			g.taken[key] = true
			return name
		}
	}
}

func (g *generator) origin() {
	w := g.world
	for range 1 + g.IntN(7) {
		namespace := g.one(namespaces)
		if g.once(3) {
			namespace = w.Master
		}
		role := &OriginRole{Namespace: namespace, Name: g.name("origin role " + namespace)}
		for range g.IntN(4) {
			role.Rules = append(role.Rules, g.originRule())
		}
		w.OriginRoles = append(w.OriginRoles, role)
	}
	for range g.IntN(12) {
		namespace := g.one(namespaces)
		var within []*OriginRole
		for _, role := range w.OriginRoles {
			if role.Namespace == namespace || role.Namespace == w.Master {
				within = append(within, role)
			}
		}
		if len(within) == 0 {
			continue
		}
		role := within[g.IntN(len(within))]
		w.OriginBindings = append(w.OriginBindings, &OriginBinding{
			Namespace: namespace, Name: g.name("origin binding " + namespace),
			RoleNamespace: role.Namespace, RoleName: role.Name,
			Users: g.some(0, 3, users), Groups: g.some(0, 2, groupNames),
		})
	}
}

func (g *generator) originRule() *OriginRule {
	return &OriginRule{
		Deny:         g.once(3),
		Verbs:        g.entries(originVerbs),
		Kinds:        g.entries(originKinds),
		Restrictions: g.restrictions(),
	}
}

// entries draws a list with negations; mostly with something positive in it.
func (g *generator) entries(from []string) []string {
	var list []string
	if g.once(2) {
		list = append(list, "*")
	} else {
		list = g.some(1, 4, from)
	}
	if g.once(2) {
		for _, entry := range g.some(1, 2, from) {
			list = append(list, "-"+entry)
		}
	}
	if g.once(25) {
		list = append(list, "-*")
	}
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if g.once(25) {
		list = slices.DeleteFunc(slices.Clone(list), positive)
	}
	if len(list) == 0 {
		return []string{"*"}
	}
	return list
}

func (g *generator) restrictions() *Restrictions {
	if !g.once(3) {
		return nil
	}
	s := &Restrictions{}
	which := 1 + g.IntN(7)
	if which&1 != 0 {
		s.Fields = g.some(1, 3, restrictedFields)
	}
	if which&2 != 0 {
		for range 1 + g.IntN(2) {
			s.Labels = append(s.Labels, g.one(labelKeys)+g.one([]string{"", "=gold", "=", "=a=b"}))
		}
	}
	if which&4 != 0 {
		switch g.IntN(5) {
		case 4:
			s.Kind, s.Params = "cel", map[string]any{"expression": g.one(slices.Sorted(maps.Keys(expressions)))}
		case 0:
			s.Kind, s.Params = "ticketed", map[string]any{"tickets": []any{"T1", "T2"}}
		case 1:
			s.Kind = "odd"
		default:
			s.Kind = "sameMinionRestriction"
		}
	}
	return s
}

func (g *generator) kubernetes() {
	w := g.world
	for range g.IntN(7) {
		namespace := ""
		if g.once(2) {
			namespace = g.one(namespaces)
		}
		role := &KubernetesRole{Namespace: namespace, Name: g.name("kubernetes role " + namespace)}
		if g.once(2) {
			role.Labels = map[string]string{g.one(labelKeys): g.one([]string{"", "gold", "silver"})}
		}
		for range g.IntN(4) {
			role.Rules = append(role.Rules, g.kubernetesRule(namespace == ""))
		}
		if namespace == "" && g.once(3) {
			role.Selectors = g.selectors()
		}
		w.KubernetesRoles = append(w.KubernetesRoles, role)
	}
	for _, role := range w.KubernetesRoles {
		if w.reaches(role, role, map[*KubernetesRole]bool{}) && len(w.effective(role)) > 1 {
			role.Selectors = nil // the order of its rules would not be determined
		}
	}
	for range g.IntN(10) {
		if len(w.KubernetesRoles) == 0 {
			return
		}
		w.KubernetesBindings = append(w.KubernetesBindings, g.kubernetesBinding(w.KubernetesRoles[g.IntN(len(w.KubernetesRoles))]))
	}
}

func (g *generator) kubernetesRule(cluster bool) *KubernetesRule {
	rule := &KubernetesRule{Verbs: g.some(1, 2, kubernetesVerbs)}
	if cluster && g.once(4) {
		rule.NonResourceURLs = g.some(1, 2, resourceURLs)
		return rule
	}
	rule.APIGroups, rule.Resources = g.some(1, 2, kubernetesGroups), g.some(1, 3, kubernetesResources)
	if g.once(4) {
		rule.ResourceNames = g.some(1, 2, resourceNames)
	}
	return rule
}

func (g *generator) selectors() []Selector {
	selectors := []Selector{}
	for range 1 + g.IntN(2) {
		selector := Selector{}
		for range g.IntN(3) {
			q := Requirement{Key: g.one(labelKeys), Operator: g.one([]string{"In", "In", "NotIn", "Exists", "DoesNotExist"})}
			if strings.HasSuffix(q.Operator, "In") {
				q.Values = g.some(1, 2, []string{"", "gold", "silver"})
			}
			selector = append(selector, q)
		}
		selectors = append(selectors, selector)
	}
	return selectors
}

func (g *generator) kubernetesBinding(role *KubernetesRole) *KubernetesBinding {
	b := &KubernetesBinding{Namespace: role.Namespace, RoleKind: "Role", RoleName: role.Name}
	if role.Namespace == "" {
		b.RoleKind = "ClusterRole"
		if g.once(2) {
			b.Namespace = g.one(namespaces)
		}
	}
	b.Name = g.name("kubernetes binding " + b.Namespace)
	for range g.IntN(4) {
		switch g.IntN(3) {
		case 0:
			b.Subjects = append(b.Subjects, Subject{Kind: "User", Name: g.one(users)})
		case 1:
			b.Subjects = append(b.Subjects, Subject{Kind: "Group", Name: g.one(groupNames)})
		default:
			s := Subject{Kind: "ServiceAccount", Name: g.one([]string{"bot", "bot.two"})}
			if b.Namespace == "" || g.once(2) {
				s.Namespace = g.one(namespaces)
			}
			b.Subjects = append(b.Subjects, s)
		}
	}
	return b
}
