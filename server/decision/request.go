// Package decision defines the types that all endpoints share: points, requests,
// decisions, and the interface Policies, which decides requests. It depends neither
// on OPA nor on any protocol.
//
// Not part of the promised API; see package writ.
package decision

import "strings"

// Request is a request at the access point, in the canonical form that all protocols
// are converted to. For fields where unknown differs from empty, nil means unknown.
type Request struct {
	User        string
	Groups      []string
	Extra       map[string][]string
	Verb        string
	APIGroup    string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	// Path is the path of a non-resource URL; the resource attributes are empty then.
	Path       string
	Cluster    string
	Tenant     string
	Session    string
	Escalation string
	// Fields lists the fields that a mutating request changes; nil means unknown.
	Fields []string
	// Labels are the labels of the object; nil means unknown.
	Labels map[string]string
	// NamespaceLabels are the labels of the namespace; nil means unknown.
	NamespaceLabels map[string]string
	// Pod is the whole pod as JSON values (numbers are json.Number); nil means
	// unknown.
	Pod map[string]any
	// PodError describes why the pod could not be fetched.
	PodError string
	// Attributes are facts for extensions (numbers are json.Number).
	Attributes map[string]any
}

// Validate checks the rules that the types of r cannot express. Adapters that build
// a request call it. The error is an *InvalidRequest.
func (r *Request) Validate() error {
	if r.User == "" && len(r.Groups) == 0 {
		return invalid("user", `key "user" may be empty only where "groups" is not`)
	}
	return r.validateAction()
}

// validateAction is like Validate for a request without a subject, as WhoCan takes it.
func (r *Request) validateAction() error {
	switch {
	case r.Verb == "":
		return invalid("verb", `key "verb" must be a string that is not empty`)
	case r.Resource == "" && r.Path == "":
		return invalid("resource", `one of the keys "resource" and "path" must be given`)
	case strings.Contains(r.Resource, "/"):
		return invalid("resource", `resource must not contain "/": put the part after it in subresource`)
	case r.Path == "":
		return nil
	}
	for _, beside := range [...]struct{ key, value string }{
		{"resource", r.Resource}, {"apiGroup", r.APIGroup}, {"subresource", r.Subresource},
		{"namespace", r.Namespace}, {"name", r.Name},
	} {
		if beside.value != "" {
			return invalid(beside.key, `key %q must be empty beside "path"`, beside.key)
		}
	}
	return nil
}
