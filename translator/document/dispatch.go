package document

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// The API versions whose kinds are read.
const (
	versionKubernetes = "rbac.authorization.k8s.io/v1"
	versionWrit       = "writ.dev/v1"
	versionDenyPolicy = "breakglass.t-caas.telekom.com/v1alpha1"
	versionVisibility = "clusterpulse.io/v1alpha1"
	versionKuadrant   = "kuadrant.io/v1"
	versionGatewayAPI = groupGateway + "/v1"
)

// versions are all of them, in the order hints name them.
var versions = []string{
	versionKubernetes, versionWrit, versionDenyPolicy, versionVisibility, versionKuadrant, versionGatewayAPI,
}

var (
	kubernetesKinds = []string{"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}
	originKinds     = []string{"Role", "RoleBinding", "Policy", "PolicyBinding"}
	denyPolicyKinds = []string{kindDenyPolicy, kindEscalation}
	visibilityKinds = []string{kindMonitorAccessPolicy, kindMetricSource}
	kuadrantKinds   = []string{kindAuthPolicy, kindRateLimitPolicy}
	gatewayAPIKinds = []string{kindGateway, kindHTTPRoute}
	writKinds       = append(slices.Clone(originKinds), kindDecisionTest)
)

// find returns the entry of a name, null ones included, or nil.
func (n *node) find(name string, ignoreCase bool) *field {
	for i, f := range n.fields {
		if f.key.value == name || ignoreCase && fold(f.key.value) == fold(name) {
			return &n.fields[i]
		}
	}
	return nil
}

// document decodes one document or a List of them.
func (d *decoder) document(n *node) {
	if n.kind != mapping {
		d.fail(n, diag.WrongType, "", "a document is a mapping, this is %s", describe(n))
		return
	}
	metadata := n.find("metadata", false)
	styled := metadata != nil && !metadata.value.isNull()
	flat := !styled && n.find("name", true) != nil
	kind := d.nameOf(n, "kind", flat)
	if kind == nil {
		return
	}
	if kind.value.value == "List" {
		d.list(n, kind)
		return
	}
	version := n.find("apiVersion", flat)
	if version == nil || version.value.isNull() {
		d.unversioned(n, kind, styled, flat)
		return
	}
	if version.value.kind != text {
		d.fail(version.value, diag.WrongType, quoted(version.value), "apiVersion is a string, this is %s", describe(version.value))
		return
	}
	d.versioned(n, version.value, kind, flat)
}

// nameOf returns the entry of kind, which must be a string, or reports that.
func (d *decoder) nameOf(n *node, name string, ignoreCase bool) *field {
	f := n.find(name, ignoreCase)
	if f == nil || f.value.isNull() {
		at := n
		if f != nil {
			at = f.key
		}
		d.fail(at, diag.Missing, "", "the document has no %s", name)
		return nil
	}
	if f.value.kind != text {
		d.fail(f.value, diag.WrongType, quoted(f.value), "%s is a string, this is %s", name, describe(f.value))
		return nil
	}
	return f
}

// unversioned decodes a document without apiVersion: the flat form, or a mistake.
func (d *decoder) unversioned(n *node, kind *field, styled, flat bool) {
	if flat && originKind(kind.value.value, true) != "" {
		d.origin(n, kind, true)
		return
	}
	if version := soleVersion(kind.value.value); version != "" {
		d.fail(kind.key, diag.UnknownKind, "write apiVersion: "+version, "a %s has no apiVersion", kind.value.value)
		return
	}
	if styled {
		d.fail(kind.key, diag.UnknownKind, "write apiVersion: "+versionWrit+" or "+versionKubernetes,
			"a document with metadata has no apiVersion: kind %s could be of either family", quote(kind.value.value))
		return
	}
	if originKind(kind.value.value, true) != "" {
		d.fail(kind.key, diag.Missing, "write apiVersion: "+versionWrit+" and metadata: {name: NAME, namespace: NAMESPACE}", "the document has neither metadata nor a name")
		return
	}
	d.unknownKind(kind, "", append(slices.Clone(writKinds), "List"))
}

// soleVersion is the API version of a kind that only one has, else empty.
func soleVersion(kind string) string {
	switch {
	case slices.Contains(denyPolicyKinds, kind):
		return versionDenyPolicy
	case slices.Contains(visibilityKinds, kind):
		return versionVisibility
	case slices.Contains(kuadrantKinds, kind):
		return versionKuadrant
	case slices.Contains(gatewayAPIKinds, kind):
		return versionGatewayAPI
	}
	return ""
}

// versioned sends a document to its family.
func (d *decoder) versioned(n, version *node, kind *field, flat bool) {
	switch name := kind.value.value; version.value {
	case versionKubernetes:
		if slices.Contains(kubernetesKinds, name) {
			d.kubernetes(n, kind)
			return
		}
		d.unknownKind(kind, versionKubernetes, kubernetesKinds)
	case versionWrit:
		switch {
		case originKind(name, flat) != "":
			d.origin(n, kind, flat)
		case name == kindDecisionTest:
			d.decisionTest(n, kind)
		default:
			d.unknownKind(kind, versionWrit, writKinds)
		}
	case versionDenyPolicy:
		if slices.Contains(denyPolicyKinds, name) {
			d.denyPolicyFamily(n, kind)
			return
		}
		d.unknownKind(kind, versionDenyPolicy, denyPolicyKinds)
	case versionVisibility:
		if slices.Contains(visibilityKinds, name) {
			d.visibility(n, kind)
			return
		}
		d.unknownKind(kind, versionVisibility, visibilityKinds)
	case versionKuadrant:
		if slices.Contains(kuadrantKinds, name) {
			d.gatewayFamily(n, kind, versionKuadrant)
			return
		}
		d.unknownKind(kind, versionKuadrant, kuadrantKinds)
	case versionGatewayAPI:
		if slices.Contains(gatewayAPIKinds, name) {
			d.gatewayFamily(n, kind, versionGatewayAPI)
			return
		}
		d.unknownKind(kind, versionGatewayAPI, gatewayAPIKinds)
	default:
		d.unknownVersion(version, kind.value.value)
	}
}

func (d *decoder) unknownKind(kind *field, version string, known []string) {
	hint := "one of " + strings.Join(known, ", ")
	if near := diag.Suggest(kind.value.value, known); near != "" {
		hint = "did you mean " + quote(near) + "?"
	}
	of := ""
	if version != "" {
		of = " of " + version
	}
	d.fail(kind.value, diag.UnknownKind, hint, "kind %s%s is not known", quote(kind.value.value), of)
}

func (d *decoder) unknownVersion(version *node, kind string) {
	hint := ""
	for _, known := range versions {
		group, _, _ := strings.Cut(known, "/")
		if strings.HasPrefix(version.value, group) {
			hint = "write " + known
		}
	}
	if hint == "" && slices.Contains(originKinds, kind) {
		hint = "write " + versionWrit + " or " + versionKubernetes
	}
	if sole := soleVersion(kind); sole != "" {
		hint = "write " + sole
	}
	if near := diag.Suggest(version.value, versions); near != "" {
		hint = "did you mean " + quote(near) + "?"
	}
	d.fail(version, diag.UnknownKind, hint, "kind %s of apiVersion %s is not known", quote(kind), quote(version.value))
}

// list decodes the items of a List, each a document of its own.
func (d *decoder) list(n *node, kind *field) {
	c := d.cursor(n, "List", false)
	c.at = kind.key
	c.skip("kind", "metadata")
	version := c.text("apiVersion")
	switch {
	case version != nil && version.value != "v1":
		d.fail(version, diag.UnknownKind, "write v1", "kind \"List\" of apiVersion %s is not known", quote(version.value))
	case version == nil && c.value("apiVersion") == nil && c.value("metadata") != nil:
		d.fail(kind.key, diag.UnknownKind, "write apiVersion: v1", "a List with metadata has no apiVersion")
	}
	items, _ := c.list("items")
	c.done()
	for _, item := range items {
		d.document(item)
	}
}

// header begins the header of a document.
func (d *decoder) header(family, version, name string, kind *node) Header {
	at := d.at(kind)
	return Header{Family: family, APIVersion: version, Kind: name, At: at, NameAt: at, NamespaceAt: at}
}
