package oracle

import (
	"slices"
	"strings"
)

var (
	requestVerbs = append([]string{"*", "impersonate:user-info", "PATCH", "Exec", "attach", "nonsense"}, originVerbs...)
	resources    = []string{"pods", "Pod", "PODS", "policies", "policy", "gateways", "ingress", "ingresses", "boxes", "box", "componentstatuses",
		"imagecaches", "batch", "batches", "dish", "dishes", "roles", "rolebindings", "secrets", "endpoints", "nodes", "deploymentconfigs",
		"widgets", "podtemplates", "*", "deployments", "pods/exec", "gizmos"}
	subresources = []string{"exec", "attach", "portforward", "proxy", "status", "log", "scale", "EXEC", "*"}
)

// Requests makes n random requests, most of them near what the documents name.
// They are the same each time.
func (w *World) Requests(n int) []Request {
	g := requester{newRandom(w.seed, 2), w}
	requests := make([]Request, 0, n)
	for range n {
		r := g.anything()
		if g.once(2) {
			g.nearOrigin(&r)
		} else if g.once(2) {
			g.nearKubernetes(&r)
		}
		if len(w.DenyPolicies) > 0 {
			g.nearDeny(&r)
		}
		if r.User == "" && len(r.Groups) == 0 {
			r.User = "nobody"
		}
		if r.Path != "" {
			r.APIGroup, r.Resource, r.Subresource, r.Namespace, r.Name = "", "", "", "", ""
		}
		requests = append(requests, r)
	}
	return requests
}

type requester struct {
	random
	world *World
}

func (g requester) anything() Request {
	r := Request{User: g.one(users), Groups: g.some(0, 2, groupNames), Verb: g.one(requestVerbs), Resource: g.one(resources)}
	if g.once(6) {
		r.User = g.one([]string{"", "nobody", "system:serviceaccount:master:bot", "system:serviceaccount:team-a:bot.two", "system:node:n2"})
	}
	if g.once(3) {
		r.APIGroup = g.one(kubernetesGroups)
	}
	if g.once(3) {
		r.Subresource = g.one(subresources)
	}
	if !g.once(5) {
		r.Namespace = g.one(append([]string{"elsewhere"}, namespaces...))
	}
	if g.once(2) {
		r.Name = g.one([]string{"a", "b.c", "A", "web-0", "*"})
	}
	if g.once(12) {
		r.Path = g.one(paths)
	}
	g.facts(&r)
	return r
}

// facts adds what restrictions read, or leaves it unknown.
func (g requester) facts(r *Request) {
	if !g.once(3) {
		r.Fields = append([]string{}, g.some(0, 2, changedFields)...)
	}
	if !g.once(3) {
		r.Labels = map[string]string{}
		for _, key := range g.some(0, 3, labelKeys) {
			r.Labels[key] = g.one([]string{"", "gold", "a=b", "no"})
		}
	}
	nodes := []string{"n1", "n2"}
	r.Attributes = map[string]any{}
	if g.once(2) {
		r.Attributes["minion"] = g.one(nodes)
	}
	if g.once(4) {
		r.Attributes["podMinion"] = g.one(nodes)
	}
	if g.once(2) {
		r.Attributes["ticket"] = g.one([]string{"T1", "T2", "T3"})
	}
	switch g.IntN(6) {
	case 0:
		r.Attributes["odd"] = true
	case 1:
		r.Attributes["odd"] = false
	case 2:
		r.Attributes["odd"] = "unknown"
	case 3:
		r.Attributes["odd"] = 7
	}
	switch g.IntN(5) {
	case 0:
		r.Pod = map[string]any{"metadata": map[string]any{"name": "p"}, "spec": map[string]any{"nodeName": g.one(nodes)}}
	case 1:
		r.Pod = map[string]any{"spec": map[string]any{"nodeName": ""}}
	case 2:
		r.Pod = map[string]any{"spec": map[string]any{}}
	case 3:
		r.Pod = map[string]any{"metadata": map[string]any{}}
	}
	if g.once(8) {
		r.PodError = "timeout"
	}
}

// nearOrigin turns the request towards a rule of some Origin binding.
func (g requester) nearOrigin(r *Request) {
	w := g.world
	if len(w.OriginBindings) == 0 {
		return
	}
	b := w.OriginBindings[g.IntN(len(w.OriginBindings))]
	g.subject(r, b.Users, b.Groups)
	if b.Namespace != w.Master || g.once(2) {
		r.Namespace = b.Namespace
	}
	for _, role := range w.OriginRoles {
		if role.Namespace != b.RoleNamespace || role.Name != b.RoleName || len(role.Rules) == 0 {
			continue
		}
		rule := role.Rules[g.IntN(len(role.Rules))]
		if verb := strings.TrimPrefix(g.one(rule.Verbs), "-"); verb != "*" {
			r.Verb = verb
		}
		kind, sub, _ := strings.Cut(strings.TrimPrefix(g.one(rule.Kinds), "-"), "/")
		if kind != "*" {
			r.Resource = g.respell(kind)
		}
		if sub != "" {
			r.Subresource = sub
		} else if g.once(2) {
			r.Subresource = ""
		}
		if rule.Restrictions != nil && rule.Restrictions.Fields != nil && g.once(2) {
			r.Fields = g.some(1, 2, rule.Restrictions.Fields)
		}
	}
}

// respell writes a kind in another case or number.
func (g requester) respell(kind string) string {
	switch g.IntN(4) {
	case 0:
		return strings.ToLower(kind)
	case 1:
		return strings.ToUpper(kind)
	case 2:
		return plural(strings.ToLower(kind))
	}
	return kind
}

// nearKubernetes turns the request towards a rule of some Kubernetes binding.
func (g requester) nearKubernetes(r *Request) {
	w := g.world
	if len(w.KubernetesBindings) == 0 {
		return
	}
	b := w.KubernetesBindings[g.IntN(len(w.KubernetesBindings))]
	var named, grouped []string
	for _, s := range b.Subjects {
		switch s.Kind {
		case "User":
			named = append(named, s.Name)
		case "Group":
			grouped = append(grouped, s.Name)
		default:
			named = append(named, s.account(b))
		}
	}
	g.subject(r, named, grouped)
	if b.Namespace != "" {
		r.Namespace = b.Namespace
	}
	rules := w.effective(w.role(b))
	if len(rules) == 0 {
		return
	}
	rule := rules[g.IntN(len(rules))]
	r.Verb = g.one(rule.Verbs)
	if len(rule.NonResourceURLs) > 0 {
		r.Path = strings.TrimRight(g.one(rule.NonResourceURLs), "*") + g.one([]string{"", "x", "*"})
		return
	}
	r.Path = ""
	r.APIGroup = g.one(rule.APIGroups)
	r.Resource, r.Subresource, _ = strings.Cut(g.one(rule.Resources), "/")
	if len(rule.ResourceNames) > 0 {
		r.Name = g.one(rule.ResourceNames)
	}
}

func (g requester) subject(r *Request, named, grouped []string) {
	if len(named) > 0 {
		r.User = g.one(named)
	}
	if len(grouped) > 0 && (len(named) == 0 || g.once(2)) {
		r.Groups = slices.Concat(r.Groups, []string{g.one(grouped)})
	}
}
