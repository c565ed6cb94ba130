package engine

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/overdue"
)

// slow is a policy with a built-in function that takes seconds and cannot be
// interrupted.
const slow = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: net}
spec:
  gatewayClassName: any
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: books, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: net}]
  rules: [{name: all}]
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: books, namespace: shop}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: books}
  rules:
    authorization:
      slow: {opa: {rego: 'allow if regex.match("(a?){400}b$", input.request.headers.text)'}}
`

// counter is an overdue.Observer that counts evaluations that became overdue, and those
// of them that ended.
type counter struct{ overdue, ended atomic.Int64 }

func (c *counter) EvaluationOverdue(change int) {
	if change > 0 {
		c.overdue.Add(int64(change))
	} else {
		c.ended.Add(int64(-change))
	}
}
func (*counter) EvaluationRefused() {}
func (*counter) Panicked()          {}

// The decision is returned at the deadline while the evaluation is still running.
func TestDecisionAtDeadline(t *testing.T) {
	seen := &counter{}
	e := activateDocuments(t, slow, Options{Timeout: 50 * time.Millisecond, Overdue: overdue.New(seen)})
	text := strings.Repeat("a", 20_000)
	r, err := decision.DecodeGateway([]byte(`{"request":{"host":"a.b","method":"GET","path":"/","headers":{"text":"` + text + `"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	d, refused := e.Gateway(t.Context(), r)
	if refused != nil {
		t.Fatal(refused)
	}
	if seen.overdue.Load() != 1 {
		t.Errorf("got %d overdue evaluations at the answer, want 1", seen.overdue.Load())
	}
	if d.Allowed || !d.Denied || d.EvaluationError != decision.ErrDeadline.Error() {
		t.Errorf("got allowed %v, denied %v, error %q, want a denial for the deadline", d.Allowed, d.Denied, d.EvaluationError)
	}
	for end := time.Now().Add(time.Minute); seen.ended.Load() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if seen.ended.Load() != 1 {
		t.Error("the evaluation does not end")
	}
}
