package access

import (
	_ "embed"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

//go:embed fields_kubernetes.txt
var kubernetesTexts string

const versionKubernetes = "rbac.authorization.k8s.io/v1"

// kubernetesKinds are the kinds of Kubernetes RBAC.
var kubernetesKinds = syntax.KindsOf(versionKubernetes, decodeKubernetes, "Role", "ClusterRole", kindRoleBinding, kindClusterRoleBinding).
	WithDates(kindRoleBinding, kindClusterRoleBinding).WithWords(roleWords...).
	WithTargets(rolesOfKubernetes).WithTexts(kubernetesTexts)

// roleWords are parts of groups that have roles and bindings.
var roleWords = []string{"rbac", "authorization"}

const kubernetesGroup = "rbac.authorization.k8s.io"

// kubernetesHints are the hints for fields of writ.dev documents in Kubernetes documents.
var kubernetesHints = map[string]string{
	"deny":                  "Kubernetes rules only allow; a Role of " + syntax.VersionWrit + " may deny",
	"resourcekinds":         `write resources and apiGroups; resourceKinds belongs to ` + syntax.VersionWrit,
	"attributerestrictions": "only rules of " + syntax.VersionWrit + " have restrictions",
	"usernames":             "write subjects: [{kind: User, name: NAME}]",
	"groupnames":            "write subjects: [{kind: Group, name: NAME}]",
	"rolename":              "write roleRef: {kind: Role, name: NAME}",
	"rule":                  "did you mean \"rules\"?",
}

// decodeKubernetes decodes a document of rbac.authorization.k8s.io/v1.
func decodeKubernetes(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	h := d.Header(FamilyKubernetes, versionKubernetes, kind.Value.Value, kind.Key)
	c := d.Cursor(n, h.Kind, false)
	c.At, c.Hints = kind.Key, kubernetesHints
	c.Skip("apiVersion", "kind")
	namespaced := h.Kind == "Role" || h.Kind == "RoleBinding"
	labels, period, identified := decodeKubernetesMetadata(d, c, &h, namespaced)
	h.Stock = labels["kubernetes.io/bootstrapping"] == "rbac-defaults"
	if strings.HasSuffix(h.Kind, "Binding") {
		b := &KubernetesBinding{Header: h, Dates: period}
		if decodeKubernetesBinding(d, c, b) && identified {
			d.Out = append(d.Out, b)
		}
	} else {
		r := &KubernetesRole{Header: h, Labels: labels}
		decodeKubernetesRole(d, c, r, namespaced)
		if identified {
			d.Out = append(d.Out, r)
		}
	}
	c.Done()
}

// decodeKubernetesMetadata reads metadata and reports whether it identifies the
// document.
func decodeKubernetesMetadata(
	d *syntax.Decoder, c *syntax.Cursor, h *syntax.Header, namespaced bool,
) (labels map[string]string, period syntax.Dates, ok bool) {
	m := c.RequiredMapping("metadata", "write metadata: {name: NAME}, and the namespace of a namespaced kind")
	if m == nil {
		return nil, period, false
	}
	m.Skip(syntax.ServerFields...)
	m.Skip("generateName", "annotations", "deletionTimestamp", "deletionGracePeriodSeconds")
	if h.Kind == kindRoleBinding || h.Kind == kindClusterRoleBinding {
		period = d.AnnotatedDates(m, dates.Never, "grants this")
	}
	ok = d.NameInto(m, h)
	if namespaced {
		ok = decodeKubernetesNamespace(d, m, h) && ok
	} else if n := m.Text("namespace"); n != nil && n.Value != "" {
		d.Warn(n, diag.NamespaceIgnored, "leave it out, or use the namespaced kind", "namespace %s has no effect: a %s has none", syntax.Quote(n.Value), h.Kind)
	}
	labels = m.Labels("labels")
	m.Done()
	return labels, period, ok
}

// decodeKubernetesNamespace is NamespaceInto with the API server's stricter form, and the
// default namespace.
func decodeKubernetesNamespace(d *syntax.Decoder, m *syntax.Cursor, h *syntax.Header) bool {
	n := m.Text("namespace")
	switch {
	case n == nil && m.Value("namespace") != nil: // a wrong type, which is reported
		return false
	case n != nil && n.Value != "":
	case d.FillNamespace(h):
		return true
	default:
		m.Missing("namespace", syntax.NamespaceHint)
		return false
	}
	h.Namespace = n.Value
	return d.CheckNamespace(n)
}

// decodeKubernetesBinding decodes roleRef and subjects and reports whether the role
// reference is valid.
func decodeKubernetesBinding(d *syntax.Decoder, c *syntax.Cursor, b *KubernetesBinding) bool {
	referred := decodeKubernetesRoleRef(d, c, b)
	subjects, _ := c.List("subjects")
	for _, n := range subjects {
		decodeKubernetesSubject(d, n, b)
	}
	if c.Value("subjects").Empty() && !b.Stock { // system:node has none in every cluster
		d.Warn(c.At, diag.NoSubjects, "", "%s %s has no subjects", b.Kind, syntax.Quote(b.Name))
	}
	return referred
}

var roleRefHints = map[string]string{
	"namespace":  "a Role is looked for in the binding's own namespace",
	"apiversion": "write apiGroup: " + kubernetesGroup,
}

func decodeKubernetesRoleRef(d *syntax.Decoder, c *syntax.Cursor, b *KubernetesBinding) bool {
	ref := c.RequiredMapping("roleRef", "")
	if ref == nil {
		return false
	}
	ref.Hints = roleRefHints
	ok := true
	if group := ref.Text("apiGroup"); group != nil && group.Value != "" && group.Value != kubernetesGroup {
		ref.Fail(group, diag.BadValue, "write "+kubernetesGroup, "roleRef.apiGroup %s is not known", syntax.Quote(group.Value))
		ok = false
	}
	if kind := ref.Required("kind"); kind == nil {
		ok = false
	} else {
		b.RoleKind = kind.Value
		ok = decodeKubernetesRoleKind(d, kind, b.Kind) && ok
	}
	if name := ref.Required("name"); name == nil {
		ok = false
	} else {
		b.RoleName = d.Text(name)
		ok = d.CheckName(name, "roleRef.name") && ok
	}
	ref.Done()
	return ok
}

func decodeKubernetesRoleKind(d *syntax.Decoder, kind *syntax.Node, binding string) bool {
	if binding == "RoleBinding" {
		return d.CheckOneOf(kind, "roleRef.kind", "Role", "ClusterRole")
	}
	if kind.Value == "Role" {
		d.Fail(kind, diag.BadValue, "bind a ClusterRole, or use a RoleBinding", "a ClusterRoleBinding to kind \"Role\"")
		return false
	}
	return d.CheckOneOf(kind, "roleRef.kind", "ClusterRole")
}

// decodeKubernetesSubject decodes one subject into the binding's users or groups.
func decodeKubernetesSubject(d *syntax.Decoder, n *syntax.Node, b *KubernetesBinding) {
	c := d.Cursor(n, "a subject", false)
	if c == nil {
		return
	}
	kind, name := c.Required("kind"), c.Required("name")
	group, namespace := c.Text("apiGroup"), c.Text("namespace")
	c.Done()
	if kind == nil {
		return
	}
	known := checkSubjectGroup(d, kind, group)
	if !known || name == nil {
		return
	}
	switch kind.Value {
	case "ServiceAccount":
		decodeServiceAccount(d, c, b, name, namespace)
		return
	case "User":
		b.Users = append(b.Users, name.Value)
	case "Group":
		b.Groups = append(b.Groups, name.Value)
	}
	checkLiteralStar(d, name, kind.Value)
}

// checkSubjectGroup checks the kind of a subject and the group that goes with it.
func checkSubjectGroup(d *syntax.Decoder, kind, group *syntax.Node) bool {
	if !d.CheckOneOf(kind, "subject kind", "User", "Group", "ServiceAccount") {
		return false
	}
	want := kubernetesGroup
	if kind.Value == "ServiceAccount" {
		want = ""
	}
	if group != nil && group.Value != "" && group.Value != want {
		hint := "leave it out"
		d.Fail(group, diag.BadValue, hint, "apiGroup %s of a %s subject is not known", syntax.Quote(group.Value), kind.Value)
		return false
	}
	return true
}

func decodeServiceAccount(d *syntax.Decoder, c *syntax.Cursor, b *KubernetesBinding, name, namespace *syntax.Node) {
	if !d.CheckForm(name, diag.BadName, "service account", content.IsDNS1123Subdomain(name.Value)) {
		return
	}
	in := b.Namespace
	if namespace != nil && namespace.Value != "" {
		in = namespace.Value
	}
	if in == "" {
		if b.Kind == "ClusterRoleBinding" {
			c.Missing("namespace", "")
		}
		return
	}
	b.Users = append(b.Users, tables.Account(in, name.Value))
}

// checkLiteralStar warns about "*" as a subject, which is a name and not a pattern.
func checkLiteralStar(d *syntax.Decoder, n *syntax.Node, what string) {
	if n.Value == "*" {
		d.Warn(n, diag.LiteralStar, "subjects are not patterns; bind a group that all users have", "\"*\" is the name of a %s, not a pattern", syntax.Fold(what))
	}
}
