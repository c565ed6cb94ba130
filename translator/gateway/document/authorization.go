package document

import (
	"regexp"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// authorization reads a rule of authorization. One with mistakes is a list of no
// conditions, so that there is always one method.
func (r *ruleReader) authorization(f *syntax.Field) *tables.GatewayRule {
	head, _ := r.rule(f, "a rule of authorization", authorizationMethods, nil)
	out := &tables.GatewayAuthorization{}
	switch head.method {
	case "patternMatching":
		if c := r.inside(head); c != nil {
			if patterns := c.Field("patterns"); patterns != nil && !patterns.Value.IsNull() {
				conditions := r.conditions(patterns)
				out.Patterns = &conditions
			} else {
				c.Missing("patterns", "write patterns: [{predicate: CEL}]")
			}
			c.Done()
		}
	case "opa":
		out.Rego = r.opa(head)
	case "kubernetesSubjectAccessReview":
		out.Review = r.review(head)
	case "spicedb":
		r.d.Fail(head.key, diag.Unsupported, "", "spicedb needs the network: it is not supported")
	}
	if out.Patterns == nil && out.Rego == nil && out.Review == nil {
		out.Patterns = &[]tables.RequestCondition{}
	}
	return &tables.GatewayRule{When: head.when, Priority: head.priority, Authorization: out}
}

// inside is a cursor over the fields of a rule's method.
func (r *ruleReader) inside(head ruleHead) *syntax.Cursor {
	c := r.d.Cursor(head.value, head.method, false)
	if c != nil {
		c.At = head.key
	}
	return c
}

// review reads kubernetesSubjectAccessReview.
func (r *ruleReader) review(head ruleHead) *tables.AccessReview {
	out := &tables.AccessReview{}
	c := r.inside(head)
	if c == nil {
		return out
	}
	out.User, out.AuthorizationGroups = r.value(c, "user"), r.value(c, "authorizationGroups")
	groups, _ := c.Texts("groups")
	out.Groups = syntax.Values(groups)
	if a := c.Mapping("resourceAttributes"); a != nil {
		out.Resource = &tables.ResourceAttributes{
			Group: r.value(a, "group"), Resource: r.value(a, "resource"), Subresource: r.value(a, "subresource"),
			Name: r.value(a, "name"), Namespace: r.value(a, "namespace"), Verb: r.value(a, "verb"),
		}
		a.Done()
	}
	c.Done()
	return out
}

// opa reads the rule whose method is Rego.
func (r *ruleReader) opa(head ruleHead) *tables.RegoBody {
	c := r.inside(head)
	if c == nil {
		return nil
	}
	all, _ := c.Boolean("allValues", false)
	if external := c.Field("externalPolicy"); external != nil && !external.Value.IsNull() {
		r.d.Fail(external.Key, diag.Unsupported, "write the policy into rego", "externalPolicy needs the network: it is not supported")
	} else if c.Value("rego") == nil {
		c.Missing("rego", "")
	}
	source := c.Text("rego")
	c.Done()
	if source == nil {
		return nil
	}
	body := decodeRegoBody(r.d, c.Field("rego").Key, source)
	if body != nil {
		body.AllValues = all
	}
	return body
}

var windowForm = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

// limits reads the limits of a RateLimitPolicy or a TokenRateLimitPolicy.
func (r *ruleReader) limits(c *syntax.Cursor) {
	r.each(c, "limits", func(f *syntax.Field) {
		if inner := r.d.Cursor(f.Value, "a limit", false); inner != nil {
			inner.At = f.Key
			r.rates(inner)
			counters, _ := inner.List("counters")
			for _, n := range counters {
				r.counter(n)
			}
			if when := inner.Field("when"); when != nil && !when.Value.IsNull() {
				r.conditions(when)
			}
			inner.Done()
		}
		r.add("limits."+f.Key.Value, f, nil)
	})
}

func (r *ruleReader) rates(c *syntax.Cursor) {
	items, _ := c.List("rates")
	for _, n := range items {
		rate := r.d.Cursor(n, "a rate", false)
		if rate == nil {
			continue
		}
		if rate.Value("limit") == nil {
			rate.Missing("limit", "")
		}
		rate.Integer("limit", 0, syntax.MaxInteger)
		if window := rate.Required("window"); window != nil && !windowForm.MatchString(window.Value) {
			r.d.Fail(window, diag.Value, "write it like 10s, 1m or 24h", "window %s must be a duration", syntax.Quote(window.Value))
		}
		rate.Done()
	}
}

func (r *ruleReader) counter(n *syntax.Node) {
	c := r.d.Cursor(n, "a counter", false)
	if c == nil {
		return
	}
	if f := c.Field("expression"); f != nil && !f.Value.IsNull() {
		decodeCel(r.d, f.Key, f.Value, cel.CheckCounter)
	} else {
		c.Missing("expression", "")
	}
	c.Done()
}
