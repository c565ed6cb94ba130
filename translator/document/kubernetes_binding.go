package document

import (
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/diag"
)

// kubernetesBinding decodes roleRef and subjects and reports whether the role
// that is meant is known.
func (d *decoder) kubernetesBinding(c *cursor, b *KubernetesBinding) bool {
	referred := d.kubernetesRoleRef(c, b)
	subjects, _ := c.list("subjects")
	for _, n := range subjects {
		d.kubernetesSubject(n, b)
	}
	if c.value("subjects").empty() {
		d.warn(c.at, diag.NoSubjects, "", "%s %s binds nobody", b.Kind, quote(b.Name))
	}
	return referred
}

func (d *decoder) kubernetesRoleRef(c *cursor, b *KubernetesBinding) bool {
	ref := c.mapping("roleRef")
	if ref == nil {
		if c.value("roleRef") == nil {
			c.missing("roleRef", "")
		}
		return false
	}
	ref.hints = map[string]string{"namespace": "a Role is looked for in the binding's own namespace", "apiversion": "write apiGroup: " + kubernetesGroup}
	ok := true
	if group := ref.text("apiGroup"); group != nil && group.value != "" && group.value != kubernetesGroup {
		ref.fail(group, diag.BadValue, "write "+kubernetesGroup, "roleRef.apiGroup %s is not known", quote(group.value))
		ok = false
	}
	if kind := ref.required("kind"); kind == nil {
		ok = false
	} else {
		b.RoleKind = kind.value
		ok = d.kubernetesRoleKind(kind, b.Kind) && ok
	}
	if name := ref.required("name"); name == nil {
		ok = false
	} else {
		b.RoleName = d.text(name)
		ok = d.checkName(name, "roleRef.name") && ok
	}
	ref.done()
	return ok
}

func (d *decoder) kubernetesRoleKind(kind *node, binding string) bool {
	switch {
	case kind.value == "ClusterRole" || kind.value == "Role" && binding == "RoleBinding":
		return true
	case kind.value == "Role":
		d.fail(kind, diag.BadValue, "bind a ClusterRole, or use a RoleBinding", "a ClusterRoleBinding to kind \"Role\"")
	default:
		hint := "write Role or ClusterRole"
		d.fail(kind, diag.BadValue, hint, "roleRef.kind %s is not known", quote(kind.value))
	}
	return false
}

// kubernetesSubject decodes one subject into the binding's users or groups.
func (d *decoder) kubernetesSubject(n *node, b *KubernetesBinding) {
	c := d.cursor(n, "a subject", false)
	if c == nil {
		return
	}
	kind, name := c.required("kind"), c.required("name")
	group, namespace := c.text("apiGroup"), c.text("namespace")
	c.done()
	if kind == nil {
		return
	}
	known := d.subjectGroup(kind, group)
	if !known || name == nil {
		return
	}
	switch kind.value {
	case "ServiceAccount":
		d.serviceAccount(c, b, name, namespace)
		return
	case "User":
		b.Users = append(b.Users, name.value)
	case "Group":
		b.Groups = append(b.Groups, name.value)
	}
	d.literalStar(name, kind.value)
}

// subjectGroup checks the kind of a subject and the group that goes with it.
func (d *decoder) subjectGroup(kind, group *node) bool {
	want := kubernetesGroup
	switch kind.value {
	case "User", "Group":
	case "ServiceAccount":
		want = ""
	default:
		hint := "write User, Group or ServiceAccount"
		if near := diag.Suggest(kind.value, []string{"User", "Group", "ServiceAccount"}); near != "" {
			hint = "did you mean " + quote(near) + "?"
		}
		d.fail(kind, diag.BadValue, hint, "subject kind %s is not known", quote(kind.value))
		return false
	}
	if group != nil && group.value != "" && group.value != want {
		hint := "leave it out"
		d.fail(group, diag.BadValue, hint, "apiGroup %s of a %s subject is not known", quote(group.value), kind.value)
		return false
	}
	return true
}

func (d *decoder) serviceAccount(c *cursor, b *KubernetesBinding, name, namespace *node) {
	if !d.checkForm(name, diag.BadName, "service account", content.IsDNS1123Subdomain(name.value)) {
		return
	}
	in := b.Namespace
	if namespace != nil && namespace.value != "" {
		in = namespace.value
	}
	if in == "" {
		if b.Kind == "ClusterRoleBinding" {
			c.missing("namespace", "")
		}
		return
	}
	b.Users = append(b.Users, "system:serviceaccount:"+in+":"+name.value)
}

// literalStar warns of "*" as a subject: no pattern, but somebody of that name.
func (d *decoder) literalStar(n *node, what string) {
	if n.value == "*" {
		d.warn(n, diag.LiteralStar, "subjects are no patterns; bind a group that everybody is in", "\"*\" names the %s \"*\", not everybody", fold(what))
	}
}
