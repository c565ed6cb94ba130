package kubernetes

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Small vocabularies, so that documents and requests meet.
var (
	namespaces    = []string{"x", "y", "master", "kube-system"}
	users         = []string{"alice", "bob", "*", "system:serviceaccount:x:bot", "system:serviceaccount:y:bot.two", "system:anonymous", "Alice", "ali ce", "dev"}
	groups        = []string{"dev", "ops", "system:authenticated", "*", "system:masters", "system:serviceaccounts:x", "alice"}
	accounts      = []string{"bot", "bot.two", "default"}
	roleNames     = []string{"view", "edit", "system:node", "a.b", "a b", "Ünal", "*", "true", "007", "q\"uote", "...", "x:y", "null"}
	verbs         = []string{"get", "list", "watch", "create", "delete", "*", "GET", "", "use", "ge*", "impersonate:user-info"}
	apiGroups     = []string{"", "apps", "*", "example.com", "ap*", "Apps"}
	resources     = []string{"pods", "pods/log", "pods/exec", "*/exec", "*/log", "*", "deployments", "secrets", "pods/*", "*/*", "Pods", "pod*", "a/b/c", "*/b/c", "", "/log", "*/"}
	resourceNames = []string{"a", "b.c", "*", "", "A", "a*"}
	urls          = []string{"*", "/api", "/api/*", "/api*", "/healthz", "/healthz/", "/logs/**", "/a*b", "/a*b*", "/", "/*", "", "metrics", "**", "/API", "/api/*/x"}
	paths         = []string{"/api", "/api/", "/api/v1", "/apis", "/healthz", "/healthz/", "/logs/", "/logs/x", "/logs", "/a*b", "/axb", "/a*bc", "/", "*", "**", "metrics", "/API", "/api/*", "/api/v/x", "//", "/api?x=1"}
	labelKeys     = []string{"a", "b", "rbac.example.com/aggregate-to-view"}
	labelValues   = []string{"", "1", "true"}
)

func freshSeed() uint64 { return rand.Uint64() }

type generator struct{ *rand.Rand }

func newGenerator(seed, stream uint64) generator {
	return generator{rand.New(rand.NewPCG(seed, stream))}
}

func (g generator) once(n int) bool { return g.IntN(n) == 0 }

func (g generator) one(from []string) string { return from[g.IntN(len(from))] }

func (g generator) some(low, high int, from []string) []string {
	var list []string
	for range low + g.IntN(high-low+1) {
		list = append(list, g.one(from))
	}
	return list
}

// world draws documents that an API server accepts, without dangling roles.
func (g generator) world() *world {
	w := &world{}
	taken := map[string]bool{}
	name := func(kind, namespace string) metav1.ObjectMeta {
		for {
			name := g.one(roleNames)
			if g.once(3) {
				name = fmt.Sprintf("%s-%d", name, g.IntN(50))
			}
			if key := kind + "\x00" + namespace + "\x00" + name; !taken[key] {
				taken[key] = true
				return metav1.ObjectMeta{Name: name, Namespace: namespace}
			}
		}
	}
	for range g.IntN(6) {
		w.roles = append(w.roles, &rbacv1.Role{ObjectMeta: name("Role", g.one(namespaces)), Rules: g.rules(false)})
	}
	for range 1 + g.IntN(9) {
		role := &rbacv1.ClusterRole{ObjectMeta: name("ClusterRole", ""), Rules: g.rules(true)}
		for _, key := range g.some(0, 2, labelKeys) {
			if role.Labels == nil {
				role.Labels = map[string]string{}
			}
			role.Labels[key] = g.one(labelValues)
		}
		if g.once(3) {
			role.AggregationRule = g.aggregationRule()
		}
		w.clusterRoles = append(w.clusterRoles, role)
	}
	for range g.IntN(6) {
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.clusterRoles[g.IntN(len(w.clusterRoles))].Name}
		w.clusterRoleBindings = append(w.clusterRoleBindings, &rbacv1.ClusterRoleBinding{ObjectMeta: name("ClusterRoleBinding", ""), RoleRef: ref, Subjects: g.subjects(true)})
	}
	for range g.IntN(8) {
		namespace := g.one(namespaces)
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.clusterRoles[g.IntN(len(w.clusterRoles))].Name}
		if len(w.roles) > 0 && g.once(2) {
			role := w.roles[g.IntN(len(w.roles))]
			namespace, ref.Kind, ref.Name = role.Namespace, "Role", role.Name
		}
		w.roleBindings = append(w.roleBindings, &rbacv1.RoleBinding{ObjectMeta: name("RoleBinding", namespace), RoleRef: ref, Subjects: g.subjects(false)})
	}
	return w
}

func (g generator) rules(cluster bool) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for range g.IntN(4) {
		rule := rbacv1.PolicyRule{Verbs: g.some(1, 3, verbs)}
		if cluster && g.once(3) {
			rule.NonResourceURLs = g.some(1, 3, urls)
		} else {
			rule.APIGroups, rule.Resources = g.some(1, 2, apiGroups), g.some(1, 3, resources)
			if g.once(3) {
				rule.ResourceNames = g.some(1, 2, resourceNames)
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

func (g generator) aggregationRule() *rbacv1.AggregationRule {
	rule := &rbacv1.AggregationRule{}
	for range 1 + g.IntN(2) {
		var selector metav1.LabelSelector
		if g.once(2) {
			selector.MatchLabels = map[string]string{g.one(labelKeys): g.one(labelValues)}
		}
		for range g.IntN(3) {
			q := metav1.LabelSelectorRequirement{Key: g.one(labelKeys), Operator: metav1.LabelSelectorOperator(g.one([]string{"In", "NotIn", "Exists", "DoesNotExist"}))}
			if strings.HasSuffix(string(q.Operator), "In") {
				q.Values = g.some(1, 2, labelValues)
			}
			selector.MatchExpressions = append(selector.MatchExpressions, q)
		}
		rule.ClusterRoleSelectors = append(rule.ClusterRoleSelectors, selector)
	}
	return rule
}

func (g generator) subjects(cluster bool) []rbacv1.Subject {
	var subjects []rbacv1.Subject
	for range g.IntN(4) {
		s := rbacv1.Subject{}
		switch g.IntN(3) {
		case 0:
			s.Kind, s.Name = "User", g.one(users)
		case 1:
			s.Kind, s.Name = "Group", g.one(groups)
		default:
			s.Kind, s.Name = "ServiceAccount", g.one(accounts)
			if cluster || g.once(2) {
				s.Namespace = g.one(namespaces)
			}
		}
		if s.Kind != "ServiceAccount" {
			s.APIGroup = rbacv1.GroupName
			if g.once(10) {
				s.Namespace = g.one(namespaces) // means nothing
			}
		}
		subjects = append(subjects, s)
	}
	return subjects
}

// request draws a request, most of the time near a rule of some binding.
func (g generator) request(w *world) request {
	r := request{
		User: g.one(append([]string{"", "unbound", "system:serviceaccount:master:default"}, users...)), Groups: g.some(0, 2, groups),
		Verb: g.one(verbs), APIGroup: g.one(apiGroups), Resource: g.one(resources),
	}
	if g.once(3) {
		r.Subresource = g.one([]string{"log", "exec", "*", "b/c", "scale"})
	}
	if !g.once(4) {
		r.Namespace = g.one(append([]string{"z"}, namespaces...))
	}
	if g.once(2) {
		r.Name = g.one(resourceNames)
	}
	if g.once(5) {
		r.Path = g.one(paths)
	}
	if !g.once(3) {
		g.near(w, &r)
	}
	if r.Path != "" {
		r.APIGroup, r.Resource, r.Subresource, r.Namespace, r.Name = "", "", "", "", ""
	} else if resource, sub, slash := strings.Cut(r.Resource, "/"); slash || resource == "" {
		r.Resource = cmp.Or(resource, "pods")
		r.Subresource = cmp.Or(sub, r.Subresource)
	}
	if r.Verb == "" {
		r.Verb = "get"
	}
	if r.User == "" && len(r.Groups) == 0 {
		r.Groups = []string{g.one(groups)}
	}
	return r
}

// near turns the request towards a rule that some binding grants.
func (g generator) near(w *world, r *request) {
	type granted struct {
		namespace string
		subjects  []rbacv1.Subject
		rules     []rbacv1.PolicyRule
	}
	var all []granted
	for _, b := range w.roleBindings {
		all = append(all, granted{b.Namespace, b.Subjects, w.rulesOf(b.RoleRef, b.Namespace)})
	}
	for _, b := range w.clusterRoleBindings {
		all = append(all, granted{r.Namespace, b.Subjects, w.rulesOf(b.RoleRef, "")})
	}
	all = slices.DeleteFunc(all, func(one granted) bool { return len(one.subjects) == 0 || len(one.rules) == 0 })
	if len(all) == 0 {
		return
	}
	one := all[g.IntN(len(all))]
	subjects, rules := one.subjects, one.rules
	r.Namespace = one.namespace
	switch s := subjects[g.IntN(len(subjects))]; s.Kind {
	case "User":
		r.User = s.Name
	case "Group":
		r.Groups = append(r.Groups, s.Name)
	default:
		if s.Namespace == "" {
			s.Namespace = r.Namespace
		}
		r.User = "system:serviceaccount:" + s.Namespace + ":" + s.Name
	}
	rule := rules[g.IntN(len(rules))]
	r.Verb = g.one(rule.Verbs)
	if len(rule.NonResourceURLs) > 0 {
		r.Path = strings.TrimRight(g.one(rule.NonResourceURLs), "*") + g.one([]string{"", "x", "*", "/"})
		return
	}
	r.Path, r.APIGroup = "", g.one(rule.APIGroups)
	r.Resource = g.one(rule.Resources)
	if !g.once(6) {
		r.Resource, r.Subresource, _ = strings.Cut(r.Resource, "/")
	}
	if len(rule.ResourceNames) > 0 {
		r.Name = g.one(rule.ResourceNames)
	}
}

func (w *world) rulesOf(ref rbacv1.RoleRef, namespace string) []rbacv1.PolicyRule {
	for _, role := range w.roles {
		if ref.Kind == "Role" && role.Namespace == namespace && role.Name == ref.Name {
			return role.Rules
		}
	}
	for _, role := range w.clusterRoles {
		if ref.Kind == "ClusterRole" && role.Name == ref.Name {
			return role.Rules
		}
	}
	return nil
}
