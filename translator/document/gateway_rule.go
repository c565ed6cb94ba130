package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
)

// The methods of rules, with the fields they have. Nil is read by itself.
var (
	valueText   = reader(func(d *decoder, key, n *node) { d.requestValue(key, n, "value", "selector", "expression") })
	secretKey   = fields{"name": text, "key": text}
	credentials = fields{
		"authorizationHeader": fields{"prefix": text}, "customHeader": fields{"name": text},
		"queryString": fields{"name": text}, "cookie": fields{"name": text},
	}
	httpMethod = fields{
		"url": text, "urlExpression": celText, "method": text, "body": valueText,
		"bodyParameters": mapOf{valueText}, "contentType": text, "headers": mapOf{valueText},
		"sharedSecretRef": secretKey, "credentials": credentials,
		"oauth2": fields{
			"tokenUrl": text, "clientId": text, "clientSecretRef": secretKey, "scopes": listOf{text},
			"extraParams": mapOf{text}, "cache": boolean,
		},
	}
	authenticationMethods = fields{
		"apiKey":                fields{"selector": labelSelector, "allNamespaces": boolean, "keySelector": text},
		"jwt":                   fields{"issuerUrl": text, "ttl": integer},
		"oauth2Introspection":   fields{"endpoint": text, "tokenTypeHint": text, "credentialsRef": fields{"name": text}},
		"kubernetesTokenReview": fields{"audiences": listOf{text}},
		"x509":                  fields{"selector": labelSelector, "allNamespaces": boolean},
		"plain":                 reader(func(d *decoder, key, n *node) { d.requestValue(key, n, "selector", "expression") }),
		"anonymous":             fields{},
	}
	metadataMethods = fields{
		"http":     httpMethod,
		"userInfo": fields{"identitySource": text},
		"uma":      fields{"endpoint": text, "credentialsRef": fields{"name": text}},
	}
	authorizationMethods = fields{"patternMatching": nil, "opa": nil, "kubernetesSubjectAccessReview": nil, "spicedb": nil}
	successMethods       = fields{
		"plain": nil, "json": nil,
		"wristband": fields{
			"issuer": text, "customClaims": mapOf{valueText}, "tokenDuration": integer,
			"signingKeyRefs": listOf{fields{"name": text, "algorithm": text}},
		},
	}
	callbackMethods = fields{"http": httpMethod}
	// identityFields stand beside the method of a rule of authentication.
	identityFields = fields{"credentials": credentials, "defaults": mapOf{valueText}, "overrides": mapOf{valueText}}
	commonFields   = fields{"metrics": boolean, "cache": fields{"key": valueText, "ttl": integer}}
)

// ruleHead is what every rule has.
type ruleHead struct {
	when     []Condition
	priority int
	method   string
	key      *node // the field of the method
	value    *node
}

// rule reads what all rules have and reports whether the rule has one method.
// Methods whose shape is nil, and what is beside them, are read by the caller.
func (r *ruleReader) rule(f *field, what string, methods, beside fields) (ruleHead, bool) {
	var head ruleHead
	if f.value.isNull() {
		r.noMethod(f.key, what, methods)
		return head, false
	}
	c := r.d.cursor(f.value, what, false)
	if c == nil {
		return head, false
	}
	c.at = f.key
	if when := c.field("when"); when != nil && !when.value.isNull() {
		head.when = r.conditions(when)
	}
	head.priority, _ = c.integer("priority", -maxInteger, maxInteger)
	c.shaped(commonFields)
	c.shaped(beside)
	one := r.method(c, &head, methods)
	before := len(r.d.diags)
	c.done()
	if one && head.method == "" && len(r.d.diags) == before { // an unknown field may be a method misspelt
		r.noMethod(f.key, what, methods)
	}
	return head, one && head.method != ""
}

// method reads the method of a rule, none of them or one; it reports a second one.
func (r *ruleReader) method(c *cursor, head *ruleHead, methods fields) bool {
	c.asked = append(c.asked, slices.Sorted(maps.Keys(methods))...)
	one := true
	for i, m := range c.n.fields {
		shape, known := methods[m.key.value]
		if !known {
			continue
		}
		c.used[i] = true
		switch {
		case m.value.isNull():
		case head.method == "":
			head.method, head.key, head.value = m.key.value, m.key, m.value
			r.d.shaped(m.key, m.value, shape)
		case one:
			r.d.fail(m.key, diag.Method, "make two rules of it", "%s has two methods: %s and %s", c.what, head.method, m.key.value)
			one = false
		}
	}
	if !one {
		head.method = ""
	}
	return one
}

func (r *ruleReader) noMethod(at *node, what string, methods fields) {
	names := slices.Sorted(maps.Keys(methods))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "spicedb" }) // known, and refused
	r.d.fail(at, diag.Method, "one of "+strings.Join(names, ", "), "%s has no method", what)
}

func (r *ruleReader) authentication(f *field) *Authentication {
	head, _ := r.rule(f, "a rule of authentication", authenticationMethods, identityFields)
	return &Authentication{When: head.when, Priority: head.priority, Method: head.method, Anonymous: head.method == "anonymous"}
}

func (r *ruleReader) metadata(f *field) *Metadata {
	head, _ := r.rule(f, "a rule of metadata", metadataMethods, nil)
	return &Metadata{When: head.when, Priority: head.priority, Method: head.method}
}

// denial reads response.unauthenticated or response.unauthorized.
func (r *ruleReader) denial(f *field) *Denial {
	out := &Denial{}
	c := r.d.cursor(f.value, f.key.value, false)
	if c == nil {
		return out
	}
	out.Code, _ = c.integer("code", 300, 599)
	out.Message, out.Body = r.value(c, "message"), r.value(c, "body")
	out.Headers = r.values(c, "headers")
	c.done()
	return out
}

// successItem reads an item below response.success.
func (r *ruleReader) successItem(f *field) *SuccessItem {
	head, ok := r.rule(f, "an item of the response", successMethods, fields{"key": text})
	out := &SuccessItem{When: head.when, Priority: head.priority, Method: head.method}
	if !ok {
		return out
	}
	if key := f.value.find("key", false); key != nil && key.value.kind == text {
		out.Key = key.value.value
	}
	switch head.method {
	case "plain":
		out.Plain = r.d.requestValue(head.key, head.value, "value", "selector", "expression")
	case "json":
		if c := r.d.cursor(head.value, "json", false); c != nil {
			c.at = head.key
			out.Properties = r.values(c, "properties")
			c.done()
		}
	case "wristband":
		r.d.warn(f.key, diag.NotComputed, "", "wristband %s is not made here", quote(f.key.value))
	}
	return out
}

// value reads an optional value of a mapping, values an optional map of them.
func (r *ruleReader) value(c *cursor, name string) *Value {
	f := c.field(name)
	if f == nil || f.value.isNull() {
		return nil
	}
	return r.d.requestValue(f.key, f.value, "value", "selector", "expression")
}

func (r *ruleReader) values(c *cursor, name string) map[string]Value {
	var out map[string]Value
	r.each(c, name, func(f *field) {
		v := r.d.requestValue(f.key, f.value, "value", "selector", "expression")
		if v == nil {
			return
		}
		if out == nil {
			out = make(map[string]Value)
		}
		out[f.key.value] = *v
	})
	return out
}

// requestValue reads a value that is written out or found in the request, by one
// of some members. It is nil where it has mistakes.
func (d *decoder) requestValue(key, n *node, members ...string) *Value {
	if n.kind != mapping {
		hint := ""
		if n.kind == text {
			hint = "write {" + members[0] + ": " + quote(n.value) + "}"
		}
		d.fail(n, diag.WrongType, hint, "%s is one of %s, this is %s", key.value, strings.Join(members, ", "), describe(n))
		return nil
	}
	before := len(d.diags)
	v := &Value{At: d.at(key)}
	c := d.cursor(n, key.value, false)
	c.at = key
	first := ""
	for _, f := range n.fields {
		if !slices.Contains(members, f.key.value) || f.value.isNull() {
			continue
		}
		if first != "" {
			d.fail(f.key, diag.Exclusive, "keep one of them", "%s next to %s: a value is one of %s", f.key.value, first, strings.Join(members, ", "))
		}
		first = f.key.value
	}
	if slices.Contains(members, "value") {
		if written := c.value("value"); written != nil {
			v.Value, _ = d.value(written)
		}
	}
	if selector := c.text("selector"); selector != nil {
		pieces, _, problem := ParseTemplate(selector.value)
		if problem != "" {
			d.badSelector(selector, problem)
		}
		for _, piece := range pieces {
			if piece.Path != nil {
				d.doubt(selector, piece.Path)
			}
		}
		t := d.text(selector)
		v.Selector = &t
	}
	if f := c.field("expression"); f != nil && !f.value.isNull() {
		v.Expression = d.cel(f.key, f.value, cel.CheckExpression)
	}
	c.done()
	if len(d.diags) > before {
		return nil
	}
	return v
}

func (d *decoder) badSelector(n *node, problem string) {
	d.fail(n, diag.BadSelector, "write a dotted path like auth.identity.sub", "selector %s: %s", quote(n.value), problem)
}

// inAuth are what stands below auth.
var inAuth = []string{"identity", "metadata", "authorization", "response"}

// doubt notes a path that begins with nothing a request has: it finds nothing ever,
// so that a comparison by neq or excl always holds.
func (d *decoder) doubt(n *node, path *SelectorPath) {
	known, steps, of := cel.Gateway.Variables, path.Steps, "a request"
	if len(steps) > 1 && steps[0] == "auth" {
		known, steps, of = inAuth, steps[1:], "auth"
	}
	if len(steps) == 0 || slices.Contains(known, steps[0]) {
		return
	}
	hint := "begin with one of " + strings.Join(known, ", ")
	if near := diag.Suggest(steps[0], known); near != "" {
		hint = "did you mean " + quote(near) + "?"
	}
	d.doubts = append(d.doubts, diag.Diagnostic{
		Position: d.at(n), Length: n.length(), Severity: diag.Warning, Code: diag.UnknownAttribute,
		Message: fmt.Sprintf("%s has no %s: the selector finds nothing", of, quote(steps[0])), Hint: hint,
	})
}
