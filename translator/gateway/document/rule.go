package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// The methods of rules, with the fields they have. Nil is read by itself.
var (
	valueText = reader(func(d *syntax.Decoder, key, n *syntax.Node) {
		decodeRequestValue(d, key, n, "value", "selector", "expression")
	})
	secretKey   = fields{"name": syntax.String, "key": syntax.String}
	credentials = fields{
		"authorizationHeader": fields{"prefix": syntax.String}, "customHeader": fields{"name": syntax.String},
		"queryString": fields{"name": syntax.String}, "cookie": fields{"name": syntax.String},
	}
	httpMethod = fields{
		"url": syntax.String, "urlExpression": celText, "method": syntax.String, "body": valueText,
		"bodyParameters": mapOf{valueText}, "contentType": syntax.String, "headers": mapOf{valueText},
		"sharedSecretRef": secretKey, "credentials": credentials,
		"oauth2": fields{
			"tokenUrl": syntax.String, "clientId": syntax.String, "clientSecretRef": secretKey, "scopes": listOf{syntax.String},
			"extraParams": mapOf{syntax.String}, "cache": syntax.Boolean,
		},
	}
	// certificateSource is where a client's certificate is read from; without a field, the
	// TLS connection.
	certificateSource = exclusive{
		fields: fields{"xfccHeader": syntax.String, "clientCertHeader": syntax.String, "expression": celText},
		names:  []string{"xfccHeader", "clientCertHeader", "expression"},
	}
	authenticationMethods = fields{
		"apiKey": fields{"selector": labelSelector, "allNamespaces": syntax.Boolean, "keySelector": syntax.String},
		"jwt": exclusive{
			fields: fields{"issuerUrl": syntax.String, "jwksUrl": syntax.String, "ttl": syntax.Integer},
			names:  []string{"issuerUrl", "jwksUrl"}, emptyIsAbsent: true,
		},
		"oauth2Introspection":   fields{"endpoint": syntax.String, "tokenTypeHint": syntax.String, "credentialsRef": fields{"name": syntax.String}},
		"kubernetesTokenReview": fields{"audiences": listOf{syntax.String}},
		"x509":                  fields{"selector": labelSelector, "allNamespaces": syntax.Boolean, "source": certificateSource},
		"plain":                 reader(func(d *syntax.Decoder, key, n *syntax.Node) { decodeRequestValue(d, key, n, "selector", "expression") }),
		"anonymous":             fields{},
	}
	metadataMethods = fields{
		"http": httpMethod,
		"userInfo": exclusive{
			fields: fields{"identitySource": syntax.String, "userInfoUrl": syntax.String},
			names:  []string{"identitySource", "userInfoUrl"}, emptyIsAbsent: true,
		},
		"uma": fields{"endpoint": syntax.String, "credentialsRef": fields{"name": syntax.String}},
	}
	authorizationMethods = fields{"patternMatching": nil, "opa": nil, "kubernetesSubjectAccessReview": nil, "spicedb": nil}
	successMethods       = fields{
		"plain": nil, "json": nil,
		"wristband": fields{
			"issuer": syntax.String, "customClaims": mapOf{valueText}, "tokenDuration": syntax.Integer,
			"signingKeyRefs": listOf{fields{"name": syntax.String, "algorithm": syntax.String}},
		},
	}
	callbackMethods = fields{"http": httpMethod}
	// identityFields stand beside the method of a rule of authentication.
	identityFields = fields{"credentials": credentials, "defaults": mapOf{valueText}, "overrides": mapOf{valueText}}
	commonFields   = fields{"metrics": syntax.Boolean, "cache": fields{"key": valueText, "ttl": syntax.Integer}}
)

// ruleHead is what every rule has.
type ruleHead struct {
	when     []tables.RequestCondition
	priority int
	method   string
	key      *syntax.Node // the field of the method
	value    *syntax.Node
}

// rule reads what all rules have and reports whether the rule has one method.
// Methods whose shape is nil, and what is beside them, are read by the caller.
func (r *ruleReader) rule(f *syntax.Field, what string, methods, beside fields) (ruleHead, bool) {
	var head ruleHead
	if f.Value.IsNull() {
		r.noMethod(f.Key, what, methods)
		return head, false
	}
	c := r.d.Cursor(f.Value, what, false)
	if c == nil {
		return head, false
	}
	c.At = f.Key
	if when := c.Field("when"); when != nil && !when.Value.IsNull() {
		head.when = r.conditions(when)
	}
	head.priority, _ = c.Integer("priority", -syntax.MaxInteger, syntax.MaxInteger)
	checkShape(c, commonFields)
	checkShape(c, beside)
	one := r.method(c, &head, methods)
	before := len(r.d.Diags)
	c.Done()
	if one && head.method == "" && len(r.d.Diags) == before { // an unknown field may be a method misspelt
		r.noMethod(f.Key, what, methods)
	}
	return head, one && head.method != ""
}

// method reads the method of a rule, none of them or one; it reports a second one.
func (r *ruleReader) method(c *syntax.Cursor, head *ruleHead, methods fields) bool {
	c.Asked = append(c.Asked, slices.Sorted(maps.Keys(methods))...)
	one := true
	for i, m := range c.Node.Fields {
		shape, known := methods[m.Key.Value]
		if !known {
			continue
		}
		c.Used[i] = true
		switch {
		case m.Value.IsNull():
		case head.method == "":
			head.method, head.key, head.value = m.Key.Value, m.Key, m.Value
			checkValueShape(r.d, m.Key, m.Value, shape)
		case one:
			r.d.Fail(m.Key, diag.Method, "make two rules of it", "%s has two methods: %s and %s", c.What, head.method, m.Key.Value)
			one = false
		}
	}
	if !one {
		head.method = ""
	}
	return one
}

func (r *ruleReader) noMethod(at *syntax.Node, what string, methods fields) {
	names := slices.Sorted(maps.Keys(methods))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "spicedb" }) // known, and refused
	r.d.Fail(at, diag.Method, "one of "+strings.Join(names, ", "), "%s has no method", what)
}

func (r *ruleReader) authentication(f *syntax.Field) *tables.GatewayRule {
	head, _ := r.rule(f, "a rule of authentication", authenticationMethods, identityFields)
	method := &tables.GatewayAuthentication{Anonymous: head.method == "anonymous"}
	return &tables.GatewayRule{When: head.when, Priority: head.priority, Authentication: method}
}

func (r *ruleReader) metadata(f *syntax.Field) *tables.GatewayRule {
	head, _ := r.rule(f, "a rule of metadata", metadataMethods, nil)
	return &tables.GatewayRule{When: head.when, Priority: head.priority, Metadata: &tables.GatewayMetadata{}}
}

// denial reads response.unauthenticated or response.unauthorized.
func (r *ruleReader) denial(f *syntax.Field) *tables.GatewayRule {
	out := &tables.GatewayDenial{}
	rule := &tables.GatewayRule{Denial: out}
	c := r.d.Cursor(f.Value, f.Key.Value, false)
	if c == nil {
		return rule
	}
	out.Code, _ = c.Integer("code", 300, 599)
	out.Message, out.Body = r.value(c, "message"), r.value(c, "body")
	r.each(c, "headers", func(header *syntax.Field) { r.checkHeader(header.Key) })
	out.Headers = r.values(c, "headers")
	c.Done()
	return rule
}

// checkHeader reports the name of a header that no policy may set.
func (r *ruleReader) checkHeader(name *syntax.Node) {
	if tables.IsReservedHeader(name.Value) {
		r.d.Fail(name, diag.HeaderName, "use a header of your own, such as x-"+strings.ToLower(strings.TrimPrefix(name.Value, ":")),
			"header %s changes the framing or the routing of a message: a policy must not set it", syntax.Quote(name.Value))
	}
}

// successItem reads an item below response.success.
func (r *ruleReader) successItem(f *syntax.Field, header bool) *tables.GatewayRule {
	head, ok := r.rule(f, "an item of the response", successMethods, fields{"key": syntax.String})
	out := &tables.GatewayItem{Header: header}
	rule := &tables.GatewayRule{When: head.when, Priority: head.priority, Item: out}
	name := f.Key
	if key := f.Value.Find("key", false); key != nil && key.Value.Type == syntax.String && key.Value.Value != "" {
		name = key.Value
	}
	out.Key = name.Value
	if header {
		r.checkHeader(name)
	}
	if !ok {
		return rule
	}
	switch head.method {
	case "plain":
		out.Plain = decodeRequestValue(r.d, head.key, head.value, "value", "selector", "expression")
	case "json":
		out.Properties = make(map[string]tables.RequestValue)
		if c := r.d.Cursor(head.value, "json", false); c != nil {
			c.At = head.key
			maps.Copy(out.Properties, r.values(c, "properties"))
			c.Done()
		}
	case "wristband":
		r.d.Warn(f.Key, diag.NotComputed, "", "wristband %s is not made here", syntax.Quote(f.Key.Value))
	}
	return rule
}

// value reads an optional value of a mapping, values an optional map of them.
func (r *ruleReader) value(c *syntax.Cursor, name string) *tables.RequestValue {
	f := c.Field(name)
	if f == nil || f.Value.IsNull() {
		return nil
	}
	return decodeRequestValue(r.d, f.Key, f.Value, "value", "selector", "expression")
}

func (r *ruleReader) values(c *syntax.Cursor, name string) map[string]tables.RequestValue {
	var out map[string]tables.RequestValue
	r.each(c, name, func(f *syntax.Field) {
		v := decodeRequestValue(r.d, f.Key, f.Value, "value", "selector", "expression")
		if v == nil {
			return
		}
		if out == nil {
			out = make(map[string]tables.RequestValue)
		}
		out[f.Key.Value] = *v
	})
	return out
}

// decodeRequestValue reads a value that is written out or found in the request, by one
// of some members. It is nil where it has mistakes.
func decodeRequestValue(d *syntax.Decoder, key, n *syntax.Node, members ...string) *tables.RequestValue {
	if n.Type != syntax.Mapping {
		hint := ""
		if n.Type == syntax.String {
			hint = "write {" + members[0] + ": " + syntax.Quote(n.Value) + "}"
		}
		d.Fail(n, diag.WrongType, hint, "%s must be one of %s, not %s", key.Value, strings.Join(members, ", "), syntax.Describe(n))
		return nil
	}
	before := len(d.Diags)
	v := &tables.RequestValue{}
	c := d.Cursor(n, key.Value, false)
	c.At = key
	first := ""
	for _, f := range n.Fields {
		if !slices.Contains(members, f.Key.Value) || f.Value.IsNull() {
			continue
		}
		if first != "" {
			d.Fail(f.Key, diag.Exclusive, "keep one of them", "%s next to %s: a value is one of %s", f.Key.Value, first, strings.Join(members, ", "))
		}
		first = f.Key.Value
	}
	if slices.Contains(members, "value") {
		if written := c.Value("value"); written != nil {
			v.Value, _ = d.Value(written)
		}
	}
	if selector := c.Text("selector"); selector != nil {
		v.Template = decodeTemplate(d, selector)
	}
	if f := c.Field("expression"); f != nil && !f.Value.IsNull() {
		v.Expression = celOf(decodeCel(d, f.Key, f.Value, cel.CheckExpression))
	}
	c.Done()
	if len(d.Diags) > before {
		return nil
	}
	return v
}

// decodeTemplate reads a selector that may be a template.
func decodeTemplate(d *syntax.Decoder, n *syntax.Node) *tables.Template {
	template, problem := parseTemplate(n.Value)
	if problem != "" {
		reportBadSelector(d, n, problem)
		return nil
	}
	if template.Path != nil {
		warnDoubt(d, n, template.Path)
	}
	for _, piece := range template.Pieces {
		if piece.Path != nil {
			warnDoubt(d, n, piece.Path)
		}
	}
	return template
}

func reportBadSelector(d *syntax.Decoder, n *syntax.Node, problem string) {
	d.Fail(n, diag.BadSelector, "write a dotted path like auth.identity.sub", "selector %s: %s", syntax.Quote(n.Value), problem)
}

// inAuth are what stands below auth.
var inAuth = []string{"identity", "metadata", "authorization", "response"}

// warnDoubt notes a path that begins with nothing a request has: it finds nothing ever,
// so that a comparison by neq or excl always holds.
func warnDoubt(d *syntax.Decoder, n *syntax.Node, path *tables.SelectorPath) {
	known, steps, of := cel.Gateway.Variables, path.Steps, "a request"
	if len(steps) > 1 && steps[0] == "auth" {
		known, steps, of = inAuth, steps[1:], "auth"
	}
	if len(steps) == 0 || slices.Contains(known, steps[0]) {
		return
	}
	hint := diag.Meant(steps[0], known, "begin with one of "+strings.Join(known, ", "))
	d.DeferredWarnings = append(d.DeferredWarnings, diag.Diagnostic{
		Position: d.At(n), Length: n.Length(), Severity: diag.Warning, Code: diag.UnknownAttribute,
		Message: fmt.Sprintf("%s has no %s: the selector finds nothing", of, syntax.Quote(steps[0])), Hint: hint,
	})
}
