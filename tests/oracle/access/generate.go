package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
)

// Small vocabularies, so that documents and requests meet.
var (
	names     = []string{"view", "edit", "Editors", "team:lead", "a.b", "x y", "Ünal", "r1", "r2", "r3", "r4", "system:x"}
	labelKeys = []string{"protected", "tier", "team"}

	originVerbs = []string{"get", "list", "watch", "create", "update", "delete", "exec", "proxy", "permission-request",
		"patch", "deletecollection", "impersonate", "bind", "frobnicate", "GET", "Update"}
	originKinds = []string{"Pod", "pods", "PODS", "Policy", "policies", "gateway", "Gateways", "Ingress", "ingresses", "box", "Boxes",
		"componentStatus", "imageCache", "batches", "Dish", "roles", "roleBindings", "secret", "Endpoints", "pods/exec", "pod/status",
		"Pods/Log", "*/status", "*/exec", "*/proxy", "services/proxy", "node", "deploymentConfig", "widget"}
	restrictedFields = []string{"spec", "spec.replicas", "labels", "metadata.labels", "labels.app", "metadata.annotations", "status", "spec.containers", "spec[0]", "metadata", "finalizers"}
	changedFields    = append([]string{"spec.replicasX", "spec.replicas.min", "metadata.labels.app", "spec.containers[0].image", "annotations", "Spec", "labels[app]", "metadata.finalizers", "ownerReferences.uid"}, restrictedFields...)

	KubernetesVerbs     = []string{"get", "list", "create", "update", "patch", "delete", "deletecollection", "*", "GET"}
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

// Extensions are what the modules mean.
var Extensions = map[string]func(oracle.Request, map[string]any) any{
	"ticketed": func(r oracle.Request, params map[string]any) any {
		ticket, there := r.Attributes["ticket"]
		if !there {
			return "unknown"
		}
		if slices.Contains(params["tickets"].([]any), ticket) {
			return true
		}
		return nil
	},
	"odd": func(r oracle.Request, _ map[string]any) any { return r.Attributes["odd"] },
}

// Generate makes a random policy directory, path to content, and what it means.
func Generate(seed uint64) (map[string]string, *World) { return GenerateWithMaster(seed, "master") }

// GenerateWithMaster does so for another master namespace: master, hammer, anvil
// or team-a.
func GenerateWithMaster(seed uint64, master string) (map[string]string, *World) {
	g := &Generator{Source: random.New(seed, 1), World: &World{Master: master, Extensions: Extensions, Seed: seed}, Taken: map[string]bool{}}
	g.Origin()
	g.Kubernetes()
	return g.write(), g.World
}

// Generator draws the documents of a world.
type Generator struct {
	random.Source
	World *World
	Taken map[string]bool
}

// name draws a name that is not taken among documents of that identity.
func (g *Generator) name(identity string) string {
	for {
		name := g.One(names)
		if g.Once(4) {
			name = fmt.Sprintf("%s-%d", name, g.IntN(100))
		}
		if key := identity + "\x00" + name; !g.Taken[key] {
			g.Taken[key] = true
			return name
		}
	}
}

// Origin draws roles and bindings of Origin.
func (g *Generator) Origin() {
	w := g.World
	for range 1 + g.IntN(7) {
		namespace := g.One(random.Namespaces)
		if g.Once(3) {
			namespace = w.Master
		}
		role := &OriginRole{Namespace: namespace, Name: g.name("origin role " + namespace)}
		for range g.IntN(4) {
			role.Rules = append(role.Rules, g.originRule())
		}
		w.OriginRoles = append(w.OriginRoles, role)
	}
	for range g.IntN(12) {
		namespace := g.One(random.Namespaces)
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
			Users: g.Some(0, 3, random.Users), Groups: g.Some(0, 2, random.Groups),
		})
	}
}

func (g *Generator) originRule() *OriginRule {
	return &OriginRule{
		Deny:         g.Once(3),
		Verbs:        g.entries(originVerbs),
		Kinds:        g.entries(originKinds),
		Restrictions: g.restrictions(),
	}
}

// entries draws a list with negations; mostly with something positive in it.
func (g *Generator) entries(from []string) []string {
	var list []string
	if g.Once(2) {
		list = append(list, "*")
	} else {
		list = g.Some(1, 4, from)
	}
	if g.Once(2) {
		for _, entry := range g.Some(1, 2, from) {
			list = append(list, "-"+entry)
		}
	}
	if g.Once(25) {
		list = append(list, "-*")
	}
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if g.Once(25) {
		list = slices.DeleteFunc(slices.Clone(list), positive)
	}
	if len(list) == 0 {
		return []string{"*"}
	}
	return list
}

func (g *Generator) restrictions() *Restrictions {
	if !g.Once(3) {
		return nil
	}
	s := &Restrictions{}
	which := 1 + g.IntN(15)
	if which&1 != 0 {
		s.Fields = g.Some(1, 3, restrictedFields)
	}
	if which&2 != 0 {
		for range 1 + g.IntN(2) {
			s.Labels = append(s.Labels, g.One(labelKeys)+g.One([]string{"", "=gold", "=", "=a=b"}))
		}
	}
	if which&8 != 0 {
		for range 1 + g.IntN(2) {
			s.Select = append(s.Select, g.One(selectedFields)+"="+g.One(selectedValues))
		}
	}
	if which&4 != 0 {
		switch g.IntN(5) {
		case 4:
			s.Kind, s.Params = "cel", map[string]any{"expression": g.One(slices.Sorted(maps.Keys(expressions)))}
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

// Kubernetes draws roles and bindings of Kubernetes.
func (g *Generator) Kubernetes() {
	w := g.World
	for range g.IntN(7) {
		namespace := ""
		if g.Once(2) {
			namespace = g.One(random.Namespaces)
		}
		role := &KubernetesRole{Namespace: namespace, Name: g.name("kubernetes role " + namespace)}
		if g.Once(2) {
			role.Labels = map[string]string{g.One(labelKeys): g.One([]string{"", "gold", "silver"})}
		}
		for range g.IntN(4) {
			role.Rules = append(role.Rules, g.kubernetesRule(namespace == ""))
		}
		if namespace == "" && g.Once(3) {
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

func (g *Generator) kubernetesRule(cluster bool) *KubernetesRule {
	rule := &KubernetesRule{Verbs: g.Some(1, 2, KubernetesVerbs)}
	if cluster && g.Once(4) {
		rule.NonResourceURLs = g.Some(1, 2, resourceURLs)
		return rule
	}
	rule.APIGroups, rule.Resources = g.Some(1, 2, kubernetesGroups), g.Some(1, 3, kubernetesResources)
	if g.Once(4) {
		rule.ResourceNames = g.Some(1, 2, resourceNames)
	}
	return rule
}

func (g *Generator) selectors() []oracle.Selector {
	selectors := []oracle.Selector{}
	for range 1 + g.IntN(2) {
		selector := oracle.Selector{}
		for range g.IntN(3) {
			q := oracle.Requirement{Key: g.One(labelKeys), Operator: g.One([]string{"In", "In", "NotIn", "Exists", "DoesNotExist"})}
			if strings.HasSuffix(q.Operator, "In") {
				q.Values = g.Some(1, 2, []string{"", "gold", "silver"})
			}
			selector = append(selector, q)
		}
		selectors = append(selectors, selector)
	}
	return selectors
}

func (g *Generator) kubernetesBinding(role *KubernetesRole) *KubernetesBinding {
	b := &KubernetesBinding{Namespace: role.Namespace, RoleKind: "Role", RoleName: role.Name}
	if role.Namespace == "" {
		b.RoleKind = "ClusterRole"
		if g.Once(2) {
			b.Namespace = g.One(random.Namespaces)
		}
	}
	b.Name = g.name("kubernetes binding " + b.Namespace)
	for range g.IntN(4) {
		switch g.IntN(3) {
		case 0:
			b.Subjects = append(b.Subjects, Subject{Kind: "User", Name: g.One(random.Users)})
		case 1:
			b.Subjects = append(b.Subjects, Subject{Kind: "Group", Name: g.One(random.Groups)})
		default:
			s := Subject{Kind: "ServiceAccount", Name: g.One([]string{"bot", "bot.two"})}
			if b.Namespace == "" || g.Once(2) {
				s.Namespace = g.One(random.Namespaces)
			}
			b.Subjects = append(b.Subjects, s)
		}
	}
	return b
}

// GenerateDeny is Generate with deny policies and escalations as well, and
// mostly with a group that may do everything else.
func GenerateDeny(seed uint64) (map[string]string, *World) {
	g := &Generator{Source: random.New(seed, 3), World: &World{Master: "master", Extensions: Extensions, Seed: seed}, Taken: map[string]bool{}}
	g.Origin()
	g.Kubernetes()
	if !g.Once(5) {
		g.Everything()
	}
	g.World.Denials.Generate(g.Source)
	g.World.Denials.GenerateTenants(random.New(seed, 16))
	return g.write(), g.World
}

// Everything adds a group that may do everything.
func (g *Generator) Everything() {
	w := g.World
	w.KubernetesRoles = append(w.KubernetesRoles, &KubernetesRole{Name: "everything", Rules: []*KubernetesRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	}})
	w.KubernetesBindings = append(w.KubernetesBindings, &KubernetesBinding{
		Name: "everything", RoleKind: "ClusterRole", RoleName: "everything", Subjects: []Subject{{Kind: "Group", Name: "ops"}},
	})
}
