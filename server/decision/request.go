// Package decision holds what every endpoint has in common: points, requests,
// decisions and Policies, which turns one into the other. It knows neither OPA nor
// any protocol.
//
// Not part of the promised API; see package writ.
package decision

// Point names what is decided.
type Point string

// The points.
const (
	Access     Point = "access"
	Visibility Point = "visibility"
	Gateway    Point = "gateway"
)

// Request is a request at the access point, in the canonical form of every
// protocol. Where "not known" and "known to be empty" differ, nil means not known.
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
	// Path is set for a non-resource URL; then the resource attributes are empty.
	Path       string
	Cluster    string
	Tenant     string
	Session    string
	Escalation string
	// Fields are the fields a mutating request changes; nil means not known.
	Fields []string
	// Labels are the object's; nil means not known.
	Labels map[string]string
	// NamespaceLabels are the namespace's; nil means not known.
	NamespaceLabels map[string]string
	// Pod is the whole pod as JSON values (numbers are json.Number); nil means
	// not known.
	Pod map[string]any
	// PodError says why the pod could not be fetched.
	PodError string
	// Attributes are facts for extensions (numbers are json.Number).
	Attributes map[string]any
}

// Validate checks what the types of r leave open: for requests that the
// adapters of other protocols build. The error is an *InvalidRequest.
func (r *Request) Validate() error {
	if r.User == "" && len(r.Groups) == 0 {
		return invalid("user", `key "user" may be empty only where "groups" is not`)
	}
	return r.ValidateAction()
}

// ValidateAction is Validate for a request without a subject, as who-can takes.
func (r *Request) ValidateAction() error {
	switch {
	case r.Verb == "":
		return invalid("verb", `key "verb" must be a string that is not empty`)
	case r.Resource == "" && r.Path == "":
		return invalid("resource", `one of the keys "resource" and "path" must be given`)
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
