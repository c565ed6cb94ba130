package filters

import (
	"slices"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// An expression that reads nothing open is decided by the request; one that does is refused,
// and so is an extension unless nothing is open.
func TestExpressions(t *testing.T) {
	role := func(name, expression string, isDeny bool) map[string]any {
		return map[string]any{"apiVersion": "writ.dev/v1", "kind": "Role", "metadata": map[string]any{"name": name, "namespace": "master"}, "rules": []any{
			map[string]any{"verbs": []string{"get"}, "resourceKinds": []string{"pods"}, "deny": isDeny,
				"attributeRestrictions": map[string]any{"kind": "cel", "expression": expression}},
		}}
	}
	bind := func(name, namespace string, users ...string) map[string]any {
		return map[string]any{"apiVersion": "writ.dev/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": name, "namespace": namespace},
			"userNames": users, "roleRef": map[string]any{"namespace": "master", "name": name}}
	}
	p := activate(t, []map[string]any{
		role("ticket", `request.attributes.ticket == "T-1"`, false), bind("ticket", "a", "u", "v", "w"),
		role("frozen", `request.attributes.frozen == true`, true), bind("frozen", "master", "v"),
		role("own", `request.name.startsWith("a")`, false), bind("own", "web", "w"),
		role("all", `request.verb == "get"`, false), bind("all", "b", "u"),
		{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": map[string]any{"name": "d"}, "spec": map[string]any{
			"rules": []any{map[string]any{"verbs": []string{"get"}, "apiGroups": []string{""}, "resources": []string{"secrets"}}}}},
	})
	var rows []map[string]any
	for _, namespace := range []string{"", "a", "b", "web"} {
		for _, name := range []string{"", "a", "b"} {
			rows = append(rows, map[string]any{"namespace": namespace, "name": name})
		}
	}
	for _, row := range []struct {
		user       string
		attributes map[string]any
		refused    bool
		rows       int
	}{
		{"u", map[string]any{"ticket": "T-1"}, false, 6},
		{"u", map[string]any{"ticket": "T-2"}, false, 3},
		{"u", nil, false, 3},
		{"v", map[string]any{"ticket": "T-1", "frozen": true}, false, 0},
		{"v", map[string]any{"ticket": "T-1", "frozen": false}, false, 3},
		{"v", map[string]any{"ticket": "T-1"}, false, 0}, // a denial that cannot be decided denies
		{"w", map[string]any{"ticket": "T-1"}, true, 0},
	} {
		request := map[string]any{"user": row.user, "verb": "get", "resource": "pods"}
		if row.attributes != nil {
			request["attributes"] = row.attributes
		}
		question := map[string]any{"request": request, "open": []string{"namespace", "name"}}
		a, refused := answer(t, p, decision.Access, "ucast+all", question)
		if row.refused {
			if !slices.Equal(refused, []string{"opaque"}) {
				t.Errorf("%s: got the refusals %v, want opaque", encode(request), refused)
			}
			continue
		}
		if refused != nil {
			t.Errorf("%s: refused: %v", encode(request), refused)
			continue
		}
		want := selected(t, p, decision.Access, question, rows)
		got := []int(nil)
		if a.Kind == "conditional" {
			got = selectedBy(t, nodeOf(t, a.Query), allFields(t, rows), true)
		}
		if a.Kind == "always" || !slices.Equal(got, want) || len(want) != row.rows {
			t.Errorf("%s: got rows %v of %s, want %v, %d of them", encode(request), got, encode(a), want, row.rows)
		}
	}
}
