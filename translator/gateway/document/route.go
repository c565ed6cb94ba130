package document

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// The fields of routes that are known and not interpreted.
var (
	headerValues     = listOf{fields{"name": syntax.String, "value": syntax.String}}
	headerFilter     = fields{"set": headerValues, "add": headerValues, "remove": listOf{syntax.String}}
	pathModifier     = fields{"type": syntax.String, "replaceFullPath": syntax.String, "replacePrefixMatch": syntax.String}
	backendReference = fields{"group": syntax.String, "kind": syntax.String, "name": syntax.String, "namespace": syntax.String, "port": syntax.Integer}
	forwardedBody    = fields{"maxSize": syntax.Integer}
	requestMirror    = fields{
		"backendRef": backendReference, "percent": syntax.Integer,
		"fraction": fields{"numerator": syntax.Integer, "denominator": syntax.Integer},
	}
	routeFilter = fields{
		"type":                   syntax.String,
		"requestHeaderModifier":  headerFilter,
		"responseHeaderModifier": headerFilter,
		"requestMirror":          requestMirror,
		"requestRedirect": fields{
			"scheme": syntax.String, "hostname": syntax.String, "path": pathModifier, "port": syntax.Integer, "statusCode": syntax.Integer,
		},
		"urlRewrite": fields{"hostname": syntax.String, "path": pathModifier},
		"cors": fields{
			"allowOrigins": listOf{syntax.String}, "allowCredentials": syntax.Boolean, "allowMethods": listOf{syntax.String},
			"allowHeaders": listOf{syntax.String}, "exposeHeaders": listOf{syntax.String}, "maxAge": syntax.Integer,
		},
		"externalAuth": fields{
			"protocol": syntax.String, "backendRef": backendReference,
			"grpc":        fields{"allowedHeaders": listOf{syntax.String}},
			"http":        fields{"path": syntax.String, "allowedHeaders": listOf{syntax.String}, "allowedResponseHeaders": listOf{syntax.String}},
			"forwardBody": forwardedBody,
		},
		"extensionRef": localReference,
	}
	sessionPersistence = fields{
		"sessionName": syntax.String, "absoluteTimeout": syntax.String, "idleTimeout": syntax.String, "type": syntax.String,
		"cookieConfig": fields{"lifetimeType": syntax.String},
	}
	routeRuleFields = fields{
		"filters": listOf{routeFilter},
		"backendRefs": listOf{fields{
			"group": syntax.String, "kind": syntax.String, "name": syntax.String, "namespace": syntax.String, "port": syntax.Integer,
			"weight": syntax.Integer, "filters": listOf{routeFilter},
		}},
		"timeouts":           fields{"request": syntax.String, "backendRequest": syntax.String},
		"retry":              fields{"codes": listOf{syntax.Integer}, "attempts": syntax.Integer, "backoff": syntax.String},
		"sessionPersistence": sessionPersistence,
	}
)

// route decodes the spec of a route.
func (g *gatewayDocument) route() *Route {
	out := &Route{Header: g.h, Created: g.created}
	c := g.spec
	if c == nil {
		return out
	}
	parents, _ := c.List("parentRefs")
	for _, n := range parents {
		if p, ok := g.parent(n); ok {
			out.Parents = append(out.Parents, p)
		}
	}
	hostnames, _ := c.Texts("hostnames")
	for _, n := range hostnames {
		if name := decodeHostname(g.d, n, "hostnames entry"); name != "" {
			out.Hostnames = append(out.Hostnames, name)
		}
	}
	checkShape(c, fields{"useDefaultGateways": syntax.String})
	out.Rules = g.routeRules(c)
	c.Done()
	return out
}

// parent decodes one of parentRefs and reports whether it can be looked up.
func (g *gatewayDocument) parent(n *syntax.Node) (ParentRef, bool) {
	d := g.d
	p := ParentRef{At: d.At(n), Kind: syntax.Text{Value: tables.KindGateway, At: d.At(n)}, Namespace: syntax.Text{Value: g.h.Namespace, At: d.At(n)}}
	c := d.Cursor(n, "a parentRef", false)
	if c == nil {
		return p, false
	}
	group := c.Text("group")
	p.Kind, p.Namespace = readFilled(c, "kind", p.Kind), readFilled(c, "namespace", p.Namespace)
	name := c.Required("name")
	p.Section = readFilled(c, "sectionName", p.Section)
	p.Port, _ = c.Integer("port", 1, 65535)
	c.Done()
	// A parent of another kind is reported where cycles are looked for.
	if group != nil && group.Value != groupGateway && p.Kind.Value == tables.KindGateway {
		d.Fail(group, diag.ParentKind, "write "+groupGateway, "a Gateway of group %s is not a parent of routes", syntax.Quote(group.Value))
		return p, false
	}
	if name == nil {
		return p, false
	}
	p.Name = d.Text(name)
	return p, true
}

// everything is the default match of a rule, and of a route without rules.
var everything = RouteMatch{PathType: "PathPrefix", Path: "/"}

// routeRules decodes the rules of a route and gives names to those without.
func (g *gatewayDocument) routeRules(c *syntax.Cursor) []RouteRule {
	if c.Value("rules") == nil && g.h.Kind == tables.KindGRPCRoute {
		return nil
	}
	if c.Value("rules") == nil {
		return []RouteRule{{At: g.d.At(c.At), Name: "rule-1", Matches: []RouteMatch{everything}}}
	}
	items, _ := c.List("rules")
	var out []RouteRule
	seen := make(map[string]diag.Position)
	for i, n := range items {
		rule := RouteRule{At: g.d.At(n), Name: "rule-" + strconv.Itoa(i+1)}
		name := syntax.Text{Value: rule.Name, At: rule.At}
		if r := g.d.Cursor(n, "a rule", false); r != nil {
			name = readFilled(r, "name", name)
			if g.h.Kind == tables.KindGRPCRoute {
				rule.Matches = decodeMatches(g.d, r, RouteMatch{}, decodeGRPCMatch)
				checkShape(r, grpcRuleFields)
			} else {
				rule.Matches = decodeMatches(g.d, r, everything, decodeRouteMatch)
				checkShape(r, routeRuleFields)
			}
			r.Done()
		}
		checkUnique(g.d, seen, name, "name of a rule")
		rule.Name = name.Value
		out = append(out, rule)
	}
	return out
}

// decodeMatch decodes one match.
type decodeMatch func(d *syntax.Decoder, c *syntax.Cursor) RouteMatch

// decodeMatches decodes the matches of a rule, the default for a rule without matches.
func decodeMatches(d *syntax.Decoder, c *syntax.Cursor, byDefault RouteMatch, decode decodeMatch) []RouteMatch {
	items, _ := c.List("matches")
	var out []RouteMatch
	for _, n := range items {
		if m := d.Cursor(n, "a match", false); m != nil {
			out = append(out, decode(d, m))
			m.Done()
		}
	}
	if len(out) == 0 {
		out = []RouteMatch{byDefault}
	}
	return out
}

func decodeRouteMatch(d *syntax.Decoder, c *syntax.Cursor) RouteMatch {
	m := everything
	if path := c.Mapping("path"); path != nil {
		m.PathType = readWord(path, "type", diag.Value, m.PathType, "Exact", "PathPrefix", "RegularExpression")
		if value := path.Text("value"); value != nil {
			m.Path = value.Value
			checkRoutePath(d, value, m.PathType)
		}
		path.Done()
	}
	m.Method = readWord(c, "method", diag.Value, "", "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")
	m.Headers = decodeValueMatches(d, c, "headers", syntax.Fold)
	m.Query = decodeValueMatches(d, c, "queryParams", strings.Clone)
	return m
}

// checkRoutePath checks the value of a path match.
func checkRoutePath(d *syntax.Decoder, n *syntax.Node, pathType string) {
	if pathType == "RegularExpression" {
		checkRegex(d, n)
		return
	}
	if !strings.HasPrefix(n.Value, "/") {
		d.Fail(n, diag.Value, "write "+syntax.Quote("/"+n.Value), "path %s does not begin with \"/\"", syntax.Quote(n.Value))
	}
}

// checkRegex reports a string that is not a regular expression.
func checkRegex(d *syntax.Decoder, n *syntax.Node) bool {
	_, err := regexp.Compile(n.Value)
	if err == nil {
		return true
	}
	d.Fail(n, diag.BadRegex, "", "invalid regular expression %s: %s", syntax.Quote(n.Value), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	return false
}

// decodeValueMatches decodes headers or queryParams. Identical names are a mistake. Of
// names that differ only in case, the first entry counts, as in the Gateway API.
func decodeValueMatches(d *syntax.Decoder, c *syntax.Cursor, name string, normal func(string) string) []ValueMatch {
	items, _ := c.List(name)
	var out []ValueMatch
	seen := make(map[string]diag.Position)
	regarded := make(map[string]bool)
	for _, n := range items {
		item := d.Cursor(n, "an entry of "+name, false)
		if item == nil {
			continue
		}
		m := ValueMatch{Type: readWord(item, "type", diag.Value, "Exact", "Exact", "RegularExpression")}
		key, value := item.Required("name"), item.Required("value")
		item.Done()
		if value == nil || key == nil || m.Type == "RegularExpression" && !checkRegex(d, value) {
			continue
		}
		if !checkUnique(d, seen, d.Text(key), "name in "+name) {
			continue
		}
		m.Name, m.Value = normal(key.Value), value.Value
		if !regarded[m.Name] {
			out = append(out, m)
		}
		regarded[m.Name] = true
	}
	return out
}
