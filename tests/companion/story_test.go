package companion

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/analysis/statement"
)

func role(name string, rules ...any) map[string]any {
	return object{"apiVersion": "writ.dev/v1", "kind": "Role", "metadata": object{"name": name, "namespace": "master"}, "rules": rules}
}

func bind(name, namespace, user string) map[string]any {
	return object{"apiVersion": "writ.dev/v1", "kind": "RoleBinding", "metadata": object{"name": name, "namespace": namespace},
		"userNames": []string{user}, "roleRef": object{"namespace": "master", "name": name}}
}

func rules(verbs, kinds []string, deny bool, restrictions object) object {
	out := object{"verbs": verbs, "resourceKinds": kinds}
	if deny {
		out["deny"] = true
	}
	if restrictions != nil {
		out["attributeRestrictions"] = restrictions
	}
	return out
}

func labelled(labels object, spec object) object {
	return object{"metadata": object{"name": "web", "labels": labels}, "spec": spec}
}

// An editor deletes what is not protected, and a bot changes labels alone.
func TestStory(t *testing.T) {
	p := activate(t, []map[string]any{
		role("edit", rules([]string{"*"}, []string{"*"}, false, nil)), bind("edit", "shop", "edgar"),
		role("careful", rules([]string{"delete"}, []string{"ConfigMap"}, true, object{"labelsContain": []string{"protected"}})), bind("careful", "shop", "edgar"),
		role("label", rules([]string{"get"}, []string{"ConfigMap"}, false, nil), rules([]string{"update"}, []string{"ConfigMap"}, false, object{"fieldsMutatable": []string{"labels"}})), bind("label", "shop", "bot"),
		role("kubelet", rules([]string{"*"}, []string{"Pod"}, false, object{"kind": "sameMinionRestriction"})), bind("kubelet", "master", "system:node:n1"),
	})
	c := companion.Make(statement.NewWorld(*p.Tables()), companion.Options{})
	if len(c.Refused) > 0 {
		t.Errorf("got refusals %v", c.Refused)
	}
	a := newAdmission(t, c)
	plain, protected := labelled(object{}, object{"replicas": int64(1)}), labelled(object{"protected": ""}, object{"replicas": int64(1)})
	more := labelled(object{"protected": ""}, object{"replicas": int64(2)})
	on := func(node string) object { return labelled(nil, object{"nodeName": node}) }
	for _, row := range []struct {
		name string
		w    write
		want string // in the message; empty: nothing refuses
	}{
		{"delete", write{user: "edgar", verb: "delete", before: plain}, ""},
		{"delete protected", write{user: "edgar", verb: "delete", before: protected}, "denied by RoleBinding shop/careful (Role master/careful, rule 0; d2.json:1): the object has labels protected"},
		{"delete a collection", write{user: "edgar", verb: "deletecollection", before: protected}, "denied by"},
		{"delete elsewhere", write{user: "edgar", verb: "delete", in: "anvil", before: protected}, ""},
		{"delete by another", write{user: "ann", verb: "delete", before: protected}, ""},
		{"label", write{user: "bot", verb: "patch", before: plain, after: protected}, ""},
		{"label and scale", write{user: "bot", verb: "update", before: plain, after: more}, "not allowed: RoleBinding shop/label (Role master/label, rule 1; d4.json:1) allows it only if no field is changed outside metadata.labels"},
		{"delete by the bot", write{user: "bot", verb: "delete", before: plain}, ""}, // the review does not allow it
		{"own pod", write{user: "system:node:n1", verb: "update", resource: "pods", sub: "status", before: on("n1"), after: on("n1")}, ""},
		{"pod of another node", write{user: "system:node:n1", verb: "delete", resource: "pods", before: on("n2")}, "only if the pod is on the node of the user"},
		{"pod without a node", write{user: "system:node:n1", verb: "create", resource: "pods", after: on("")}, "only if"},
		{"the control plane", write{user: "edgar", groups: []string{"system:masters"}, verb: "delete", before: protected}, ""},
	} {
		w := row.w
		w.name = "web"
		if w.resource == "" {
			w.resource = "configmaps"
		}
		if w.in == "" {
			w.in = "shop"
		}
		got := strings.Join(a.refuses(&w), "\n")
		if row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// The probe is refused by the slice that it names, for each user.
func TestProbe(t *testing.T) {
	c := companion.Make(statement.NewWorld(*activate(t, []map[string]any{role("edit"), bind("edit", "shop", "ann")}).Tables()), companion.Options{})
	a := newAdmission(t, c)
	for _, row := range []struct {
		groups []string
		data   object
		want   bool
	}{{nil, nil, true}, {nil, object{"slice": "1"}, true}, {nil, object{"slice": "2"}, false}, {[]string{"system:masters"}, nil, true}} {
		w := write{user: "writ", groups: row.groups, verb: "create", resource: "configmaps", in: "writ", name: companion.ProbeName, after: object{"metadata": object{"name": companion.ProbeName}}}
		if row.data != nil {
			w.after["data"] = row.data
		}
		got := strings.Contains(strings.Join(a.refuses(&w), ""), companion.ProbeMessage(c.Digest))
		if got != row.want {
			t.Errorf("probe with %v: got refused %v, want %v", row.data, got, row.want)
		}
	}
}

// What cannot be printed is refused with its code, and its line.
func TestRefusals(t *testing.T) {
	origin := func(verbs []string, deny bool, restrictions object) []map[string]any {
		return []map[string]any{role("r", rules(verbs, []string{"pods"}, deny, restrictions)), bind("r", "shop", "ann")}
	}
	update, labels := []string{"update"}, object{"labelsContain": []string{"tier"}}
	const rbac = "rbac.authorization.k8s.io"
	clusterRole := func(verbs []string, names ...string) []map[string]any {
		rule := object{"verbs": verbs, "apiGroups": []string{""}, "resources": []string{"pods"}}
		if len(names) > 0 {
			rule["resourceNames"] = names
		}
		return append(origin([]string{"update", "delete"}, true, labels), object{"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": object{"name": "k"}, "rules": []any{rule}},
			object{"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": "k"}, "roleRef": object{"apiGroup": rbac, "kind": "ClusterRole", "name": "k"},
				"subjects": []any{object{"apiGroup": rbac, "kind": "User", "name": "ann"}}})
	}
	policy := func(spec object) []map[string]any {
		return append(origin(update, false, nil), object{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": object{"name": "p"}, "spec": spec})
	}
	names := object{"verbs": []string{"create"}, "apiGroups": []string{""}, "resources": []string{"pods"}, "resourceNames": []string{"db-*"}}
	dated := origin(update, false, labels)
	dated[1]["notAfter"] = "2222-01-01T00:00:00Z"
	extended := origin(update, true, object{"kind": "cel", "expression": "request.user == 'ann'"})
	for _, row := range []struct {
		name      string
		documents []map[string]any
		want      string // codes
	}{
		{"exact", origin(update, true, labels), ""},
		{"cel", extended, "cel"},
		{"an index", origin(update, false, object{"fieldsMutatable": []string{"spec.containers[0].image"}}), "field-index"},
		{"a user who is not a node", origin(update, false, object{"kind": "sameMinionRestriction"}), "minion"},
		{"patch alone", origin([]string{"patch"}, true, labels), "patch-apart"},
		{"all but patch", origin([]string{"*", "-patch"}, true, labels), "patch-apart"},
		{"reads", origin([]string{"get", "list"}, false, labels), "reads"},
		{"a selector", origin([]string{"delete"}, false, object{"fieldsSelect": []string{"type=Opaque"}, "labelsContain": []string{"tier"}}), "selector"},
		{"dated", dated, "dated"},
		{"allowed before for both verbs", clusterRole([]string{"update", "patch"}), ""},
		{"allowed before for one verb", clusterRole([]string{"update"}), "patch-apart"},
		{"allowed before by name", clusterRole([]string{"delete", "deletecollection"}, "a"), "patch-apart"},
		{"name of a new object", policy(object{"rules": []any{names}}), ""},
		{"on some clusters", policy(object{"appliesTo": object{"clusters": []string{"prod-*"}}, "rules": []any{names}}), "cluster-unknown"},
		{"pod security", policy(object{"podSecurityRules": object{"riskFactors": object{}, "thresholds": []any{object{"maxScore": 0, "action": "allow"}}}}), "pod-security"},
	} {
		c := companion.Make(statement.NewWorld(*activate(t, row.documents).Tables()), companion.Options{})
		var codes []string
		for _, r := range c.Refused {
			codes = append(codes, r.Code)
			if !strings.Contains(r.Place, ".json:1") || r.Reason == "" || r.Title == "" {
				t.Errorf("%s: got refusal %+v without place or reason", row.name, r)
			}
		}
		if got := strings.Join(codes, " "); got != row.want {
			t.Errorf("%s: got refused %q, want %q: %v", row.name, got, row.want, c.Refused)
		}
	}
	c := companion.Make(statement.NewWorld(*activate(t, clusterRole([]string{"*"})).Tables()), companion.Options{MaxSubjects: 1})
	if len(c.Refused) != 1 || c.Refused[0].Code != "too-many-subjects" {
		t.Errorf("got refusals %v of two subjects, with one at most", c.Refused)
	}
}
