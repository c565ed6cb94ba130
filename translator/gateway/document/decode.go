package document

import (
	_ "embed"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

//go:embed fields.txt
var fieldTexts string

const versionGatewayAPI = groupGateway + "/v1"

// Kinds returns the kinds of gateway policies and of the Gateway API, and the kinds of
// their groups that hold no policy.
func Kinds() syntax.Kinds {
	var policies syntax.Kinds
	for _, kind := range tables.GatewayKinds {
		policies = append(policies, syntax.KindsOf(tables.PolicyVersion(kind), decodePolicy, kind)...)
	}
	return slices.Concat(
		policies.WithWords("kuadrant").WithTexts(fieldTexts),
		syntax.KindsOf(versionGatewayAPI, decodeGatewayAPI, tables.KindGateway, tables.KindHTTPRoute, tables.KindGRPCRoute).
			WithWords("gateway").WithTexts(fieldTexts),
		syntax.SkippedKinds(groupKuadrant, "Kuadrant", "DNSPolicy", "TLSPolicy", "DNSRecord", "DNSHealthCheckProbe"),
		syntax.SkippedKinds(groupGateway, "GatewayClass", "ListenerSet", "ReferenceGrant", "TCPRoute", "UDPRoute", "TLSRoute", "BackendTLSPolicy"),
	)
}

// The API groups of the policies, and of gateways and routes.
const (
	groupKuadrant = "kuadrant.io"
	groupGateway  = "gateway.networking.k8s.io"
)

// defaultNamespace is that of a document of this family which says none.
const defaultNamespace = "default"

// gatewayDocument is a document of this family while it is read.
type gatewayDocument struct {
	d       *syntax.Decoder
	h       syntax.Header
	created *time.Time
	spec    *syntax.Cursor // nil if it is missing, which is reported
}

func decodePolicy(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	decodeGatewayFamily(d, n, kind, tables.PolicyVersion(kind.Value.Value))
}

func decodeGatewayAPI(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	decodeGatewayFamily(d, n, kind, versionGatewayAPI)
}

// decodeGatewayFamily decodes a document of kuadrant.io or of
// gateway.networking.k8s.io.
func decodeGatewayFamily(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field, version string) {
	before := len(d.Diags)
	h, c := d.Begin(n, kind, FamilyGateway, version, "status")
	g := &gatewayDocument{d: d, h: h}
	identified := g.metadata(c)
	g.h.ByName = true
	g.spec = c.RequiredMapping("spec", "")
	var out syntax.Document
	switch g.h.Kind {
	case tables.KindGateway:
		out = g.gateway()
	case tables.KindHTTPRoute, tables.KindGRPCRoute:
		out = g.route()
	default:
		out = g.policy()
	}
	c.Done()
	if identified {
		d.Out = append(d.Out, out)
	}
	twice := renameCodes(d.OfDocument())
	if policy, ok := out.(*InheritedPolicy); ok {
		policy.Mistaken = twice || d.Diags[before:].HasErrors()
	}
}

// renameCodes names mistakes as this family does: a wrong type and a wrong value
// are one and the same, and a key that is there twice is a duplicate like others.
// The parser reports keys before the family is known: the result says whether it
// did.
func renameCodes(list diag.List) (twice bool) {
	for i := range list {
		g := &list[i]
		switch {
		case g.Code == diag.YAML && strings.HasPrefix(g.Message, "duplicate key "):
			g.Code = diag.Duplicate
			twice = true
		case g.Code == diag.WrongType || g.Code == diag.BadValue:
			g.Code = diag.Value
		}
	}
	return twice
}

// metadata reads what is read of metadata and reports whether it identifies the
// document. Servers put much into it; nothing there is unknown.
func (g *gatewayDocument) metadata(c *syntax.Cursor) bool {
	if !g.d.FillNamespace(&g.h) {
		g.h.Namespace = defaultNamespace
	}
	m := c.RequiredMapping("metadata", "write metadata: {name: NAME}")
	if m == nil {
		return false
	}
	identified := g.d.CustomNameInto(m, &g.h)
	if n := m.Text("namespace"); n != nil && n.Value != "" {
		g.h.Namespace = n.Value
		identified = g.d.CheckNamespace(n) && identified
	}
	checkShape(m, fields{"labels": mapOf{syntax.String}, "annotations": mapOf{syntax.String}})
	if n := m.Text("creationTimestamp"); n != nil {
		g.created = decodeInstant(g.d, n, "creationTimestamp")
	}
	return identified
}

// decodeInstant reads an RFC 3339 time. It returns nil for another text.
func decodeInstant(d *syntax.Decoder, n *syntax.Node, name string) *time.Time {
	t, err := time.Parse(time.RFC3339, n.Value)
	if err != nil {
		d.Fail(n, diag.Value, "write it like \"2026-01-31T12:00:00Z\"", "%s %s must be an RFC 3339 time", name, syntax.Quote(n.Value))
		return nil
	}
	return &t
}

// readWord reads an optional string that is one of some words, each for its own
// meaning; anything else is reported with the code. Without one of them it returns other.
func readWord(c *syntax.Cursor, name string, code diag.Code, other string, words ...string) string {
	n := c.Text(name)
	if n == nil {
		return other
	}
	c.Decoder.Only(n, words)
	if slices.Contains(words, n.Value) {
		return n.Value
	}
	hint := diag.Meant(n.Value, words, "write "+strings.Join(words, " or "))
	c.Fail(n, code, hint, "%s %s is not known", name, syntax.Quote(n.Value))
	return other
}

// readFilled reads an optional string that may not be empty where it is written. Without it, it
// returns other.
func readFilled(c *syntax.Cursor, name string, other syntax.Text) syntax.Text {
	n := c.Text(name)
	switch {
	case n == nil:
		return other
	case n.Value == "":
		c.Fail(n, diag.Value, "leave it out", "%s of %s is empty", name, c.What)
		return other
	}
	return c.Decoder.Text(n)
}
