package visibility

import (
	"reflect"
	"slices"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

const visibilityDocuments = `
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: one}
spec:
  source: {apiVersion: v1, kind: Thing}
  fields: [{name: phase, path: .phase}]
  rbac: {resourceTypeName: thing}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: two}
spec:
  source: {apiVersion: v1, kind: Thing}
  fields: [{name: phase, path: .phase}]
  rbac: {resourceTypeName: thing, filterableFields: [phase]}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: three}
spec:
  source: {apiVersion: v1, kind: Thing}
  fields: [{name: phase, path: .phase}]
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: one}
spec:
  identity: {subjects: {groups: [dev], users: [alice]}}
  access: {effect: Allow}
  scope: {clusters: {rules: [{selector: {matchNames: [a]}, resources: [{type: thing, filters: {fields: {phase: {allowed: [a]}}}}, {type: things}]}]}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: two}
spec:
  identity: {subjects: {users: [alice], groups: [dev]}}
  access: {effect: Allow}
  scope: {clusters: {rules: [{selector: {matchNames: [a]}, resources: [{type: pod}]}]}}
`

// The first of two sources defines their type, and the second of two policies is reported
// for its priority, in any order of the documents.
func TestOrderOfVisibilityDocumentsDoesNotMatter(t *testing.T) {
	read := kinds.Decode("all.yaml", []byte(visibilityDocuments), syntax.Options{})
	documents, list := read.Documents, read.List
	if len(list) > 0 {
		t.Fatal(list)
	}
	want, wantList := resolveVisibilityDocuments(documents)
	for _, code := range []diag.Code{diag.RepeatedName, diag.UnfilterableField, diag.UnknownType, diag.EqualPriority, diag.BadValue} {
		if got := count(wantList, code); got != 1 {
			t.Errorf("%s: got %d diagnostics, want one", code, got)
		}
	}
	slices.Reverse(documents)
	got, gotList := resolveVisibilityDocuments(documents)
	if !reflect.DeepEqual(gotList, wantList) {
		t.Errorf("diagnostics: got %v, want %v", gotList, wantList)
	}
	if !reflect.DeepEqual(got.MonitorAccessPolicies, want.MonitorAccessPolicies) || !reflect.DeepEqual(got.MetricSources, want.MetricSources) {
		t.Error("got the documents in another order")
	}
}

func resolveVisibilityDocuments(documents []syntax.Document) (*resolution, diag.List) {
	d := new(directory.Names).NewDirectory(documents, directory.Options{})
	return resolve(d), d.List
}

// count returns how many diagnostics have the code.
func count(list diag.List, code diag.Code) int {
	n := 0
	for _, d := range list {
		if d.Code == code {
			n++
		}
	}
	return n
}
