package access

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
)

var (
	requestVerbs = append([]string{"*", "impersonate:user-info", "PATCH", "Exec", "attach", "nonsense"}, originVerbs...)
	resources    = []string{"pods", "Pod", "PODS", "policies", "policy", "gateways", "ingress", "ingresses", "boxes", "box", "componentstatuses",
		"imagecaches", "batch", "batches", "dish", "dishes", "roles", "rolebindings", "secrets", "endpoints", "nodes", "deploymentconfigs",
		"widgets", "podtemplates", "*", "deployments", "Secret", "gizmos"}
	subresources = []string{"exec", "attach", "portforward", "proxy", "status", "log", "scale", "EXEC", "*"}
)

// Requests makes n random requests, most of them near what the documents name.
// They are the same each time.
func (w *World) Requests(n int) []oracle.Request {
	g := requester{random.New(w.Seed, 2), w}
	requests := make([]oracle.Request, 0, n)
	for range n {
		r := g.anything()
		if g.Once(2) {
			g.nearOrigin(&r)
		} else if g.Once(2) {
			g.nearKubernetes(&r)
		}
		if len(w.DenyPolicies) > 0 {
			w.Denials.Approach(g.Source, &r)
		}
		if len(w.Sessions)+len(w.Debug) > 0 && !g.Once(4) {
			w.ApproachSession(g.Source, &r)
		}
		if w.lists {
			g.list(&r)
		}
		if r.User == "" && len(r.Groups) == 0 {
			r.User = "unbound"
		}
		if r.Path != "" {
			r.APIGroup, r.Resource, r.Subresource, r.Namespace, r.Name = "", "", "", "", ""
		}
		requests = append(requests, r)
	}
	return requests
}

type requester struct {
	random.Source
	world *World
}

func (g requester) anything() oracle.Request {
	r := oracle.Request{User: g.One(random.Users), Groups: g.Some(0, 2, random.Groups), Verb: g.One(requestVerbs), Resource: g.One(resources)}
	if g.Once(6) {
		r.User = g.One([]string{"", "unbound", "system:serviceaccount:master:bot", "system:serviceaccount:team-a:bot.two", "system:node:n2"})
	}
	if g.Once(3) {
		r.APIGroup = g.One(kubernetesGroups)
	}
	if g.Once(3) {
		r.Subresource = g.One(subresources)
	}
	if !g.Once(5) {
		r.Namespace = g.One(append([]string{"elsewhere"}, random.Namespaces...))
	}
	if g.Once(2) {
		r.Name = g.One([]string{"a", "b.c", "A", "web-0", "*"})
	}
	if g.Once(12) {
		r.Path = g.One(paths)
	}
	g.facts(&r)
	return r
}

// facts adds what restrictions read, or leaves it unknown.
func (g requester) facts(r *oracle.Request) {
	if !g.Once(3) {
		r.Fields = append([]string{}, g.Some(0, 2, changedFields)...)
	}
	if !g.Once(3) {
		r.Labels = map[string]string{}
		for _, key := range g.Some(0, 3, labelKeys) {
			r.Labels[key] = g.One([]string{"", "gold", "a=b", "no"})
		}
	}
	nodes := []string{"n1", "n2"}
	r.Attributes = map[string]any{}
	if g.Once(2) {
		r.Attributes["minion"] = g.One(nodes)
	}
	if g.Once(4) {
		r.Attributes["podMinion"] = g.One(nodes)
	}
	if g.Once(2) {
		r.Attributes["ticket"] = g.One([]string{"T1", "T2", "T3"})
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
	if g.Once(3) {
		r.Attributes["labelSelector"] = g.selector(labelKeys, []string{"", "gold", "a=b", "no"})
	}
	if g.Once(3) {
		r.Attributes["fieldSelector"] = g.selector(selectedFields, selectedValues)
	}
	switch g.IntN(5) {
	case 0:
		r.Pod = map[string]any{"metadata": map[string]any{"name": "p"}, "spec": map[string]any{"nodeName": g.One(nodes)}}
	case 1:
		r.Pod = map[string]any{"spec": map[string]any{"nodeName": ""}}
	case 2:
		r.Pod = map[string]any{"spec": map[string]any{}}
	case 3:
		r.Pod = map[string]any{"metadata": map[string]any{}}
	}
	if g.Once(8) {
		r.PodError = "timeout"
	}
}

// What fieldsSelect and field selectors name.
var (
	selectedFields = []string{"spec.nodeName", "metadata.name", "metadata.namespace", "type"}
	selectedValues = []string{"", "n1", "a", "hammer"}
)

// selector draws requirements, some of which cannot be read.
func (g requester) selector(keys, values []string) any {
	if g.Once(12) {
		return g.One(keys)
	}
	out := []any{}
	for range g.IntN(3) {
		q := map[string]any{"key": g.One(keys), "operator": g.One([]string{"In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt"})}
		if q["operator"] == "In" || q["operator"] == "NotIn" || g.Once(6) {
			listed := []any{}
			for _, value := range g.Some(1, 2, values) {
				listed = append(listed, value)
			}
			q["values"] = listed
		}
		out = append(out, q)
	}
	if g.Once(8) {
		out = append(out, map[string]any{"key": g.One(keys), "operator": "In", "values": []any{7}})
	}
	return out
}

// nearOrigin turns the request towards a rule of some Origin binding.
func (g requester) nearOrigin(r *oracle.Request) {
	w := g.world
	if len(w.OriginBindings) == 0 {
		return
	}
	b := w.OriginBindings[g.IntN(len(w.OriginBindings))]
	g.subject(r, b.Users, b.Groups)
	if b.Namespace != w.Master || g.Once(2) {
		r.Namespace = b.Namespace
	}
	for _, role := range w.OriginRoles {
		if role.Namespace != b.RoleNamespace || role.Name != b.RoleName || len(role.Rules) == 0 {
			continue
		}
		rule := role.Rules[g.IntN(len(role.Rules))]
		if verb := strings.TrimPrefix(g.One(rule.Verbs), "-"); verb != "*" {
			r.Verb = verb
		}
		kind, sub, _ := strings.Cut(strings.TrimPrefix(g.One(rule.Kinds), "-"), "/")
		if kind != "*" {
			r.Resource = g.respell(kind)
		}
		if sub != "" {
			r.Subresource = sub
		} else if g.Once(2) {
			r.Subresource = ""
		}
		if rule.Restrictions != nil && rule.Restrictions.Fields != nil && g.Once(2) {
			r.Fields = g.Some(1, 2, rule.Restrictions.Fields)
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
		return oracle.Plural(strings.ToLower(kind))
	}
	return kind
}

// nearKubernetes turns the request towards a rule of some Kubernetes binding.
func (g requester) nearKubernetes(r *oracle.Request) {
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
	r.Verb = g.One(rule.Verbs)
	if len(rule.NonResourceURLs) > 0 {
		r.Path = strings.TrimRight(g.One(rule.NonResourceURLs), "*") + g.One([]string{"", "x", "*"})
		return
	}
	r.Path = ""
	r.APIGroup = g.One(rule.APIGroups)
	r.Resource, r.Subresource, _ = strings.Cut(g.One(rule.Resources), "/")
	if len(rule.ResourceNames) > 0 {
		r.Name = g.One(rule.ResourceNames)
	}
}

func (g requester) subject(r *oracle.Request, named, grouped []string) {
	if len(named) > 0 {
		r.User = g.One(named)
	}
	if len(grouped) > 0 && (len(named) == 0 || g.Once(2)) {
		r.Groups = slices.Concat(r.Groups, []string{g.One(grouped)})
	}
}
