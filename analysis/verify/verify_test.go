package verify_test

import (
	"slices"
	"strings"
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

// holdsNot fails a test unless an assertion is not proven: a request breaks it.
func holdsNot(t *testing.T, documents []string, assertion string) {
	t.Helper()
	side := revisions.Of(t, documents)
	report := run(t, side, decoded(t, []byte(`{"apiVersion":"writ.dev/v1","kind":"Assertions","metadata":{"name":"d"},"spec":{"assertions":[`+assertion+`]}}`)))
	if got := report.Assertions[0]; got.Verdict != verify.Fails {
		t.Errorf("%s: got %s (%s), want a request", assertion, got.Verdict, got.Text)
	}
}

// A request can be denied by its verb as by its subresource: verbs that stand for one are tried
// although no document names them.
func TestVerbsThatStandForSubresourcesAreTried(t *testing.T) {
	documents := []string{
		"{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: ['*'], apiGroups: [''], resources: ['*']}]}",
		"{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: dev}]}",
		"{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d}, spec: {rules: [{verbs: ['*'], apiGroups: [''], resources: ['*'], subresources: [exec]}]}}",
	}
	holdsNot(t, documents, `{"name": "a", "never": "denied", "of": {"resource": "secrets", "verb": {"not": "update"}}}`)
	holdsNot(t, documents, `{"name": "a", "always": "allowed", "of": {"resource": "secrets", "holds": {"only": "group:dev"}}}`)
}

// The verb impersonate of Origin covers those of the newer impersonation.
func TestVerbsOfImpersonationAreTried(t *testing.T) {
	holdsNot(t, []string{
		"{kind: Role, apiVersion: writ.dev/v1, metadata: {name: o, namespace: master}, rules: [{verbs: [impersonate], resourceKinds: [users]}]}",
		"{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: o, namespace: master}, roleRef: {namespace: master, name: o}, groupNames: [dev]}",
	}, `{"name": "a", "never": "allowed", "of": {"resource": "users", "verb": {"not": {"like": "[iI][mM][pP][eE][rR][sS][oO][nN][aA][tT][eE]"}}}}`)
}

// The path that stands for all others is another one where an assertion names it.
func TestPathsThatAssertionsNameStandForNoOthers(t *testing.T) {
	holdsNot(t, []string{
		"{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: [get], nonResourceURLs: [/x]}]}",
		"{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: dev}]}",
	}, `{"name": "a", "always": "allowed", "of": {"holds": {"only": "group:dev"}, "verb": "get", "path": {"not": ["/x", "/other"]}}}`)
}

// Each subresource that stands for a verb is tried, in any case.
func TestSubresourcesThatStandForVerbsAreTried(t *testing.T) {
	documents := []string{
		"{kind: Role, apiVersion: writ.dev/v1, metadata: {name: o, namespace: master}, rules: [{verbs: ['*', -get], resourceKinds: [pods]}]}",
		"{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: o, namespace: master}, roleRef: {namespace: master, name: o}, groupNames: [dev]}",
	}
	holdsNot(t, documents, `{"name": "a", "never": "allowed", "of": {"verb": "get", "subresource": {"not": ["exec", "proxy"]}}}`)
	holdsNot(t, documents, `{"name": "a", "never": "allowed", "of": {"verb": "get", "subresource": {"not": ["exec", "attach", "proxy", "portforward"]}}}`)
}

// Where a request holds one principal alone, a condition that excludes all others leaves those
// that it names: their requests are in the class.
func TestPrincipalsThatAreNotExcludedAreTried(t *testing.T) {
	documents := []string{
		"{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: [list], apiGroups: [''], resources: [pods]}]}",
		"{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: dev}, {kind: User, apiGroup: rbac.authorization.k8s.io, name: ann}]}",
	}
	for _, unless := range []string{`{"not": ["group:dev", "user:ann"]}`, `{"not": "user:ann"}`, `{"not": {"prefix": "user:a"}}`} {
		holdsNot(t, documents, `{"name": "a", "always": "allowed", "alone": true, "of": {"verb": "get", "resource": "pods"}, "unless": {"holds": `+unless+`, "resource": "pods"}}`)
		holdsNot(t, documents, `{"name": "a", "never": "allowed", "alone": true, "of": {"verb": "list", "resource": "pods"}, "unless": {"holds": `+unless+`, "resource": "pods"}}`)
	}
}

// reader is a group that may get and list secrets of a namespace.
var reader = []string{
	"{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: [get, list], apiGroups: [''], resources: [secrets]}]}",
	"{kind: RoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: dev}]}",
}

// What leaves out no request that would break an assertion is noted, whatever the verdict is.
func TestWhatNothingNeedsIsNoted(t *testing.T) {
	const soon, later = `"until": "1970-01-10T00:00:00Z", "reason": "r"`, `"until": "1971-01-01T00:00:00Z", "reason": "r"`
	for name, row := range map[string]struct{ assertion, want string }{
		"holds, nothing is left out":      {`"never": "denied", "unless": {"verb": "get"}`, "holds stale-unless"},
		"holds, one entry of two":         {`"never": "allowed", "unless": [{"verb": ["get", "list"]}, {"verb": "list"}, {"verb": "delete"}]`, "holds stale-unless stale-unless"},
		"fails, nothing is left out":      {`"never": "allowed", "unless": {"verb": "delete"}`, "fails stale-unless"},
		"fails, some is left out":         {`"never": "allowed", "unless": {"verb": "get"}`, "fails"},
		"fails, left out twice":           {`"never": "allowed", "unless": [{"verb": "get"}, {"verb": "get", "namespace": "shop"}]`, "fails stale-unless stale-unless"},
		"fails, exception of nothing":     {`"never": "allowed", "exceptions": [{"of": {"verb": "delete"}, ` + soon + `}]`, "fails stale-exception"},
		"fails, exception of a hole":      {`"never": "allowed", "exceptions": [{"of": {"verb": "get"}, ` + soon + `}]`, "fails"},
		"excepted, exception that ends":   {`"never": "allowed", "exceptions": [{"of": {"resource": "secrets"}, ` + soon + `}]`, "excepted expires"},
		"excepted, exception of nothing":  {`"never": "allowed", "exceptions": [{"of": {"resource": "secrets"}, ` + later + `}, {"of": {"verb": "delete"}, ` + soon + `}]`, "excepted stale-exception"},
		"fails, of a list, nothing":       {`"within": [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}], "unless": {"verb": "get"}`, "fails stale-unless"},
		"fails, of a list, some":          {`"within": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}], "unless": {"verb": "get"}`, "fails"},
		"fails, of a subject it excludes": {`"never": "allowed", "unless": {"holds": "group:other"}`, "fails"},
	} {
		t.Run(name, func(t *testing.T) {
			report := run(t, revisions.Of(t, reader), decoded(t, []byte(`{"apiVersion":"writ.dev/v1","kind":"Assertions","metadata":{"name":"d"},"spec":{"apart":[["group:a","group:b"]],"assertions":[{"name": "a", `+row.assertion+`}]}}`)))
			got := []string{report.Assertions[0].Verdict}
			for _, n := range report.Assertions[0].Notes {
				if n.Code != "unknown-word" {
					got = append(got, n.Code)
				}
			}
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("got %s, want %s", text, row.want)
			}
		})
	}
}

// A witness has as few keys as it can: an API group is not one of them if the core group does.
func TestWitnessesHaveFewKeys(t *testing.T) {
	report := run(t, revisions.Of(t, reader), decoded(t, []byte(`{"apiVersion":"writ.dev/v1","kind":"Assertions","metadata":{"name":"d"},"spec":{"assertions":[
		{"name": "a", "always": "allowed", "of": {"holds": "group:dev", "namespace": "shop", "verb": "get", "resource": {"like": "s*"}}}]}}`)))
	want := map[string]any{"user": "", "groups": []string{"dev"}, "verb": "get", "resource": "sexample", "namespace": "shop"}
	if w := report.Assertions[0].Witness; w == nil || revisions.Text(w.Requests[0].Request) != revisions.Text(want) {
		t.Errorf("got %+v, want the request %v", w, want)
	}
}

// In a text, what fails is first, and notes are after all verdicts.
func TestTextIsInOrder(t *testing.T) {
	report := run(t, revisions.Of(t, reader), decoded(t, []byte(`{"apiVersion":"writ.dev/v1","kind":"Assertions","metadata":{"name":"d"},"spec":{"assertions":[
		{"name": "stale", "never": "denied", "unless": {"verb": "get"}},
		{"name": "allowed", "never": "allowed", "of": {"resource": "secretz"}, "allow": ["vacuous"]},
		{"name": "vacuous", "never": "allowed", "of": {"resource": "secretz"}},
		{"name": "excepted", "never": "allowed", "exceptions": [{"of": {}, "until": "1970-01-02T00:00:00Z", "reason": "r"}]},
		{"name": "fails", "never": "allowed", "unless": {"verb": "delete"}}]}}`)))
	var got []string
	for line := range strings.SplitSeq(strings.TrimSpace(report.Text()), "\n") {
		if !strings.HasPrefix(line, " ") {
			got = append(got, strings.Join(strings.Fields(line)[:2], " "))
		}
	}
	want := []string{"FAIL d/fails", "vacuous d/vacuous", "vacuous d/allowed", "excepted d/excepted", "note stale-unless:", "note expires:", "note stale-unless:", "1 of"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q\n%s", got, want, report.Text())
	}
}

// A namespace that a deny policy alone names, or a role that nothing binds, is one that documents
// name: a principal must be allowed the class there too.
func TestNamespacesWithoutGrantsAreCovered(t *testing.T) {
	grant := []string{
		"{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]}",
		"{kind: RoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: dev}]}",
	}
	for _, other := range []string{
		"{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [secrets], namespaces: [kube-system]}]}}",
		"{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r, namespace: idle}, rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]}",
	} {
		holdsNot(t, append(slices.Clone(grant), other), `{"name": "a", "covers": "namespace", "of": {"verb": "get", "resource": "pods"}}`)
	}
}

// The values that are tried for all that no document names are others where a document names them.
func TestNamesOfStandInsAreTried(t *testing.T) {
	for verb, restriction := range map[string]string{"update": "fieldsMutatable: [other]", "delete": "kind: sameMinionRestriction"} {
		holdsNot(t, []string{
			`{kind: Role, apiVersion: writ.dev/v1, metadata: {name: all, namespace: master}, rules: [{verbs: ["*"], resourceKinds: ["*"]}]}`,
			`{kind: Role, apiVersion: writ.dev/v1, metadata: {name: no, namespace: master}, rules: [{deny: true, verbs: [` + verb + `], resourceKinds: [pods], attributeRestrictions: {` + restriction + `}}]}`,
			`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: all, namespace: master}, roleRef: {name: all}, userNames: ["system:node:node-2"]}`,
			`{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: no, namespace: master}, roleRef: {name: no}, userNames: ["system:node:node-2"]}`,
		}, `{"name": "a", "never": "allowed", "of": {"verb": "`+verb+`", "resource": "pods", "holds": {"only": "user:system:node:node-2"}}}`)
	}
}
