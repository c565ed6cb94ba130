package translator

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/translator/syntax"
)

// texts are documents of all sorts, with and without mistakes.
var texts = []string{
	"kind: ClusterRole\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: a}\nrules: [{verbs: [get], apiGroups: [''], resources: [pods]}]\n",
	"kind: ClusterRole\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: a}\nrules:\n- {verbs: [list], apiGroups: [''], resources: [pods]}\n",
	"{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}, subjects: [{kind: Group, name: g}]}\n",
	"{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]}}\n",
	"kind: Secret\napiVersion: v1\nmetadata: {name: s}\n", "# a remark\n", "\n", "kind: Role\n", "a: [\n", "kind: [x]\n",
	`{"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "j"}, "rules": []}` + "\n",
	`{"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "j"}, "rules": []} {"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "k"}, "rules": []}` + "\n",
	`{"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "k"}, "rules": []}` + "\n",
	"{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: []}\n",
	"kind: List\napiVersion: v1\nitems:\n- kind: ClusterRole\n  apiVersion: rbac.authorization.k8s.io/v1\n  metadata: {name: l}\n  rules: []\n- kind: ConfigMap\n  apiVersion: v1\n  metadata: {name: c}\n",
	"kind: ClusterRole\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: w}\nrules: [{verbs: [gett], apiGroups: [''], resources: [pods]}]\n",
}

// What is decoded again is what is decoded for the first time; documents that stay are the same
// values.
func TestDecodeAgain(t *testing.T) {
	kinds := New(Options{}).kinds
	stayed := 0
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a.yaml", "a.yaml", "a.json"}).Draw(t, "name")
		parts := rapid.SliceOfN(rapid.SampledFrom(texts), 0, 6).Draw(t, "texts")
		write := func() []byte {
			return []byte(strings.Join(parts, rapid.SampledFrom([]string{"---\n", "---\n", "...\n---\n", "\r\n---\r\n", ""}).Draw(t, "separator")))
		}
		o := syntax.Options{}
		text := write()
		before := &syntax.Former{Content: func() []byte { return text }, Options: o}
		before.File = kinds.Decode(name, text, o)
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			parts = slices.Clone(parts)
			if at := rapid.IntRange(0, len(parts)).Draw(t, "at"); at < len(parts) && rapid.Bool().Draw(t, "replaces") {
				parts[at] = rapid.SampledFrom(texts).Draw(t, "text")
			} else {
				parts = slices.Insert(parts, at, rapid.SampledFrom(texts).Draw(t, "text"))
			}
			content := write()
			if rapid.IntRange(0, 9).Draw(t, "options") == 0 {
				o.DefaultNamespace += "n"
			}
			got, want := kinds.DecodeAgain(name, content, o, before), kinds.Decode(name, content, o)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q after %q is decoded to %+v, want %+v", content, before.Content(), got, want)
			}
			for _, d := range got.Documents {
				if slices.Contains(before.Documents, d) {
					stayed++
				}
			}
			before = &syntax.Former{Content: func() []byte { return content }, Options: o, File: got}
		}
	})
	if stayed == 0 {
		t.Error("no document stays the same value: the test shows too little")
	}
}

// Rego is compiled anew, because its time counts for the snapshot, also if its key has an escape.
func TestDecodeAgainCountsRego(t *testing.T) {
	kinds := New(Options{}).kinds
	const policy = "apiVersion: kuadrant.io/v1\nkind: AuthPolicy\nmetadata: {name: p, namespace: n}\n" +
		"spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: g}, rules: {authorization: {a: {opa: {%s: 'allow = true'}}}}}\n---\n"
	for _, key := range []string{"rego", `"re\u0067o"`} {
		text := []byte(strings.Replace(policy, "%s", key, 1) + texts[0])
		before := &syntax.Former{Content: func() []byte { return text }, File: kinds.Decode("a.yaml", text, syntax.Options{})}
		if len(before.List)+len(before.Documents) != 2 {
			t.Fatalf("%s: got %+v", key, before.File)
		}
		again := kinds.DecodeAgain("a.yaml", []byte(strings.Replace(policy, "%s", key, 1)+texts[1]), syntax.Options{}, before)
		if again.Documents[0] == before.Documents[0] {
			t.Errorf("%s: the policy is not decoded again", key)
		}
	}
}
