package question_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/tests/revisions"
)

var scoped = []string{
	"{kind: Policy, apiVersion: writ.dev/v1, metadata: {name: p, namespace: shop}}",
	"{kind: PolicyBinding, apiVersion: writ.dev/v1, metadata: {name: shop, namespace: shop}}",
	`{kind: Role, apiVersion: writ.dev/v1, metadata: {name: o, namespace: shop}, rules: [` +
		`{verbs: [list], resourceKinds: [secrets], attributeRestrictions: {labelsContain: [tier=gold, team], fieldsSelect: [type=Opaque]}},` +
		`{verbs: [get], resourceKinds: [secrets], attributeRestrictions: {labelsContain: [tier=gold]}},` +
		`{verbs: [list], resourceKinds: [pods], attributeRestrictions: {kind: sameMinionRestriction}},` +
		`{verbs: [list], resourceKinds: [jobs], attributeRestrictions: {labelsContain: [a=b]}}]}`,
	`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: o, namespace: shop}, roleRef: {namespace: shop, name: o}, userNames: [u, "system:node:n"]}`,
}

// What a list requires is said of its selector, and the selector is in the example.
func TestListsAreAskedForWithSelectors(t *testing.T) {
	side := revisions.Of(t, scoped)
	for resource, want := range map[string][2]string{
		"secrets": {"label selector implies tier=gold,team and field selector implies type=Opaque", `"labelSelector":[{"key":"team"`},
		"jobs":    {"label selector implies a=b", `"attributes":{"labelSelector":[{"key":"a","operator":"In","values":["b"]}]}`},
	} {
		q := &question.Question{Stated: map[string]any{"verb": "list", "resource": resource, "namespace": "shop", "apiGroup": ""}, Open: append(question.Facts(), "name")}
		answer, err := (&question.Asker{World: side.World, Judge: side.Judge}).WhoCan(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s: %s is not in %s", resource, part, text)
			}
		}
	}
}

func TestOmittedRulesNameTheirSelectors(t *testing.T) {
	side := revisions.Of(t, scoped)
	for user, want := range map[string][]string{
		"u": {"RoleBinding shop/o rule 0 (holds with label selector tier=gold,team and field selector type=Opaque)", "RoleBinding shop/o rule 1", "RoleBinding shop/o rule 2", "RoleBinding shop/o rule 3 (holds with label selector a=b)"},
		"system:node:n": {"RoleBinding shop/o rule 0 (holds with label selector tier=gold,team and field selector type=Opaque)", "RoleBinding shop/o rule 1", "RoleBinding shop/o rule 2 (holds with field selector spec.nodeName=n)",
			"RoleBinding shop/o rule 3 (holds with label selector a=b)"},
	} {
		grants, err := (&question.Asker{World: side.World, Judge: side.Judge}).Grants(t.Context(), user, nil, "shop", nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(grants.Omitted, want) {
			t.Errorf("%s: got %q, want %q", user, grants.Omitted, want)
		}
	}
}
