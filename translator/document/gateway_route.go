package document

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// The fields of an HTTPRoute that are known and not interpreted.
var (
	headerValues     = listOf{fields{"name": text, "value": text}}
	headerFilter     = fields{"set": headerValues, "add": headerValues, "remove": listOf{text}}
	pathModifier     = fields{"type": text, "replaceFullPath": text, "replacePrefixMatch": text}
	backendReference = fields{"group": text, "kind": text, "name": text, "namespace": text, "port": integer}
	forwardedBody    = fields{"maxSize": integer}
	routeFilter      = fields{
		"type":                   text,
		"requestHeaderModifier":  headerFilter,
		"responseHeaderModifier": headerFilter,
		"requestMirror": fields{
			"backendRef": backendReference, "percent": integer,
			"fraction": fields{"numerator": integer, "denominator": integer},
		},
		"requestRedirect": fields{"scheme": text, "hostname": text, "path": pathModifier, "port": integer, "statusCode": integer},
		"urlRewrite":      fields{"hostname": text, "path": pathModifier},
		"cors": fields{
			"allowOrigins": listOf{text}, "allowCredentials": boolean, "allowMethods": listOf{text},
			"allowHeaders": listOf{text}, "exposeHeaders": listOf{text}, "maxAge": integer,
		},
		"externalAuth": fields{
			"protocol": text, "backendRef": backendReference,
			"grpc":        fields{"allowedHeaders": listOf{text}},
			"http":        fields{"path": text, "allowedHeaders": listOf{text}, "allowedResponseHeaders": listOf{text}},
			"forwardBody": forwardedBody,
		},
		"extensionRef": localReference,
	}
	routeRuleFields = fields{
		"filters": listOf{routeFilter},
		"backendRefs": listOf{fields{
			"group": text, "kind": text, "name": text, "namespace": text, "port": integer,
			"weight": integer, "filters": listOf{routeFilter},
		}},
		"timeouts": fields{"request": text, "backendRequest": text},
		"retry":    fields{"codes": listOf{integer}, "attempts": integer, "backoff": text},
		"sessionPersistence": fields{
			"sessionName": text, "absoluteTimeout": text, "idleTimeout": text, "type": text,
			"cookieConfig": fields{"lifetimeType": text},
		},
	}
)

// route decodes the spec of an HTTPRoute.
func (g *gatewayDocument) route() *HTTPRoute {
	out := &HTTPRoute{Header: g.h, Created: g.created}
	c := g.spec
	if c == nil {
		return out
	}
	parents, _ := c.list("parentRefs")
	for _, n := range parents {
		if p, ok := g.parent(n); ok {
			out.Parents = append(out.Parents, p)
		}
	}
	hostnames, _ := c.texts("hostnames")
	for _, n := range hostnames {
		if name := g.d.hostname(n, "hostnames entry"); name != "" {
			out.Hostnames = append(out.Hostnames, name)
		}
	}
	c.shaped(fields{"useDefaultGateways": text})
	out.Rules = g.routeRules(c)
	c.done()
	return out
}

// parent decodes one of parentRefs and reports whether it can be looked up.
func (g *gatewayDocument) parent(n *node) (ParentRef, bool) {
	d := g.d
	p := ParentRef{At: d.at(n), Kind: Text{Value: kindGateway, At: d.at(n)}, Namespace: Text{Value: g.h.Namespace, At: d.at(n)}}
	c := d.cursor(n, "a parentRef", false)
	if c == nil {
		return p, false
	}
	group := c.text("group")
	if kind := c.filled("kind"); kind != nil {
		p.Kind = d.text(kind)
	}
	if namespace := c.filled("namespace"); namespace != nil {
		p.Namespace = d.text(namespace)
	}
	name := c.required("name")
	if section := c.filled("sectionName"); section != nil {
		p.Section = d.text(section)
	}
	p.Port, _ = c.integer("port", 1, 65535)
	c.done()
	// A parent of another kind is told of where circles are looked for.
	if group != nil && group.value != groupGateway && p.Kind.Value == kindGateway {
		d.fail(group, diag.ParentKind, "write "+groupGateway, "a Gateway of group %s is no parent of routes", quote(group.value))
		return p, false
	}
	if name == nil {
		return p, false
	}
	p.Name = d.text(name)
	return p, true
}

// everything is the match of a rule, and the rule of a route, that says none.
var everything = RouteMatch{PathType: "PathPrefix", Path: "/"}

// routeRules decodes the rules of a route and gives names to those without.
func (g *gatewayDocument) routeRules(c *cursor) []RouteRule {
	if c.value("rules") == nil {
		return []RouteRule{{At: g.d.at(c.at), Name: "rule-1", Matches: []RouteMatch{everything}}}
	}
	items, _ := c.list("rules")
	var out []RouteRule
	seen := make(map[string]diag.Position)
	for i, n := range items {
		rule := RouteRule{At: g.d.at(n), Name: "rule-" + strconv.Itoa(i+1)}
		name := Text{Value: rule.Name, At: rule.At}
		if r := g.d.cursor(n, "a rule", false); r != nil {
			if given := r.filled("name"); given != nil {
				name = g.d.text(given)
			}
			rule.Matches = g.d.routeMatches(r)
			r.shaped(routeRuleFields)
			r.done()
		}
		g.d.unique(seen, name, "name of a rule")
		rule.Name = name.Value
		out = append(out, rule)
	}
	return out
}

// routeMatches decodes the matches of a rule, the default where there are none.
func (d *decoder) routeMatches(c *cursor) []RouteMatch {
	items, _ := c.list("matches")
	var out []RouteMatch
	for _, n := range items {
		if m := d.cursor(n, "a match", false); m != nil {
			out = append(out, d.routeMatch(m))
			m.done()
		}
	}
	if len(out) == 0 {
		out = []RouteMatch{everything}
	}
	return out
}

func (d *decoder) routeMatch(c *cursor) RouteMatch {
	m := everything
	if path := c.mapping("path"); path != nil {
		if kind := path.word("type", diag.Value, "Exact", "PathPrefix", "RegularExpression"); kind != nil {
			m.PathType = kind.value
		}
		if value := path.text("value"); value != nil {
			m.Path = value.value
			d.routePath(value, m.PathType)
		}
		path.done()
	}
	method := c.word("method", diag.Value, "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")
	if method != nil {
		m.Method = method.value
	}
	m.Headers = d.valueMatches(c, "headers", fold)
	m.Query = d.valueMatches(c, "queryParams", strings.Clone)
	return m
}

// routePath checks the value of a path match.
func (d *decoder) routePath(n *node, pathType string) {
	if pathType == "RegularExpression" {
		d.regex(n)
		return
	}
	if !strings.HasPrefix(n.value, "/") {
		d.fail(n, diag.Value, "write "+quote("/"+n.value), "path %s does not begin with \"/\"", quote(n.value))
	}
}

// regex reports a string that is no regular expression.
func (d *decoder) regex(n *node) bool {
	_, err := regexp.Compile(n.value)
	if err == nil {
		return true
	}
	d.fail(n, diag.BadRegex, "", "%s is no regular expression: %s", quote(n.value), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	return false
}

// valueMatches decodes headers or queryParams. Of two whose names mean the same
// the Gateway API regards the first; names that are equal to the letter are a
// mistake.
func (d *decoder) valueMatches(c *cursor, name string, normal func(string) string) []ValueMatch {
	items, _ := c.list(name)
	var out []ValueMatch
	seen := make(map[string]diag.Position)
	regarded := make(map[string]bool)
	for _, n := range items {
		item := d.cursor(n, "an entry of "+name, false)
		if item == nil {
			continue
		}
		m := ValueMatch{Type: "Exact"}
		if kind := item.word("type", diag.Value, "Exact", "RegularExpression"); kind != nil {
			m.Type = kind.value
		}
		key, value := item.required("name"), item.required("value")
		item.done()
		if value == nil || key == nil || m.Type == "RegularExpression" && !d.regex(value) || !d.unique(seen, d.text(key), "name in "+name) {
			continue
		}
		m.Name, m.Value = normal(key.value), value.value
		if !regarded[m.Name] {
			out = append(out, m)
		}
		regarded[m.Name] = true
	}
	return out
}
