package mutants

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/translator/tables"
)

var authenticated = tables.Group("system:authenticated")

// kubernetesRole adds the sites of a role of Kubernetes.
func (d *directory) kubernetesRole(doc *document) {
	for i, rule := range doc.get("rules").items() {
		here := func(v value) value { return v.get("rules").items()[i] }
		d.listAdded(doc, here, rule, "verbs", "verb-added", "get", "list", "delete", "*")
		if rule.get("resources").Node != nil {
			d.listAdded(doc, here, rule, "resources", "resource-star", "*")
			d.listAdded(doc, here, rule, "apiGroups", "group-star", "*")
			d.listAdded(doc, here, rule, "resources", "resource-added", "secrets", "pods/exec")
		}
		if names := rule.get("resourceNames"); len(names.items()) > 0 {
			d.add(doc, "names-dropped", names, "resourceNames dropped", func(v value) { here(v).drop("resourceNames") })
		}
		d.ruleCopied(doc, rule)
	}
	if doc.kind != "ClusterRole" {
		return
	}
	for _, l := range d.aggregated {
		if doc.get("metadata", "labels", l.key).text() == l.value {
			continue
		}
		d.add(doc, "aggregation-label-added", doc.get("metadata"), fmt.Sprintf("label %s: %s added", l.key, l.value), func(v value) {
			m := v.get("metadata")
			if m.get("labels").Node == nil {
				m.set("labels", mapping())
			}
			m.get("labels").set(l.key, scalar(l.value))
		})
	}
}

// listAdded adds a site for each text that a list of a rule lacks. Nothing is wider than "*".
func (d *directory) listAdded(doc *document, here func(value) value, rule value, key, operator string, texts ...string) {
	in := rule.get(key)
	if in.Node == nil || in.has("*") {
		return
	}
	for _, text := range texts {
		if in.has(text) {
			continue
		}
		d.add(doc, operator, in, fmt.Sprintf("%q added to %s", text, key), func(v value) { here(v).get(key).add(scalar(text)) })
	}
}

// ruleCopied adds a site that copies a rule to the next role of the same kind that is bound.
func (d *directory) ruleCopied(doc *document, rule value) {
	var others []*document
	from := 0
	for _, other := range d.documents {
		if other == doc {
			from = len(others)
		} else if other.group == doc.group && strings.HasSuffix(other.kind, "Role") && d.bound[other.key()] && other.get("rules").isList() && other.get("aggregationRule").Node == nil &&
			(other.kind == "ClusterRole" || rule.get("nonResourceURLs").Node == nil) {
			others = append(others, other)
		}
	}
	if len(others) == 0 {
		return
	}
	to := others[from%len(others)]
	copied := clone(rule.Node)
	d.add(to, "rule-copied", to.get("rules"), fmt.Sprintf("a rule of %s %s copied", doc.kind, doc.name()), func(v value) { v.get("rules").add(copied) })
}

// kubernetesBinding adds the sites of a binding of Kubernetes.
func (d *directory) kubernetesBinding(doc *document) {
	subjects := doc.get("subjects")
	for _, p := range d.others(doc) {
		d.add(doc, "subject-added", subjects, p+" added", func(v value) {
			if !v.get("subjects").isList() {
				v.set("subjects", list())
			}
			v.get("subjects").add(kubernetesSubject(p))
		})
	}
	if doc.kind == "RoleBinding" && doc.get("roleRef", "kind").text() == "ClusterRole" {
		d.add(doc, "binding-widened", doc.get("kind"), "bound in the whole cluster", func(v value) {
			v.set("kind", scalar("ClusterRoleBinding"))
			v.get("metadata").drop("namespace")
		})
	}
}

func kubernetesSubject(p string) *yaml.Node {
	const group = "rbac.authorization.k8s.io"
	subject := tables.ParseSubject(p)
	name := subject.Name
	if subject.IsGroup {
		return mapping("kind", "Group", "apiGroup", group, "name", name)
	}
	if account, ok := strings.CutPrefix(name, tables.AccountPrefix); ok {
		if namespace, account, ok := strings.Cut(account, ":"); ok {
			return mapping("kind", "ServiceAccount", "namespace", namespace, "name", account)
		}
	}
	return mapping("kind", "User", "apiGroup", group, "name", name)
}

// others returns the principals to add to a binding: the next that it does not name, and every
// authenticated user.
func (d *directory) others(doc *document) []string {
	has := subjectsOf(doc.value)
	var out []string
	if len(d.principals) > 0 {
		from := 0
		if len(has) > 0 {
			from = max(slices.Index(d.principals, has[0]), 0)
		}
		for i := range d.principals {
			if p := d.principals[(from+i)%len(d.principals)]; !slices.Contains(has, p) && p != authenticated {
				out = append(out, p)
				break
			}
		}
	}
	if !slices.Contains(has, authenticated) {
		out = append(out, authenticated)
	}
	return out
}

// originRules adds the sites of the rules of an Origin role.
func (d *directory) originRules(doc *document, path ...string) {
	for i, rule := range doc.get(path...).items() {
		here := func(v value) value { return v.get(path...).items()[i] }
		if rule.get("deny").text() == "true" {
			d.add(doc, "deny-dropped", rule, "the rule that denies dropped", func(v value) { v.get(path...).remove(i) })
			continue
		}
		d.listAdded(doc, here, rule, "verbs", "verb-added", "get", "list", "delete", "*")
		d.listAdded(doc, here, rule, "resourceKinds", "resource-star", "*")
		d.listAdded(doc, here, rule, "resourceKinds", "resource-added", "secrets", "pods/exec")
		for _, key := range []string{"verbs", "resourceKinds"} {
			for j, item := range rule.get(key).items() {
				if strings.HasPrefix(item.text(), "-") {
					d.add(doc, "negation-dropped", item, fmt.Sprintf("%q dropped from %s", item.text(), key), func(v value) { here(v).get(key).remove(j) })
				}
			}
		}
		if r := rule.get("attributeRestrictions"); r.Node != nil && r.Kind == yaml.MappingNode {
			d.add(doc, "restriction-dropped", r, "attributeRestrictions dropped", func(v value) { here(v).drop("attributeRestrictions") })
		}
	}
}

// originBinding adds the sites of a binding of Origin.
func (d *directory) originBinding(doc *document) {
	for _, p := range d.others(doc) {
		subject, key := tables.ParseSubject(p), "userNames"
		if subject.IsGroup {
			key = "groupNames"
		}
		d.add(doc, "subject-added", doc.get(key), p+" added", func(v value) {
			if !v.get(key).isList() {
				v.set(key, list())
			}
			v.get(key).add(scalar(subject.Name))
		})
	}
	isOfMaster := d.master != "" && strings.HasPrefix(d.roleOf(doc), "Role/"+d.master+"/")
	if in := doc.namespace(); in != "" && in != d.master && isOfMaster {
		d.add(doc, "binding-widened", doc.get("metadata"), "bound in the master namespace", func(v value) {
			v.get("metadata").set("namespace", scalar(d.master))
		})
	}
}
