package question_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/revisions"
)

const (
	everything = `{kind: Role, apiVersion: writ.dev/v1, metadata: {name: all, namespace: master}, rules: [{verbs: ["*"], resourceKinds: ["*"]}]}
---
{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: all, namespace: master}, roleRef: {name: all}, userNames: [u, "system:node:node-2"], groupNames: [dev, sre]}`
	shells = `{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: p}, spec: {podSecurityRules: {riskFactors: {hostNetwork: 50}, `
	fix    = `{kind: BreakglassEscalation, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: fix, namespace: x},
 spec: {escalatedGroup: adm, allowed: {clusters: ["*"], groups: [sre]}, approvers: {users: [boss]}, podSecurityOverrides: {enabled: true, maxAllowedScore: 80}}}`
)

// denies returns a rule that denies everybody of the test something in the whole cluster.
func denies(rule string) string {
	return `{kind: Role, apiVersion: writ.dev/v1, metadata: {name: no, namespace: master}, rules: [` + rule + `]}
---
{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: no, namespace: master}, roleRef: {name: no}, userNames: [u, "system:node:node-2"]}`
}

// Who is allowed a request of a question is listed, whatever values the documents leave for it.
func TestWhoIsAllowedIsListed(t *testing.T) {
	pod := func(spec string) map[string]any {
		return map[string]any{"spec": map[string]any{spec: true, "containers": []any{map[string]any{"name": "c"}}}}
	}
	exec := map[string]any{"verb": "create", "resource": "pods", "subresource": "exec"}
	for name, test := range map[string]struct {
		documents []string
		question  map[string]any
		by        string
		request   map[string]any
	}{
		"a field that is called other": {
			[]string{everything, denies(`{deny: true, verbs: [update], resourceKinds: [Widget], attributeRestrictions: {fieldsMutatable: [other]}}`)},
			map[string]any{"verb": "update", "resource": "widgets", "namespace": "x"}, "user:u", map[string]any{"fields": []string{"spec"}},
		},
		"a node that is called node-2": {
			[]string{everything, denies(`{deny: true, verbs: [update], resourceKinds: [Pod], attributeRestrictions: {kind: sameMinionRestriction}}`)},
			map[string]any{"verb": "update", "resource": "pods", "namespace": "x"}, "user:system:node:node-2", map[string]any{"attributes": map[string]any{"podMinion": "node-1"}},
		},
		"a restriction to the namespace of one binding of two": {
			[]string{`{kind: Role, apiVersion: writ.dev/v1, metadata: {name: r, namespace: master}, rules: [{verbs: [get], resourceKinds: [Secret], attributeRestrictions: {fieldsSelect: ["metadata.namespace=shop"]}}]}`,
				`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: a, namespace: anvil}, roleRef: {name: r, namespace: master}, userNames: [ann]}`,
				`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: b, namespace: shop}, roleRef: {name: r, namespace: master}, userNames: [bob]}`},
			map[string]any{"verb": "get", "resource": "secrets"}, "user:bob", map[string]any{"namespace": "shop"},
		},
		"only pods with a risk factor": {
			[]string{everything, shells + `thresholds: [{maxScore: 0, action: deny}, {maxScore: 100, action: allow}]}}}`},
			exec, "group:dev", map[string]any{"pod": pod("hostNetwork")},
		},
		"an escalation that one group may use": {
			[]string{everything, shells + `thresholds: []}}}`, fix},
			exec, "group:sre", map[string]any{"pod": pod("hostNetwork"), "escalation": "fix"},
		},
		"an exempt namespace": {
			[]string{everything, shells + `thresholds: [], exemptions: {namespaces: {patterns: ["ops-*"]}}}}}`},
			exec, "group:dev", map[string]any{"pod": pod("hostNetwork"), "namespace": "ops-1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			side := revisions.Of(t, strings.Split(strings.Join(test.documents, "\n---\n"), "\n---\n"))
			request := maps.Clone(test.question)
			maps.Copy(request, test.request)
			if outcome := outcomeOf(t, side, test.by, request); outcome != statement.OutcomeAllow {
				t.Fatalf("the request %v is decided %s", request, outcome)
			}
			open := append(question.Facts(), "name")
			if test.question["namespace"] == nil {
				open = append(open, "namespace")
			}
			answer, err := (&question.Asker{World: side.World, Judge: side.Judge}).WhoCan(t.Context(), &question.Question{Stated: test.question, Open: open})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(answer.Subjects, func(s question.Subject) bool { return s.Subject == test.by })
			if i < 0 {
				t.Fatalf("%s is not among the subjects %+v", test.by, answer.Subjects)
			}
			for _, s := range answer.Subjects {
				if outcome := outcomeOf(t, side, s.Subject, s.Example); outcome != statement.OutcomeAllow {
					t.Errorf("%s: the example %v is decided %s", s.Subject, s.Example, outcome)
				}
			}
		})
	}
}

// outcomeOf returns how a principal alone is decided.
func outcomeOf(t *testing.T, side *diff.Side, principal string, request map[string]any) string {
	t.Helper()
	request = maps.Clone(request)
	base, _ := statement.RequestOf(statement.PointAccess, []string{principal})
	request["user"] = base.User
	if len(base.Groups) > 0 {
		request["groups"] = base.Groups
	}
	v, err := side.Judge(context.Background(), statement.PointAccess, statement.Encode(request))
	if err != nil {
		t.Fatal(err)
	}
	return v.Outcome
}

// Who may be denied is said with every binding by which that is so.
func TestMembersNameTheirBindings(t *testing.T) {
	side := revisions.Of(t, []string{
		`{kind: Role, apiVersion: writ.dev/v1, metadata: {name: no, namespace: master}, rules: [{deny: true, verbs: [get], resourceKinds: [pods]}]}`,
		`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: x, namespace: master}, roleRef: {name: no}, groupNames: [a]}`,
		`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: y, namespace: master}, roleRef: {name: no}, groupNames: [b]}`,
	})
	answer, err := (&question.Asker{World: side.World, Judge: side.Judge}).WhoCan(t.Context(), &question.Question{Stated: map[string]any{"verb": "get", "resource": "pods"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "group:a, group:b (master/x, master/y, deny, step 3)"; !strings.Contains(answer.Table(), want) {
		t.Errorf("%q is not in\n%s", want, answer.Table())
	}
}
