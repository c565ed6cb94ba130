package filters

import (
	"fmt"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// pathGlob draws a pattern of a deny policy.
func (d draw) pathGlob() string {
	return pick(d, "*", "a*", "*a", "?", "a/*", "*/*", "**", "web-?", "[ab]*", "kube-*", "*b*", `a\*`, "*-*", "[a-c]b", "é*")
}

func (d draw) pathGlobs() []string {
	return []string{d.pathGlob(), d.pathGlob()}[:1+d.IntN(2)]
}

func (d draw) denyRule() map[string]any {
	out := map[string]any{"verbs": []string{pick(d, "get", "*", "delete")}, "apiGroups": []string{""}, "resources": []string{pick(d, "pods", "*")}}
	if d.chance(50) {
		out["resourceNames"] = d.pathGlobs()
	}
	if d.chance(70) {
		namespaces := map[string]any{}
		if d.chance(60) {
			namespaces["patterns"] = d.pathGlobs()
		}
		if d.chance(60) || len(namespaces) == 0 {
			namespaces["selectorTerms"] = []any{map[string]any{"matchExpressions": []any{d.requirement(), d.requirement()}[:1+d.IntN(2)]}}
		}
		out["namespaces"] = namespaces
	}
	return out
}

func (d draw) requirement() map[string]any {
	key := pick(d, "k", "team", "a.b/c")
	if d.chance(40) {
		return map[string]any{"key": key, "operator": pick(d, "Exists", "DoesNotExist")}
	}
	return map[string]any{"key": key, "operator": pick(d, "In", "NotIn"), "values": []string{pick(d, "x", "blue"), pick(d, "Blue", "1")}}
}

// originRole draws a role of Origin with labels and a rule that denies.
func (d draw) originRole(name string) map[string]any {
	rule := map[string]any{"verbs": []string{pick(d, "get", "*")}, "resourceKinds": []string{"pods"}}
	if d.chance(60) {
		rule["attributeRestrictions"] = map[string]any{"labelsContain": []string{pick(d, "k", "team=blue", "k=x", "k=")}}
	}
	if d.chance(40) {
		rule["deny"] = true
	}
	return map[string]any{"apiVersion": "writ.dev/v1", "kind": "Role", "metadata": map[string]any{"name": name, "namespace": "master"}, "rules": []any{rule}}
}

// accessCase draws deny policies and for each user roles and bindings, and questions of each
// with what is open.
func accessCase(t *testing.T, d draw, users ...string) (decision.Policies, []map[string]any) {
	var documents, questions []map[string]any
	for _, user := range users {
		documents = append(documents, d.grants(user)...)
		forms := [][]string{{"namespace", "name"}, {"namespace", "name", "labels", "namespaceLabels"}, {"namespace"}, {"name", "labels"}}
		for _, i := range d.Perm(len(forms))[:2] {
			request := map[string]any{"user": user, "groups": pick(d, []string{user}, []string{}), "verb": pick(d, "get", "delete"), "resource": "pods"}
			if forms[i][0] == "name" {
				request["namespace"] = pick(d, "a", "web")
			}
			questions = append(questions, map[string]any{"request": request, "open": forms[i], "columns": columnsOf})
		}
	}
	for i := range d.IntN(3) {
		documents = append(documents, map[string]any{
			"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": map[string]any{"name": fmt.Sprintf("d%d", i)},
			"spec": map[string]any{"rules": []any{d.denyRule()}},
		})
	}
	return activate(t, documents), questions
}

// grants draws roles of Kubernetes and of Origin, and bindings of a user.
func (d draw) grants(user string) []map[string]any {
	const rbac = "rbac.authorization.k8s.io"
	var documents []map[string]any
	for i := range 3 {
		name := fmt.Sprintf("r%d-%s", i, user)
		rule := map[string]any{"verbs": []string{pick(d, "get", "*")}, "apiGroups": []string{""}, "resources": []string{"pods"}}
		if d.chance(50) {
			rule["resourceNames"] = []string{d.text(), d.text()}
		}
		documents = append(documents, map[string]any{"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": name}, "rules": []any{rule}})
		binding := map[string]any{
			"apiVersion": rbac + "/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": name, "namespace": pick(d, "a", "b", "web", "kube-system", "ab")},
			"roleRef":  map[string]any{"apiGroup": rbac, "kind": "ClusterRole", "name": name},
			"subjects": []any{map[string]any{"apiGroup": rbac, "kind": pick(d, "User", "Group"), "name": user}},
		}
		if d.chance(50) {
			binding["kind"], binding["metadata"] = "ClusterRoleBinding", map[string]any{"name": name}
		}
		origin := fmt.Sprintf("o%d-%s", i, user)
		documents = append(documents, binding, d.originRole(origin), map[string]any{
			"apiVersion": "writ.dev/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": origin, "namespace": pick(d, "master", "a", "web", "b")},
			"userNames": []string{user}, "roleRef": map[string]any{"namespace": "master", "name": origin},
		})
	}
	return documents
}
