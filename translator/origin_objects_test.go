package translator

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// The objects that tables have of Origin are documents: they come to the same objects.
func TestOriginObjectsAreDocuments(t *testing.T) {
	const documents = `
kind: policy
name: mine
namespace: shop
roles:
  labeler:
    rules:
    - {verbs: ["*", -Delete], resourceKinds: [Pods, -pods/exec], attributeRestrictions: {fieldsMutatable: [labels], labelsContain: [a, b=c]}}
    - {deny: "true", verbs: [delete], resourceKinds: ["*"], attributeRestrictions: {kind: sameMinionRestriction}}
    - {verbs: [get], resourceKinds: [nodes], attributeRestrictions: {kind: cel, expression: request.user == "ada"}}
---
{kind: policyBinding, name: shop, namespace: shop}
---
{kind: roleBinding, name: labelers, namespace: shop, roleName: labeler, userNames: [ada, "group:x"], groupNames: ["user:y"]}
---
{kind: role, name: reader, namespace: master, rules: [{verbs: [get], resourceKinds: [pods]}]}
---
{kind: roleBinding, name: readers, namespace: master, roleName: reader, groupNames: [all]}
`
	read := func(text string) *tables.Access {
		t.Helper()
		r, list := New(Options{}).Translate(t.Context(), source.Snapshot{Files: []source.File{file("o.yaml", text)}})
		if list.HasErrors() {
			t.Fatalf("%v\n%s", list, text)
		}
		return tables.Of[*tables.Access](r.Tables)
	}
	objects := func(a *tables.Access) (all []tables.OriginObject) {
		for _, namespace := range []string{"shop", "master"} {
			for _, kind := range []string{"Policy", "RoleBinding"} {
				for _, o := range a.OriginObjects(kind, namespace, "") {
					o.Kind, o.APIVersion = kind, "writ.dev/v1"
					all = append(all, o)
				}
			}
		}
		return all
	}
	want := objects(read(documents))
	if len(want) != 4 {
		t.Fatalf("got %d objects, want two policies and two bindings: %+v", len(want), want)
	}
	text := []byte(`{"kind": "PolicyBinding", "apiVersion": "writ.dev/v1", "metadata": {"name": "shop", "namespace": "shop"}}`)
	for _, o := range want {
		written, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, written...)
	}
	if got := objects(read(string(text))); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
