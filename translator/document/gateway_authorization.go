package document

import "github.com/writ-policy/writ/translator/diag"

// authorization reads a rule of authorization. One with mistakes is a list of no
// conditions, so that there is always one method.
func (r *ruleReader) authorization(f *field) *Authorization {
	head, _ := r.rule(f, "a rule of authorization", authorizationMethods, nil)
	out := &Authorization{When: head.when, Priority: head.priority}
	switch head.method {
	case "patternMatching":
		if c := r.inside(head); c != nil {
			if patterns := c.field("patterns"); patterns != nil && !patterns.value.isNull() {
				conditions := r.conditions(patterns)
				out.Patterns = &conditions
			} else {
				c.missing("patterns", "write patterns: [{predicate: CEL}]")
			}
			c.done()
		}
	case "opa":
		out.Rego = r.opa(head)
	case "kubernetesSubjectAccessReview":
		out.Review = r.review(head)
	case "spicedb":
		r.d.fail(head.key, diag.Unsupported, "", "spicedb needs the network: it is not supported")
	}
	if out.Patterns == nil && out.Rego == nil && out.Review == nil {
		out.Patterns = &[]Condition{}
	}
	return out
}

// inside is a cursor over the fields of a rule's method.
func (r *ruleReader) inside(head ruleHead) *cursor {
	c := r.d.cursor(head.value, head.method, false)
	if c != nil {
		c.at = head.key
	}
	return c
}

// review reads kubernetesSubjectAccessReview.
func (r *ruleReader) review(head ruleHead) *AccessReview {
	out := &AccessReview{}
	c := r.inside(head)
	if c == nil {
		return out
	}
	out.User, out.AuthorizationGroups = r.value(c, "user"), r.value(c, "authorizationGroups")
	groups, _ := c.texts("groups")
	out.Groups = values(groups)
	if a := c.mapping("resourceAttributes"); a != nil {
		out.Resource = &ResourceAttributes{
			Group: r.value(a, "group"), Resource: r.value(a, "resource"), Subresource: r.value(a, "subresource"),
			Name: r.value(a, "name"), Namespace: r.value(a, "namespace"), Verb: r.value(a, "verb"),
		}
		a.done()
	}
	c.done()
	return out
}

// opa reads the rule whose method is Rego.
func (r *ruleReader) opa(head ruleHead) *RegoBody {
	c := r.inside(head)
	if c == nil {
		return nil
	}
	all, _ := c.boolean("allValues", false)
	if external := c.field("externalPolicy"); external != nil && !external.value.isNull() {
		r.d.fail(external.key, diag.Unsupported, "write the policy into rego", "externalPolicy needs the network: it is not supported")
	} else if c.value("rego") == nil {
		c.missing("rego", "")
	}
	source := c.text("rego")
	c.done()
	if source == nil {
		return nil
	}
	body := r.d.regoBody(c.field("rego").key, source)
	if body != nil {
		body.AllValues = all
	}
	return body
}
