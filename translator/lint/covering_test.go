package lint

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

var (
	verbs     = []string{"*", "get", "update", "patch", "delete", "exec"}
	groups    = []string{"", "apps", "*"}
	resources = []string{"*", "pods", "pods/exec", "pods/log", "*/log", "services/proxy", "secrets"}
	names     = []string{"a", "b"}
	kinds     = []string{"*", "pod", "pods/exec", "*/log", "secrets"}
)

func some(t *rapid.T, from []string, least int, label string) []string {
	out := rapid.SliceOfN(rapid.SampledFrom(from), least, 2).Draw(t, label)
	slices.Sort(out)
	return slices.Compact(out)
}

func kubernetesRule(t *rapid.T) tables.KubernetesRule {
	return tables.KubernetesRule{KubernetesLists: &tables.KubernetesLists{
		Verbs: some(t, verbs, 1, "verbs"), Groups: some(t, groups, 1, "groups"),
		Resources: some(t, resources, 1, "resources"), Names: some(t, names, 0, "names"),
	}}
}

func originRule(t *rapid.T) tables.OriginRule {
	return tables.OriginRule{
		Deny:  rapid.Bool().Draw(t, "deny"),
		Verbs: some(t, verbs, 1, "verbs"), NotVerbs: some(t, verbs[1:], 0, "not verbs"),
		Kinds: some(t, kinds, 1, "kinds"), NotKinds: some(t, kinds[1:], 0, "not kinds"),
	}
}

// owned returns random tables in which alice is bound to a role of each family, each
// cluster-wide or in the namespace.
func owned(t *rapid.T) *tables.Access {
	access := &tables.Access{
		Master: "master",
		Roles: tables.MapOf(map[string]tables.Role{
			"k": {Family: tables.FamilyKubernetes, Kubernetes: []tables.KubernetesRule{kubernetesRule(t), kubernetesRule(t)}},
			"o": {Family: tables.FamilyOrigin, Origin: []tables.OriginRule{originRule(t), originRule(t), originRule(t)}},
			"l": {Family: tables.FamilyOrigin, Origin: []tables.OriginRule{originRule(t), originRule(t)}},
		}),
		Bindings: tables.MapOf(map[string]tables.Binding{"k": {Role: "k"}, "o": {Role: "o"}, "l": {Role: "l"}}),
	}
	local := []string{"l"}
	cluster := []string{"o"}
	if rapid.Bool().Draw(t, "kubernetes is local") {
		local = append(local, "k")
	} else {
		cluster = append(cluster, "k")
	}
	access.Subjects.Cluster = tables.MapOf(map[string][]string{"user:alice": cluster})
	access.Subjects.Namespaces = tables.MapOf(map[string]tables.Map[[]string]{"hammer": tables.MapOf(map[string][]string{"group:dev": local})})
	return access
}

// request is one concrete request.
type request struct{ verb, group, resource, sub, name string }

func requests() []request {
	var out []request
	for _, verb := range []string{"get", "update", "patch", "delete", "exec", "other"} {
		for _, group := range []string{"", "apps", "other"} {
			for _, resource := range []string{"pods", "secrets", "services", "other"} {
				for _, sub := range []string{"", "exec", "log", "proxy", "other"} {
					for _, name := range []string{"", "a", "c"} {
						out = append(out, request{verb, group, resource, sub, name})
					}
				}
			}
		}
	}
	return out
}

func fitsKubernetes(r *tables.KubernetesRule, q request) bool {
	full := q.resource
	if q.sub != "" {
		full += "/" + q.sub
	}
	return rule.HasOrStar(r.Verbs, q.verb) && rule.HasOrStar(r.Groups, q.group) &&
		slices.ContainsFunc(r.Resources, func(e string) bool { return rule.CoversResource(e, full) }) &&
		(len(r.Names) == 0 || slices.Contains(r.Names, q.name))
}

func fitsOrigin(r *tables.OriginRule, q request) bool {
	return rule.MatchesVerb(r, q.verb, q.sub) && rule.MatchesKind(r, q.verb, q.resource, q.sub)
}

// allowed decides a request of alice in group dev by the order of decision of both
// families.
func allowed(access *tables.Access, namespace string, q request) bool {
	step := func(keys []string, deny bool) bool {
		for _, key := range keys {
			role := access.Roles.At(access.Bindings.At(key).Role)
			if !deny && slices.ContainsFunc(role.Kubernetes, func(r tables.KubernetesRule) bool { return fitsKubernetes(&r, q) }) ||
				slices.ContainsFunc(role.Origin, func(r tables.OriginRule) bool { return r.Deny == deny && fitsOrigin(&r, q) }) {
				return true
			}
		}
		return false
	}
	cluster, local := access.Subjects.Cluster.At("user:alice"), access.Subjects.Namespaces.At(namespace).At("group:dev")
	switch {
	case step(cluster, true):
		return false
	case step(cluster, false):
		return true
	case step(local, true):
		return false
	}
	return step(local, false)
}

// An author may use every permission that the package reports as held.
func TestNothingMissingMeansAllowed(t *testing.T) {
	author := Author{User: "alice", Groups: []string{"dev"}}
	kubernetes, origin := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		access := owned(t)
		namespace := rapid.SampledFrom([]string{"", "hammer"}).Draw(t, "scope")
		held := newPermissions(access, nil, author, 0).in(namespace)
		k, o := kubernetesRule(t), originRule(t)
		holdsK, holdsO := len(held.missingResources(&k)) == 0, len(held.missingOrigin(&o)) == 0
		for _, q := range requests() {
			if holdsK && fitsKubernetes(&k, q) {
				kubernetes++
				if !allowed(access, namespace, q) {
					t.Fatalf("%+v: got a request the author may not make, of a rule said to be held: %+v", q, k)
				}
			}
			if holdsO && fitsOrigin(&o, q) {
				origin++
				if !allowed(access, namespace, q) {
					t.Fatalf("%+v: got a request the author may not make, of a rule said to be held: %+v", q, o)
				}
			}
		}
	})
	if kubernetes == 0 || origin == 0 {
		t.Errorf("got %d and %d requests of rules that are held, want some of each family", kubernetes, origin)
	}
}

// An Origin rule is missing a permission if and only if a deny policy denies a request that the rule
// matches: a verb may stand for subresources, and a kind has its subresources with it.
func TestDeniedOfOriginRules(t *testing.T) {
	access := &tables.Access{
		Roles:    tables.MapOf(map[string]tables.Role{"all": {Origin: []tables.OriginRule{{Verbs: []string{"*"}, Kinds: []string{"*"}}}}}),
		Bindings: tables.MapOf(map[string]tables.Binding{"b": {Role: "all"}}),
		Subjects: tables.Subjects{Cluster: tables.MapOf(map[string][]string{"user:alice": {"b"}})},
	}
	subresources := []string{"exec", "attach", "log", "proxy", ""}
	denials := 0
	rapid.Check(t, func(t *rapid.T) {
		denied := tables.DenyRule{
			Actions:   []tables.DenyAction{{Verbs: rapid.SampledFrom([][]string{nil, {"get"}, {"patch"}, {"exec"}, {"create", "delete"}}).Draw(t, "denied verbs")}},
			Resources: []tables.DenyResource{{Resources: rapid.SampledFrom([][]string{nil, {"pods"}, {"secrets", "pods"}}).Draw(t, "denied resources")}},
		}
		if rapid.Bool().Draw(t, "of subresources") {
			denied.Resources[0].Subresources = some(t, subresources, 1, "denied subresources")
		}
		wanted := originRule(t)
		wanted.Deny = false
		held := newPermissions(access, &tables.Deny{Policies: []tables.DenyPolicy{{Rules: []tables.DenyRule{denied}}}}, Author{User: "alice"}, 0).in("")
		isDenied := slices.ContainsFunc(slices.Concat(requests(), streams()), func(q request) bool {
			words := rule.DenialWords(&rule.Request{Verb: q.verb, Group: q.group, Resource: q.resource, Subresource: q.sub})
			return fitsOrigin(&wanted, q) && rule.Deny(&denied).Match(&words) == rule.Yes
		})
		if missing := held.missingOrigin(&wanted); len(missing) > 0 != isDenied {
			t.Fatalf("%+v beside %+v: got %q missing, want some: %t", wanted, denied, missing, isDenied)
		}
		if isDenied {
			denials++
		}
	})
	if denials == 0 {
		t.Error("no rule was denied")
	}
}

// streams returns requests that requests has not: verbs and subresources that stand for others.
func streams() []request {
	var out []request
	for _, verb := range []string{"get", "create", "update", "patch", "delete", "exec", "proxy", "other"} {
		for _, resource := range []string{"pods", "secrets", "services", "other"} {
			for _, sub := range []string{"", "exec", "attach", "log", "proxy", "portforward"} {
				out = append(out, request{verb, "", resource, sub, ""})
			}
		}
	}
	return out
}

// Long lists that match the same rules are one tuple. Too many different tuples are
// reported as missing.
func TestManyCombinations(t *testing.T) {
	long := strings.Fields(strings.Repeat("x ", 3000))
	for i := range long {
		long[i] = strings.Repeat("x", i+1)
	}
	access := &tables.Access{
		Roles:    tables.MapOf(map[string]tables.Role{"r": {Kubernetes: []tables.KubernetesRule{{KubernetesLists: &tables.KubernetesLists{Verbs: long, Groups: long, Resources: []string{"*"}}}}}}),
		Bindings: tables.MapOf(map[string]tables.Binding{"b": {Role: "r"}}),
		Subjects: tables.Subjects{Cluster: tables.MapOf(map[string][]string{"user:alice": {"b"}})},
	}
	held := newPermissions(access, nil, Author{User: "alice"}, 0).in("")
	if got := held.missingResources(&tables.KubernetesRule{KubernetesLists: &tables.KubernetesLists{Verbs: long[:2000], Groups: long, Resources: long}}); len(got) > 0 {
		t.Errorf("got %v missing, want nothing", got)
	}

	var apart []tables.KubernetesRule
	for _, x := range long[:400] {
		apart = append(apart, tables.KubernetesRule{KubernetesLists: &tables.KubernetesLists{Verbs: []string{x}, Groups: []string{"*"}, Resources: []string{"*"}}},
			tables.KubernetesRule{KubernetesLists: &tables.KubernetesLists{Verbs: []string{"*"}, Groups: []string{x}, Resources: []string{"*"}}})
	}
	access.Roles = tables.MapOf(map[string]tables.Role{"r": {Kubernetes: apart}})
	held = newPermissions(access, nil, Author{User: "alice"}, 0).in("")
	got := held.missingResources(&tables.KubernetesRule{KubernetesLists: &tables.KubernetesLists{Verbs: long[:400], Groups: long[:400], Resources: []string{"pods"}}})
	if want := []string{tooMany}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
