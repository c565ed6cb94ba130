package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// hiddenByLabel shows everything to a user but what is on clusters with a label.
const hiddenByLabel = `
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: all, namespace: monitoring}
spec:
  identity: {priority: 1, subjects: {users: [a]}}
  access: {effect: Allow, enabled: true}
  scope: {clusters: {default: allow, rules: [{selector: {matchNames: [c]}, permissions: {view: true}}]}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: none, namespace: monitoring}
spec:
  identity: {priority: 2, subjects: {users: [a]}}
  access: {effect: Deny, enabled: true}
  scope: {clusters: {default: none, rules: [{selector: {matchLabels: {of: c}}}]}}
`

// A filter is about the cluster as a decision is: with the labels of the clusters file, where the
// caller leaves them out. What is recorded has them, so that it is decided again as it was.
func TestFiltersKnowTheLabelsOfClusters(t *testing.T) {
	e := engineOf(t, hiddenByLabel)
	var recorded events
	_, o := endpoints(&fake{}, func(o *Options) { o.Current, o.Clusters, o.Log = serving(e), labelled{}, &recorded })
	h := New(o)
	const request = `{"user":"a","type":"pods","cluster":{"name":"c"}}`
	const whole = `{"user":"a","type":"pods","cluster":{"name":"c","labels":{"of":"c"}}}`
	for i, row := range []struct{ path, body, want, recorded string }{
		{"/v1/decisions/visibility", request, `"decision":"deny"`, whole},
		{"/v1/decisions/visibility", `{"cluster":{"labels":null,"name":"c"},"user":"a"}`, `"decision":"deny"`, `{"cluster":{"name":"c","labels":{"of":"c"}},"user":"a"}`},
		{"/v1/decisions/visibility", `{"user":"a","cluster":{"name":"c","labels":{}}}`, `"decision":"allow"`, `{"user":"a","cluster":{"name":"c","labels":{}}}`},
		{"/v1/filters/visibility", `{"target":"ucast+all","request":` + request + `}`, `"kind":"never"`, `{"request":` + whole + `,"target":"ucast+all"}`},
		{"/v1/compile/writ/visibility/decision/visible", `{"input":` + request + `}`, `"kind":"never"`, whole},
	} {
		r := httptest.NewRequest(http.MethodPost, row.path, strings.NewReader(row.body))
		r.Header.Set("Content-Type", "application/json")
		if strings.Contains(row.path, "compile") {
			r.Header.Set("Accept", "application/vnd.opa.ucast.all+json")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), row.want) {
			t.Errorf("%s: got %d %s, want %s", row.path, w.Code, w.Body, row.want)
		}
		if len(recorded) != i+1 || string(recorded[i].Input) != row.recorded {
			t.Fatalf("%s: recorded %d: %s, want %s", row.path, len(recorded), recorded[len(recorded)-1].Input, row.recorded)
		}
	}
}

// events is a log of decisions.
type events []decision.Event

func (l *events) Log(e decision.Event) { *l = append(*l, e) }

// engineOf decides by documents.
func engineOf(t *testing.T, documents string) *engine.Engine {
	t.Helper()
	result, list := translator.New(translator.Options{}).Translate(t.Context(), source.Snapshot{
		Files: []source.File{source.NewFile("p.yaml", []byte(documents))},
	})
	if result == nil {
		t.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), b, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
