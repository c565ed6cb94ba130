package document

import (
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/diag"
)

const (
	versionKuadrant   = "kuadrant.io/v1"
	versionGatewayAPI = groupGateway + "/v1"
)

func gatewayKinds() Kinds {
	return append(KindsOf(versionKuadrant, (*decoder).kuadrant, kindAuthPolicy, kindRateLimitPolicy),
		KindsOf(versionGatewayAPI, (*decoder).gatewayAPI, kindGateway, kindHTTPRoute)...)
}

const (
	kindAuthPolicy      = "AuthPolicy"
	kindRateLimitPolicy = "RateLimitPolicy"
	kindGateway         = "Gateway"
	kindHTTPRoute       = "HTTPRoute"
)

// groupGateway is the API group of gateways and routes.
const groupGateway = "gateway.networking.k8s.io"

// defaultNamespace is that of a document of this family which says none.
const defaultNamespace = "default"

// gatewayDocument is a document of this family while it is read.
type gatewayDocument struct {
	d       *decoder
	h       Header
	created *time.Time
	spec    *cursor // nil where there is none, which is reported
}

func (d *decoder) kuadrant(n *node, kind *field) { d.gatewayFamily(n, kind, versionKuadrant) }

func (d *decoder) gatewayAPI(n *node, kind *field) { d.gatewayFamily(n, kind, versionGatewayAPI) }

// gatewayFamily decodes a document of kuadrant.io/v1 or
// gateway.networking.k8s.io/v1.
func (d *decoder) gatewayFamily(n *node, kind *field, version string) {
	before := len(d.diags)
	g := &gatewayDocument{d: d, h: d.header(FamilyGateway, version, kind.value.value, kind.key)}
	c := d.cursor(n, g.h.Kind, false)
	c.at = kind.key
	c.skip("apiVersion", "kind", "status")
	identified := g.metadata(c)
	g.spec = c.mapping("spec")
	if g.spec == nil && c.value("spec") == nil {
		c.missing("spec", "")
	}
	var out Document
	switch g.h.Kind {
	case kindGateway:
		out = g.gateway()
	case kindHTTPRoute:
		out = g.route()
	default:
		out = g.policy()
	}
	c.done()
	if identified {
		d.out = append(d.out, out)
	}
	twice := d.gatewayCodes(n, before)
	if policy, ok := out.(*InheritedPolicy); ok {
		policy.Mistaken = twice || d.diags[before:].HasErrors()
	}
}

// gatewayCodes names mistakes as this family does: a wrong type and a wrong value
// are one and the same, and a key that is there twice is a duplicate like others.
// The parser has told of keys before the family was known: whether it has is
// reported.
func (d *decoder) gatewayCodes(n *node, before int) (twice bool) {
	for i := range d.diags {
		g := &d.diags[i]
		switch {
		case g.Code == diag.YAML && g.Line >= n.line && strings.HasPrefix(g.Message, "duplicate key "):
			g.Code = diag.Duplicate
			twice = true
		case i >= before && (g.Code == diag.WrongType || g.Code == diag.BadValue):
			g.Code = diag.Value
		}
	}
	return twice
}

// metadata reads what is read of metadata and reports whether it identifies the
// document. Servers put much into it; nothing there is unknown.
func (g *gatewayDocument) metadata(c *cursor) bool {
	g.h.Namespace = defaultNamespace
	m := c.mapping("metadata")
	if m == nil {
		if c.value("metadata") == nil {
			c.missing("metadata", "write metadata: {name: NAME}")
		}
		return false
	}
	identified := g.d.nameInto(m, &g.h) && g.plain(g.h.NameAt, "name", g.h.Name)
	if n := m.text("namespace"); n != nil && n.value != "" {
		g.h.Namespace, g.h.NamespaceAt = n.value, g.d.at(n)
		identified = g.d.checkName(n, "namespace") && g.plain(g.h.NamespaceAt, "namespace", n.value) && identified
	}
	m.shaped(fields{"labels": mapOf{text}, "annotations": mapOf{text}})
	if n := m.text("creationTimestamp"); n != nil {
		g.created = g.d.instant(n, "creationTimestamp")
	}
	return identified
}

// plain refuses the mark between a target and its section in a name.
func (g *gatewayDocument) plain(at diag.Position, what, name string) bool {
	if !strings.Contains(name, "#") {
		return true
	}
	g.d.add(diag.Diagnostic{Position: at, Code: diag.BadName, Message: what + " " + quote(name) + ": may not contain '#'"})
	return false
}

// instant reads an RFC 3339 time, nil where it is none.
func (d *decoder) instant(n *node, name string) *time.Time {
	t, err := time.Parse(time.RFC3339, n.value)
	if err != nil {
		d.fail(n, diag.Value, "write it like \"2026-01-31T12:00:00Z\"", "%s %s is no RFC 3339 time", name, quote(n.value))
		return nil
	}
	return &t
}

// word reads an optional string that is one of some words, each for its own
// meaning; anything else is reported with the code.
func (c *cursor) word(name string, code diag.Code, words ...string) *node {
	n := c.text(name)
	if n == nil || slices.Contains(words, n.value) {
		return n
	}
	hint := "write " + strings.Join(words, " or ")
	if near := diag.Suggest(n.value, words); near != "" {
		hint = "did you mean " + quote(near) + "?"
	}
	c.fail(n, code, hint, "%s %s is not known", name, quote(n.value))
	return nil
}

// filled reads an optional string that may not be empty where it is written.
func (c *cursor) filled(name string) *node {
	n := c.text(name)
	if n != nil && n.value == "" {
		c.fail(n, diag.Value, "leave it out", "%s of %s is empty", name, c.what)
		return nil
	}
	return n
}
