package companion

import (
	"fmt"
	"maps"
	"math/rand/v2"
)

// draw draws documents and writes.
type draw struct{ *rand.Rand }

func pick[T any](d draw, list ...T) T { return list[d.IntN(len(list))] }

func (d draw) chance(percent int) bool { return d.IntN(100) < percent }

type object = map[string]any

var (
	users  = []string{"ann", "bob", "system:node:n1", "system:serviceaccount:shop:bot"}
	groups = []string{"dev", "ops"}
	places = []string{"shop", "anvil"}
	// named are the names of objects. No rule of a Kubernetes role names one that is created: a
	// create has no name there.
	named = []string{"db-1", "web", "keep"}
)

// origin draws a rule of an Origin role.
func (d draw) origin() object {
	verbs := pick(d, []string{"*"}, []string{"*"}, []string{"create", "update", "delete"}, []string{"update"}, []string{"create", "delete"}, []string{"*", "-delete"}, []string{"get", "update"})
	if d.chance(1) {
		verbs = pick(d, []string{"patch"}, []string{"*", "-patch"}, []string{"deletecollection", "create"}, []string{"get", "list"})
	}
	rule := object{"verbs": verbs, "resourceKinds": pick(d, []string{"*"}, []string{"*"}, []string{"Pod", "ConfigMap"}, []string{"configmaps", "secret"}, []string{"*", "-secrets"},
		[]string{"pods/status"}, []string{"*/status", "ConfigMap"}, []string{"Namespace", "Node", "pods"}, []string{"*", "-*/status"})}
	if d.chance(75) {
		rule["attributeRestrictions"] = d.restriction()
	}
	if d.chance(30) {
		rule["deny"] = true
	}
	return rule
}

func (d draw) restriction() object {
	labels := func() []string {
		return pick(d, []string{"tier"}, []string{"tier=gold"}, []string{"protected"}, []string{"tier=silver", "protected"}, []string{"tier", "protected"}, []string{`q"'\`})
	}
	fields := func() []string {
		return pick(d, []string{"labels"}, []string{"metadata.labels.tier", "data"}, []string{"spec.replicas"}, []string{"metadata"}, []string{"status"},
			[]string{"metadata.labels.a.b/c", "spec.x.y"}, []string{"spec", "data.k", "annotations"}, []string{"spec.x", "spec.x.y", "status.phase", "labels"})
	}
	switch d.IntN(40) {
	case 0:
		return object{"kind": "cel", "expression": `request.user == "ann"`}
	case 1:
		return object{"fieldsMutatable": []string{"spec.list[0]"}}
	case 2:
		return object{"fieldsSelect": []string{pick(d, "metadata.name=web", "metadata.namespace=shop", "type=Opaque", "metadata.name=")}}
	case 3, 4:
		return object{"kind": "sameMinionRestriction"}
	case 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16:
		return object{"fieldsMutatable": fields()}
	case 17, 18, 19:
		return object{"fieldsMutatable": fields(), "labelsContain": labels()}
	}
	return object{"labelsContain": labels()}
}

// kubernetes draws a rule of a Kubernetes role.
func (d draw) kubernetes() object {
	rule := object{"verbs": pick(d, []string{"*"}, []string{"create", "update", "patch", "delete", "deletecollection"}, []string{"update", "patch"}, []string{"create"}, []string{"delete", "deletecollection"}),
		"apiGroups": pick(d, []string{""}, []string{"*"}, []string{"apps"}), "resources": pick(d, []string{"*"}, []string{"pods"}, []string{"configmaps", "pods/status"}, []string{"*/status"}, []string{"secrets", "namespaces"})}
	if d.chance(2) {
		rule["verbs"] = pick(d, []string{"update"}, []string{"delete"})
	}
	if d.chance(15) {
		rule["resourceNames"] = []string{"keep"}
	}
	return rule
}

func (d draw) denyRule() object {
	out := object{"verbs": pick(d, []string{"*"}, []string{"create"}, []string{"create", "delete", "deletecollection"}), "apiGroups": pick(d, []string{""}, []string{"*"}),
		"resources": pick(d, []string{"*"}, []string{"pods"}, []string{"configmaps"}, []string{"secrets", "namespaces"}, []string{"pods/status"})}
	if d.chance(80) {
		out["resourceNames"] = pick(d, []string{"db-*"}, []string{"web", "[a-k]*"}, []string{"?eb"})
	}
	if d.chance(50) {
		namespaces := object{}
		if d.chance(60) {
			namespaces["patterns"] = pick(d, []string{"sh*"}, []string{"anvil"}, []string{"*"}, []string{"web"})
		}
		if d.chance(60) || len(namespaces) == 0 {
			namespaces["selectorTerms"] = []any{object{"matchExpressions": []any{d.requirement()}}}
		}
		out["namespaces"] = namespaces
	}
	return out
}

func (d draw) requirement() object {
	key := pick(d, "env", "tier")
	if d.chance(40) {
		return object{"key": key, "operator": pick(d, "Exists", "DoesNotExist")}
	}
	return object{"key": key, "operator": pick(d, "In", "NotIn"), "values": []string{pick(d, "prod", "gold"), "test"}}
}

// documents draws roles of both families with their bindings, and deny policies.
func (d draw) documents() (out []map[string]any) {
	const rbac = "rbac.authorization.k8s.io"
	for i := range 2 + d.IntN(4) {
		name := fmt.Sprintf("o%d", i)
		rules := []any{d.origin(), d.origin()}[:1+d.IntN(2)]
		out = append(out, object{"apiVersion": "writ.dev/v1", "kind": "Role", "metadata": object{"name": name, "namespace": "master"}, "rules": rules})
		binding := object{"apiVersion": "writ.dev/v1", "kind": "RoleBinding", "metadata": object{"name": name, "namespace": pick(d, "master", "shop", "anvil", "shop")},
			"userNames": []string{pick(d, users[:3]...), pick(d, users...)}[:1+d.IntN(2)], "roleRef": object{"namespace": "master", "name": name}}
		if d.chance(50) {
			binding["groupNames"] = []string{pick(d, groups...)}
		}
		if d.chance(2) {
			binding["notAfter"] = "2222-01-01T00:00:00Z"
		}
		out = append(out, binding)
	}
	for i := range d.IntN(3) {
		name := fmt.Sprintf("k%d", i)
		out = append(out, object{"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": object{"name": name}, "rules": []any{d.kubernetes()}})
		binding := object{"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": name},
			"roleRef":  object{"apiGroup": rbac, "kind": "ClusterRole", "name": name},
			"subjects": []any{object{"apiGroup": rbac, "kind": "User", "name": pick(d, users[:3]...)}, object{"apiGroup": rbac, "kind": "Group", "name": pick(d, groups...)}}[:1+d.IntN(2)]}
		if d.chance(50) {
			binding["kind"], binding["metadata"] = "RoleBinding", object{"name": name, "namespace": pick(d, places...)}
		}
		out = append(out, binding)
	}
	for i := range d.IntN(2) {
		spec := object{"rules": []any{d.denyRule()}}
		if d.chance(20) {
			spec["appliesTo"] = object{"clusters": []string{pick(d, "prod-*", "test-*")}}
		}
		out = append(out, object{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": object{"name": fmt.Sprintf("p%d", i)}, "spec": spec})
	}
	return out
}

func (d draw) labels() object {
	out := object{}
	for key, values := range map[string][]string{"tier": {"gold", "silver"}, "protected": {""}, "a.b/c": {"x", "y"}, `q"'\`: {""}} {
		if v := values[d.IntN(len(values))]; d.chance(35) {
			out[key] = v
		}
	}
	return out
}

// content draws an object of a resource.
func (d draw) content(w *write) object {
	metadata := object{"name": w.name, "resourceVersion": fmt.Sprint(d.IntN(9)), "uid": "u"}
	if d.chance(80) {
		metadata["labels"] = d.labels()
	}
	if d.chance(30) {
		metadata["annotations"] = object{pick(d, "note", "spec.x"): pick(d, "a", "b")}
	}
	out := object{"apiVersion": "v1", "kind": "K", "metadata": metadata}
	if d.chance(60) {
		out["data"] = pick(d, object{}, object{"k": "v"}, object{"k": "w", "j": "v"})
	}
	spec := object{}
	if w.resource == "pods" && d.chance(70) {
		spec["nodeName"] = pick(d, "n1", "n2", "")
	}
	if d.chance(40) {
		spec["replicas"] = int64(d.IntN(2))
	}
	if d.chance(40) {
		spec["x"] = pick[any](d, object{"y": "1"}, object{"y": "2", "z": "1"}, object{}, "text", []any{"1"}, object{"y": object{"deep": "1"}})
	}
	if d.chance(20) {
		spec["list"] = []any{pick(d, "a", "b")}
	}
	if len(spec) > 0 || d.chance(20) {
		out["spec"] = spec
	}
	if d.chance(30) {
		out["status"] = object{"phase": pick(d, "Pending", "Running")}
	}
	return out
}

// write draws a write.
func (d draw) write() *write {
	w := &write{user: pick(d, users...), verb: pick(d, "create", "create", "update", "update", "patch", "delete", "delete", "deletecollection"),
		resource: pick(d, "pods", "pods", "pods", "configmaps", "configmaps", "configmaps", "secrets", "nodes", "namespaces"), name: pick(d, named[:2]...)}
	for _, g := range groups {
		if d.chance(30) {
			w.groups = append(w.groups, g)
		}
	}
	if w.verb != "create" {
		w.name = pick(d, named...)
	}
	if w.resource != "nodes" && w.resource != "namespaces" {
		w.in, w.namespaceLabels = pick(d, places...), pick(d, object{}, object{"env": "prod"}, object{"tier": "test", "env": "test"})
	}
	if (w.verb == "update" || w.verb == "patch") && d.chance(30) {
		w.sub = "status"
	}
	if w.verb != "create" {
		w.before = d.content(w)
	}
	switch w.operation() {
	case "CREATE":
		w.after = d.content(w)
	case "UPDATE":
		w.after = d.content(w)
		if d.chance(70) { // a small change
			w.after = object{}
			maps.Copy(w.after, w.before)
			other := d.content(w)
			key := pick(d, "metadata", "spec", "data", "status")
			if w.after[key] = other[key]; other[key] == nil {
				delete(w.after, key)
			}
		}
	}
	return w
}
