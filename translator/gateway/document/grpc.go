package document

import (
	"regexp"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// The fields of a GRPCRoute's rule that are known and not interpreted.
var (
	grpcFilter = fields{
		"type":                   syntax.String,
		"requestHeaderModifier":  headerFilter,
		"responseHeaderModifier": headerFilter,
		"requestMirror":          requestMirror,
		"extensionRef":           localReference,
	}
	grpcRuleFields = fields{
		"filters": listOf{grpcFilter},
		"backendRefs": listOf{fields{
			"group": syntax.String, "kind": syntax.String, "name": syntax.String, "namespace": syntax.String, "port": syntax.Integer,
			"weight": syntax.Integer, "filters": listOf{grpcFilter},
		}},
		"sessionPersistence": sessionPersistence,
	}
)

// The names of gRPC, as the Gateway API has them.
var (
	grpcService = regexp.MustCompile(`^\.?[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*$`)
	grpcMethod  = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)
)

func decodeGRPCMatch(d *syntax.Decoder, c *syntax.Cursor) RouteMatch {
	var m RouteMatch
	c.Hints = map[string]string{"path": "write method: {service: SERVICE, method: METHOD}"}
	if method := c.Mapping("method"); method != nil {
		m.GRPC = decodeGRPCMethod(d, method)
		method.Done()
	}
	m.Headers = decodeValueMatches(d, c, "headers", syntax.Fold)
	return m
}

// decodeGRPCMethod decodes the method of a match, which names a service, a method or
// both.
func decodeGRPCMethod(d *syntax.Decoder, c *syntax.Cursor) *GRPCMethod {
	before := len(d.Diags)
	out := &GRPCMethod{Type: readWord(c, "type", diag.Value, "Exact", "Exact", "RegularExpression")}
	out.Service = decodeGRPCName(d, c, out.Type, "service", grpcService, "a dotted name such as books.v1.Library")
	out.Method = decodeGRPCName(d, c, out.Type, "method", grpcMethod, "a single name such as GetBook")
	if out.Service == "" && out.Method == "" && len(d.Diags) == before {
		c.Fail(c.At, diag.Value, "leave method out to match every method", "method has neither service nor method")
	}
	return out
}

// decodeGRPCName decodes a name or an expression. It is empty where it is absent or has
// mistakes.
func decodeGRPCName(d *syntax.Decoder, c *syntax.Cursor, matchType, name string, form *regexp.Regexp, wanted string) string {
	n := c.Text(name)
	switch {
	case n == nil:
		return ""
	case matchType == "RegularExpression":
		if n.Value != "" && !checkRegex(d, n) {
			return ""
		}
	case !form.MatchString(n.Value):
		d.Fail(n, diag.Value, "write "+wanted, "%s %s must be %s", name, syntax.Quote(n.Value), wanted)
		return ""
	}
	return n.Value
}
