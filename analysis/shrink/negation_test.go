package shrink_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/shrink"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/source"
)

// What a rule of a role negates, another of its rules may grant: the rule that negates it cannot
// stand in for the other.
func TestRuleThatNegatesDoesNotStandIn(t *testing.T) {
	const documents = `kind: Policy
apiVersion: writ.dev/v1
metadata: {name: p, namespace: shop}
---
kind: PolicyBinding
apiVersion: writ.dev/v1
metadata: {name: shop, namespace: shop}
policyRef: {namespace: shop}
---
kind: Role
apiVersion: writ.dev/v1
metadata: {name: r, namespace: shop}
rules:
- verbs: [list, update]
  resourceKinds: [jobs, "*", -pods]
- verbs: ["*"]
  resourceKinds: [pods, jobs, deployments]
---
kind: RoleBinding
apiVersion: writ.dev/v1
metadata: {name: b, namespace: shop}
roleRef: {name: r, namespace: shop}
userNames: [u]
`
	requests := []string{"list pods", "watch pods", "list secrets", "update jobs"}
	var log strings.Builder
	for _, r := range requests {
		verb, resource, _ := strings.Cut(r, " ")
		fmt.Fprintf(&log, `{"user":"u","verb":%q,"resource":%q,"namespace":"shop"}`+"\n", verb, resource)
	}
	before := load(t, []source.File{source.NewFile("a.yaml", []byte(documents))})
	facts := statement.FactsOf(before.side.World)
	m, u := before.use(t, log.String(), facts, &shrink.Options{})
	change, err := m.Shrink(u, false)
	if err != nil {
		t.Fatal(err)
	}
	after := before.with(t, change.Files)
	for line := range strings.Lines(log.String()) {
		v, err := after.side.Judge(t.Context(), statement.PointAccess, []byte(line))
		if err != nil || v.Outcome != statement.OutcomeAllow {
			t.Errorf("%s is %v, %v after\n%s", line, v.Outcome, err, textOf(after.files))
		}
	}
}
