package verify_test

import (
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/tests/revisions"
)

// A condition on a field may read a name that was chosen before: each name is tried.
func TestNamesThatSelectorsReadAreTried(t *testing.T) {
	side := revisions.Of(t, []string{
		"{kind: Role, apiVersion: writ.dev/v1, metadata: {name: o, namespace: master}, rules: [{deny: true, verbs: [get], resourceKinds: [pods], attributeRestrictions: {fieldsSelect: [metadata.name=a]}}]}",
		"{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: o, namespace: master}, roleRef: {namespace: master, name: o}, groupNames: [g]}",
	})
	list := decoded(t, []byte(`{"apiVersion":"writ.dev/v1","kind":"Assertions","metadata":{"name":"d"},"spec":{"assertions":[
		{"name": "a", "never": "denied", "of": {"verb": "get", "resource": "pods", "name": ["b", "a"]}}]}}`))
	report, err := verify.Run(t.Context(), &verify.Input{Side: side, Assertions: list, Now: time.Unix(0, 0), SetNow: func(time.Time) {}})
	if err != nil {
		t.Fatal(err)
	}
	got := report.Assertions[0]
	if got.Verdict != verify.Fails || got.Witness.Requests[0].Request["name"] != "a" {
		t.Errorf("got %s, %+v, want a request for a", got.Verdict, got.Witness)
	}
}

// sameMinionRestriction reads the node of the requester: what two requesters may do of one
// request is not what one of them may do of it.
func TestNodesOfTwoRequestersAreNotOne(t *testing.T) {
	side := revisions.Of(t, []string{
		"{kind: Role, apiVersion: writ.dev/v1, metadata: {name: o, namespace: master}, rules: [{verbs: [get], resourceKinds: [pods], attributeRestrictions: {kind: sameMinionRestriction}}]}",
		"{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: o, namespace: master}, roleRef: {namespace: master, name: o}, userNames: ['system:node:a', 'system:node:b']}",
	})
	for _, form := range []string{
		`"implies": ["user:system:node:a", "user:system:node:b"]`,
		`"implies": ["user:system:node:b", "user:system:node:a"]`,
	} {
		list := decoded(t, []byte(`{"apiVersion":"writ.dev/v1","kind":"Assertions","metadata":{"name":"d"},"spec":{"assertions":[
			{"name": "a", `+form+`, "of": {"verb": "get", "resource": "pods", "name": "p", "namespace": "shop"}}]}}`))
		report, err := verify.Run(t.Context(), &verify.Input{Side: side, Assertions: list, Now: time.Unix(0, 0), SetNow: func(time.Time) {}})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Assertions[0]; got.Verdict == verify.Holds || got.Verdict == verify.Vacuous {
			t.Errorf("%s: got %s (%s), want no proof", form, got.Verdict, got.Text)
		}
	}
}
