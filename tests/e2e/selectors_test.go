package e2e

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scoped are policies of writ about lists: gil reads what has a label, and nodes their pods.
const scoped = `kind: Role
apiVersion: writ.dev/v1
metadata: {name: scoped, namespace: master}
rules:
- {verbs: [list, watch], resourceKinds: [secrets], attributeRestrictions: {labelsContain: [tier=gold]}}
- {verbs: [list], resourceKinds: [secrets], attributeRestrictions: {fieldsSelect: [type=example.com/open]}}
- {deny: true, verbs: [list], resourceKinds: [secrets], attributeRestrictions: {labelsContain: [protected]}}
---
kind: RoleBinding
apiVersion: writ.dev/v1
metadata: {name: scoped, namespace: master}
roleRef: {name: scoped}
userNames: [gil]
`

// selectors lists objects by selectors: the API server lets pass what the selector keeps
// within the rules, and returns nothing else.
func (c *controlPlane) selectors(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"gold": {"tier": "gold"}, "tin": {"tier": "tin"}, "kept": {"tier": "gold", "protected": "yes"},
	} {
		_, err := c.clients.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
		check(t, err)
	}
	_, err := c.clients.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "open"}, Type: "example.com/open"}, metav1.CreateOptions{})
	check(t, err)
	gil := c.as(t, "gil")
	for _, row := range []struct {
		labels, fields string
		want           []string // nil: refused
	}{
		{"tier=gold,!protected", "", []string{"gold"}},
		{"tier=gold,tier!=tin,!protected", "", []string{"gold"}},
		{"!protected", "type=example.com/open", []string{"open"}},
		{"tier=gold", "", nil}, // may be protected
		{"tier in (gold,tin),!protected", "", nil},
		{"tier,!protected", "", nil},
		{"!protected", "", nil},
		{"", "type=example.com/open", nil},
		{"!protected", "type!=Opaque", nil},
		{"", "", nil},
	} {
		list, err := gil.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{LabelSelector: row.labels, FieldSelector: row.fields})
		var got []string
		for i := range list.Items {
			got = append(got, list.Items[i].Name)
		}
		want := http.StatusForbidden
		if row.want != nil {
			want = http.StatusOK
		}
		if code(err) != want || len(got) != len(row.want) || len(got) == 1 && got[0] != row.want[0] {
			t.Errorf("labels %q, fields %q: got %v and %d (%v), want %v and %d", row.labels, row.fields, got, code(err), err, row.want, want)
		}
	}
	wantCode(t, "a named secret has no selector", func() error {
		_, err := gil.CoreV1().Secrets("default").Get(t.Context(), "gold", metav1.GetOptions{})
		return err
	}(), http.StatusForbidden)
}
