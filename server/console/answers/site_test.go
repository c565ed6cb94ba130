package answers

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// site is a server without HTTP: documents that are activated, and an explorer.
type site struct {
	t        *testing.T
	explorer *Explorer
	active   decision.Policies
	last     *engine.Engine
	bundle   *bundles.Bundle // of active
	changes  *translator.Translator
}

// now is the clock of tests.
var now = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

func newSite(t *testing.T, documents string) *site {
	t.Helper()
	s := &site{t: t, active: decision.Unavailable("no revision"), changes: translator.New(translator.Options{})}
	s.explorer = New(Options{
		Current: func() decision.Policies { return s.active }, Log: 10, Now: func() time.Time { return now },
		Clusters: func() []string { return []string{"east", "west"} }, Try: try,
	})
	if err := s.load(documents); err != nil {
		t.Fatal(err)
	}
	return s
}

// try is what a server does with documents that it does not serve.
func try(ctx context.Context, snapshot source.Snapshot) (Trial, error) {
	t := translator.New(translator.Options{})
	result, list := t.Translate(ctx, snapshot)
	out := Trial{Documents: t.Documents(), Diagnostics: list}
	if result == nil {
		return out, ctx.Err()
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		return out, err
	}
	out.Policies, err = engine.Activate(ctx, b, engine.Options{Now: func() time.Time { return now }})
	return out, err
}

// load activates documents: files as "== NAME" and their text.
func (s *site) load(documents string) error {
	s.t.Helper()
	var files []source.File
	for _, part := range strings.Split(documents, "== ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		files = append(files, source.NewFile(name, []byte(text)))
	}
	slices.SortFunc(files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	result, list := s.changes.Translate(s.t.Context(), source.Snapshot{Files: files})
	a := Attempt{Files: files, Diagnostics: list, State: console.StateEvent{Ready: true}, Revision: s.active.Loaded().Revision, Source: "documents"}
	if result == nil {
		a.Err, a.State.Degraded, a.Documents = errors.New("the documents have errors"), true, s.changes.Documents()
		s.explorer.Attempted(a)
		s.t.Logf("%+v", list)
		return a.Err
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		return err
	}
	e, err := engine.Activate(s.t.Context(), b, engine.Options{Now: func() time.Time { return now }, Last: s.last})
	if err != nil {
		return err
	}
	s.explorer.Activate(b)
	s.last, s.active, s.bundle = e, e, b
	a.Documents, a.Revision, a.Activated = result.Directory.Documents(), e.Loaded().Revision, true
	s.explorer.Attempted(a)
	return nil
}

// decide decides a request and lets the explorer observe it.
func (s *site) decide(ctx context.Context, request string) decision.Decision {
	s.t.Helper()
	r, err := decision.Decode[decision.Request]([]byte(request))
	if err != nil {
		s.t.Fatal(err)
	}
	d := s.active.Access(ctx, r)
	s.explorer.Observe(decision.Observation{
		Point: decision.Access, Revision: s.active.Loaded().Revision, Endpoint: "/test", Outcome: d.Settle(), Took: time.Microsecond, Matched: d.Matched,
		Input: r.Encode, Result: func() []byte { return d.AppendJSON(nil) },
	})
	return d
}

// all is a caller who sees everything.
var all = console.Caller{SeesAll: true}

func (s *site) explain(point, request string) *console.Explanation {
	s.t.Helper()
	e, err := s.explorer.Now().Explain(s.t.Context(), all, point, []byte(request), time.Time{})
	if err != nil {
		s.t.Fatalf("%s: %v", request, err)
	}
	return e
}

// reasonOf returns the reason of an error, -1 for none.
func reasonOf(err error) console.Reason {
	if e, ok := errors.AsType[*console.Error](err); ok {
		return e.Reason
	}
	return -1
}

func text(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const policies = `== deny.yaml
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: no-secrets}
spec:
  precedence: 10
  rules:
    - verbs: [delete]
      apiGroups: [""]
      resources: [secrets]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: strict-pods}
spec:
  precedence: 20
  podSecurityRules:
    riskFactors: {hostNetwork: 20, privilegedContainer: 50}
    thresholds:
      - {maxScore: 49, action: allow}
      - {maxScore: 100, action: deny, reason: "score {{.Score}}"}
== rbac.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: dev, namespace: shop}
rules:
  - apiGroups: [""]
    resources: [pods, pods/exec]
    verbs: [get, list, create]
  - apiGroups: [""]
    resources: [secrets]
    resourceNames: [tls]
    verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: developers, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: dev}
subjects:
  - {kind: Group, name: dev, apiGroup: rbac.authorization.k8s.io}
  - {kind: User, name: ada, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: admin}
rules:
  - apiGroups: ["*"]
    resources: ["*"]
    verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: admins}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects:
  - {kind: Group, name: ops, apiGroup: rbac.authorization.k8s.io}
== protected.yaml
apiVersion: writ.dev/v1
kind: Role
metadata: {name: editor, namespace: shop}
rules:
  - verbs: [update]
    resourceKinds: [pods]
  - verbs: [update]
    resourceKinds: [pods]
    deny: true
    attributeRestrictions: {labelsContain: ["protected"]}
---
apiVersion: writ.dev/v1
kind: RoleBinding
metadata: {name: editors, namespace: shop}
roleRef: {name: editor}
userNames: [ed]
---
apiVersion: writ.dev/v1
kind: Policy
metadata: {name: default, namespace: shop}
---
apiVersion: writ.dev/v1
kind: PolicyBinding
metadata: {name: shop, namespace: shop}
policyRef: {namespace: shop}
`
