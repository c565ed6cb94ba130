// Package bounded shows that what authors write cannot fill the memory of an engine.
package bounded

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/source"
)

// document has a policy whose Rego is inserted.
const document = `
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
      grow: {opa: {allValues: true, rego: %s}}
`

func activate(t *testing.T, documents string, o engine.Options) *engine.Engine {
	t.Helper()
	snapshot := source.Snapshot{Files: []source.File{source.NewFile("p.yaml", []byte(documents))}}
	e, list := revisions.Engine(t, snapshot, o)
	if e == nil {
		t.Fatal(list)
	}
	return e
}

// growing is the Rego of rules that grow a value from step to step.
var growing = map[string]string{
	"a text": `
        x0 := "0123456789"
        %s
        allow if count(x40) > 1`,
	"a text of two": `
        x0 := "0123456789"
        %s
        allow if count(x40) > 1`,
	"a number": `
        x0 := 1234567
        %s
        allow if x40 > 1`,
	"a list": `
        x0 := [1, 2]
        %s
        allow if count(x40) > 1`,
	"a text of JSON": `
        x0 := "0123456789"
        %s
        allow if count(x40) > 1`,
	"an answer": `
        x0 := [1]
        %s
        allow if x40`,
}

var steps = map[string]string{
	"a text":         `concat("", [%[1]s, %[1]s])`,
	"a text of two":  `sprintf("%%s%%s", [%[1]s, %[1]s])`,
	"a number":       `%[1]s * %[1]s`,
	"a list":         `array.concat(%[1]s, %[1]s)`,
	"a text of JSON": `json.marshal([%[1]s, %[1]s])`,
	"an answer":      `[v | some _ in [0, 1]; v := %[1]s]`, // a list of both would have a type that check refuses
}

// reasons are parts of the evaluation errors.
var reasons = map[string]string{
	"a text": "concat", "a text of two": "sprintf", "a number": "mul", "a list": "array.concat", "a text of JSON": "json.marshal",
	"an answer": "json.marshal", // of the outcome
}

// A rule that doubles a value forty times ends before its values fill the memory.
func TestValuesAreBounded(t *testing.T) {
	for name, body := range growing {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for i := range 40 {
				lines = append(lines, fmt.Sprintf("x%d := ", i+1)+fmt.Sprintf(steps[name], fmt.Sprintf("x%d", i)))
			}
			rego := strconv.Quote(fmt.Sprintf(body, strings.Join(lines, "\n")))
			e := activate(t, fmt.Sprintf(document, rego), engine.Options{Timeout: 20 * time.Second})
			r, err := decision.DecodeGateway([]byte(`{"request":{"host":"a.b","method":"GET","path":"/","headers":{}}}`))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			d, refused := e.Gateway(t.Context(), r)
			if refused != nil {
				t.Fatal(refused)
			}
			if d.Allowed || !d.Denied || d.EvaluationError == "" || d.EvaluationError == decision.ErrDeadline.Error() ||
				!strings.Contains(d.EvaluationError, reasons[name]) {
				t.Errorf("got allowed %v, denied %v, error %q after %v, want a denial for the size", d.Allowed, d.Denied, d.EvaluationError, time.Since(began))
			}
		})
	}
}
