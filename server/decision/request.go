// Package decision defines the types that all endpoints share: points, requests,
// decisions, and the interface Policies, which decides requests. It depends neither
// on OPA nor on any protocol.
package decision

import (
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

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

	implied []string // groups that Completed added
	isAlone bool     // see Alone
}

// Alone returns the request as a principal of a binding alone makes it, or none if the subject
// is empty: it is not about a session, and where it has no pod, pod security is left out.
func (r *Request) Alone(subject string) *Request {
	alone := *r
	alone.User, alone.Groups, alone.isAlone = "", nil, true
	if of := tables.ParseSubject(subject); of.IsGroup {
		alone.Groups = []string{of.Name}
	} else {
		alone.User = of.Name
	}
	return &alone
}

// IsAlone reports whether the request is one of Alone.
func (r *Request) IsAlone() bool { return r.isAlone }

// Scope returns what deny policies are limited by. Its members are those of the request.
func (r *Request) Scope() tables.Scope {
	return tables.Scope{Cluster: r.Cluster, Tenant: r.Tenant, Session: r.Session, Escalation: r.Escalation}
}

// SetScope sets what deny policies are limited by.
func (r *Request) SetScope(s tables.Scope) {
	r.Cluster, r.Tenant, r.Session, r.Escalation = s.Cluster, s.Tenant, s.Session, s.Escalation
}

// Validate checks the rules that the types of r cannot express. Adapters that build
// a request call it. The error is an *InvalidRequest.
func (r *Request) Validate() error {
	if r.User == "" && len(r.Groups) == 0 {
		return invalid("user", `key "user" may be empty only where "groups" is not`)
	}
	return r.validateAction()
}

// validateAction is like Validate for a request without a subject, as Alone takes it.
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

// Decode reads a request of a point in its canonical form. It is strict: keys are compared
// exactly, and unknown keys are rejected; null means absent. The error is an *InvalidRequest that
// names the key.
func Decode[R any, Q readable[R]](data []byte) (Q, error) {
	value, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return requestOf[R, Q](value)
}

// readable is a request that is read of a parsed body.
type readable[R any] interface {
	*R
	Read(Value) error
}

// requestOf reads a request of a parsed body, which must be valid until the request is decided. The
// error is an *InvalidRequest.
func requestOf[R any, Q readable[R]](value Value) (Q, error) {
	r := Q(new(R))
	if err := r.Read(value); err != nil {
		return nil, err
	}
	return r, nil
}

// Read replaces r by the request of a parsed body, and reuses the room of its groups. The error
// is an *InvalidRequest; r must only be read into then.
func (r *Request) Read(value Value) error {
	if !value.IsObject() {
		return invalid("", "the request is not a JSON object")
	}
	room, hasUser := r.Groups[:0], false
	*r = Request{}
	for key, member := range value.Members() {
		switch key {
		case "user":
			hasUser = true
		case "groups":
			r.Groups = room
		}
		if err := r.parseMember(key, member); err != nil {
			return firstProblem(value, accessKeys, new(Request).parseMember)
		}
	}
	if !hasUser {
		return invalid("user", `key "user" is missing`)
	}
	return r.Validate()
}

func (r *Request) parseMember(key string, value Value) (err error) {
	if field := r.stringField(key); field != nil {
		// null means absent, except for the user, which is required.
		if value.IsNull() && key != "user" {
			return nil
		}
		text, ok := value.Text()
		if !ok {
			return invalid(key, "key %q must be a string", key)
		}
		*field = text
		return nil
	}
	switch key {
	case "groups":
		r.Groups, err = appendTexts(r.Groups, key, value)
		if len(r.Groups) == 0 {
			r.Groups = nil
		}
	case "fields":
		r.Fields, err = parseTexts(key, value)
	case "labels":
		r.Labels, err = parseTextMap(key, value)
	case "namespaceLabels":
		r.NamespaceLabels, err = parseTextMap(key, value)
	case "extra":
		r.Extra, err = parseTextsMap(key, value)
	case "pod":
		r.Pod, err = parseObject(key, value)
	case "attributes":
		if !value.IsEmptyObject() { // most requests have one
			r.Attributes, err = parseObject(key, value)
		}
	default:
		return errUnknownKey
	}
	return err
}

// stringField returns the field of a key whose value is a string, nil for other keys.
func (r *Request) stringField(key string) *string {
	switch key {
	case "user":
		return &r.User
	case "verb":
		return &r.Verb
	case "apiGroup":
		return &r.APIGroup
	case "resource":
		return &r.Resource
	case "subresource":
		return &r.Subresource
	case "namespace":
		return &r.Namespace
	case "name":
		return &r.Name
	case "path":
		return &r.Path
	case "cluster":
		return &r.Cluster
	case "tenant":
		return &r.Tenant
	case "session":
		return &r.Session
	case "escalation":
		return &r.Escalation
	case "podError":
		return &r.PodError
	}
	return nil
}
