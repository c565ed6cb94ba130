package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var lists = flag.Int("lists", effort(500), "random lists by selectors")

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

// randomLists lists Secrets by random selectors: the API server lets pass what writ eval allows,
// and no Secret that the rules keep back is ever in an answer.
func (c *controlPlane) randomLists(t *testing.T, dir string) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := rand.New(rand.NewPCG(seed, 2))
	values := map[string][]string{"tier": {"gold", "tin", "iron"}, "protected": {"yes", "no"}, "team": {"a", "b"}}
	draw := func() map[string]string {
		out := map[string]string{}
		for key, list := range values {
			if d.IntN(3) > 0 {
				out[key] = list[d.IntN(len(list))]
			}
		}
		return out
	}
	for i := range 60 {
		_, err := c.clients.CoreV1().Secrets("kube-public").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%d", i), Labels: draw()}}, metav1.CreateOptions{})
		check(t, err)
	}
	gil := c.as(t, "gil")
	var input strings.Builder
	selectors := make([]string, *lists)
	for i := range selectors {
		var requirements []any
		selectors[i], requirements = randomSelector(d, values)
		check(t, json.NewEncoder(&input).Encode(map[string]any{"user": "gil", "groups": []string{"system:authenticated"}, "verb": "list", "resource": "secrets", "namespace": "kube-public",
			"attributes": map[string]any{"labelSelector": requirements}}))
	}
	stdout, stderr, status := c.run(t, input.String(), "eval", "--policies", dir)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if status != 0 || len(lines) != len(selectors) {
		t.Fatalf("got %d, %d decisions: %s", status, len(lines), stderr)
	}
	allowed, returned := 0, 0
	for i, selector := range selectors {
		var decision struct{ Allowed bool }
		check(t, json.Unmarshal([]byte(lines[i]), &decision))
		list, err := gil.CoreV1().Secrets("kube-public").List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		if (err == nil) != decision.Allowed || err != nil && code(err) != http.StatusForbidden {
			t.Errorf("%q: got %v, writ eval says %v", selector, err, decision.Allowed)
		}
		if err != nil {
			continue
		}
		allowed++
		for _, secret := range list.Items {
			returned++
			if _, isProtected := secret.Labels["protected"]; isProtected || secret.Labels["tier"] != "gold" {
				t.Errorf("%q returns %s with %v", selector, secret.Name, secret.Labels)
			}
		}
	}
	t.Logf("%d of %d lists are allowed and return %d Secrets", allowed, len(selectors), returned)
	if allowed < len(selectors)/20 || returned == 0 || allowed == len(selectors) {
		t.Errorf("got %d allowed lists of %d with %d Secrets: the test says little", allowed, len(selectors), returned)
	}
}

// randomSelector draws a selector of up to four requirements, and its requirements.
func randomSelector(d *rand.Rand, values map[string][]string) (string, []any) {
	var texts []string
	var requirements []any
	add := func(text, key, operator string, list []string) {
		texts = append(texts, text)
		r := map[string]any{"key": key, "operator": operator}
		if list != nil {
			r["values"] = list
		}
		requirements = append(requirements, r)
	}
	if d.IntN(2) == 0 { // many that are within the rules
		add("!protected", "protected", "DoesNotExist", nil)
	}
	if d.IntN(3) == 0 {
		add("tier in (gold)", "tier", "In", values["tier"][:1])
	}
	for range 1 + d.IntN(3) {
		key := []string{"tier", "tier", "protected", "team"}[d.IntN(4)]
		some := values[key][:1+d.IntN(2)]
		in := "(" + strings.Join(some, ",") + ")"
		switch d.IntN(5) {
		case 0, 1:
			add(key+" in "+in, key, "In", some)
		case 2:
			add(key+" notin "+in, key, "NotIn", some)
		case 3:
			add(key, key, "Exists", nil)
		default:
			add("!"+key, key, "DoesNotExist", nil)
		}
	}
	return strings.Join(texts, ","), requirements
}
