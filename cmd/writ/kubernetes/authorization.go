package kubernetes

import (
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// authorizer is an authorizer of an AuthorizationConfiguration. Those that are not webhooks
// have a type and a name alone.
type authorizer struct {
	kind, name, at                   string
	timeout, authorized, denied      duration
	cacheAuthorized                  bool
	review, conditionReview, failure text
	connection, kubeconfig           text
	conditions                       []text
}

// text is a string of the file with its place.
type text struct{ value, at string }

// duration is a duration of the file with its place, which is that of the webhook if the
// file does not state it.
type duration struct {
	value    time.Duration
	at       string
	isStated bool
}

const webhookType = "Webhook"

// Defaults of an API server.
const (
	defaultAuthorizedTTL   = 5 * time.Minute
	defaultUnauthorizedTTL = 30 * time.Second
)

// readAuthorizers decodes an AuthorizationConfiguration. What it could not decode is in the
// diagnostics.
func readAuthorizers(path string, content []byte) (list []authorizer, diagnostics diag.List) {
	d, root := syntax.Parse(path, content)
	if root == nil {
		if len(d.Diags) == 0 {
			d.Add(diag.Diagnostic{Position: diag.Position{File: path, Line: 1, Column: 1}, Message: "the file is empty"})
		}
		for i := range d.Diags {
			d.Diags[i].Hint = "write one YAML document"
		}
		return list, d.Diags
	}
	c := d.Cursor(root, "the file", false)
	if c == nil {
		return list, d.Diags
	}
	if n := c.Required("kind"); n != nil && n.Value != "AuthorizationConfiguration" {
		d.Fail(n, diag.BadValue, "", "kind must be AuthorizationConfiguration, not %s", syntax.Quote(n.Value))
	}
	if n := c.Required("apiVersion"); n != nil && n.Value != "apiserver.config.k8s.io/v1" && n.Value != "apiserver.config.k8s.io/v1beta1" {
		d.Fail(n, diag.BadValue, "write apiserver.config.k8s.io/v1", "apiVersion %s is not served", syntax.Quote(n.Value))
	}
	for _, item := range c.FilledList("authorizers") {
		if inner := d.Cursor(item, "an authorizer", false); inner != nil {
			list = append(list, readAuthorizer(inner))
		}
	}
	c.Done()
	return list, d.Diags
}

func readAuthorizer(c *syntax.Cursor) authorizer {
	a := authorizer{kind: textOf(c, "type").value, name: textOf(c, "name").value, at: c.Decoder.At(c.Node).String()}
	w := c.Mapping("webhook")
	c.Done()
	if w == nil {
		return a
	}
	a.timeout = durationOf(w, "timeout", 0)
	a.authorized = durationOf(w, "authorizedTTL", defaultAuthorizedTTL)
	a.denied = durationOf(w, "unauthorizedTTL", defaultUnauthorizedTTL)
	a.cacheAuthorized = true
	if value, at := w.Boolean("cacheAuthorizedRequests", false); at != nil {
		a.cacheAuthorized = value
	}
	w.Boolean("cacheUnauthorizedRequests", false)
	a.review, a.conditionReview = textOf(w, "subjectAccessReviewVersion"), textOf(w, "matchConditionSubjectAccessReviewVersion")
	a.failure = textOf(w, "failurePolicy")
	if info := w.Mapping("connectionInfo"); info != nil {
		a.connection, a.kubeconfig = textOf(info, "type"), textOf(info, "kubeConfigFile")
		info.Done()
	}
	conditions, _ := w.List("matchConditions")
	for _, item := range conditions {
		if inner := w.Decoder.Cursor(item, "a match condition", false); inner != nil {
			a.conditions = append(a.conditions, textOf(inner, "expression"))
			inner.Done()
		}
	}
	w.Done()
	return a
}

// textOf returns a string, at the mapping if it is absent.
func textOf(c *syntax.Cursor, name string) text {
	n := c.Text(name)
	if n == nil {
		return text{at: c.Decoder.At(c.At).String()}
	}
	return text{n.Value, c.Decoder.At(n).String()}
}

func durationOf(c *syntax.Cursor, name string, otherwise time.Duration) duration {
	n := c.Text(name)
	if n == nil {
		return duration{otherwise, c.Decoder.At(c.At).String(), false}
	}
	value, err := time.ParseDuration(n.Value)
	if err != nil {
		c.Fail(n, diag.BadValue, "write a duration such as 3s", "%s must be a duration, not %s", name, syntax.Quote(n.Value))
	}
	return duration{value, c.Decoder.At(n).String(), true}
}
