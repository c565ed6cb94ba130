package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Request is a canonical access request. For Fields, Labels, NamespaceLabels and
// Pod nil means not known; in JSON they are then left out.
type Request struct {
	User        string
	Groups      []string
	Verb        string
	APIGroup    string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	Path        string
	Cluster     string
	Tenant      string
	Session     string
	Escalation  string
	Extra       map[string][]string
	Fields      []string
	Labels      map[string]string
	// NamespaceLabels are those of the request's namespace.
	NamespaceLabels map[string]string
	Pod             map[string]any
	PodError        string
	Attributes      map[string]any
}

// JSON is the request as every canonical endpoint takes it, keys in a fixed order.
func (r Request) JSON() string {
	var out bytes.Buffer
	out.WriteString(`{"user":`)
	Put(&out, r.User)
	field := func(key string, value any, known bool) {
		if !known {
			return
		}
		out.WriteString(`,"` + key + `":`)
		Put(&out, value)
	}
	field("groups", r.Groups, len(r.Groups) > 0)
	field("verb", r.Verb, true)
	field("apiGroup", r.APIGroup, r.APIGroup != "")
	field("resource", r.Resource, r.Resource != "")
	field("subresource", r.Subresource, r.Subresource != "")
	field("namespace", r.Namespace, r.Namespace != "")
	field("name", r.Name, r.Name != "")
	field("path", r.Path, r.Path != "")
	field("cluster", r.Cluster, r.Cluster != "")
	field("tenant", r.Tenant, r.Tenant != "")
	field("session", r.Session, r.Session != "")
	field("escalation", r.Escalation, r.Escalation != "")
	field("extra", r.Extra, len(r.Extra) > 0)
	field("fields", r.Fields, r.Fields != nil)
	field("labels", r.Labels, r.Labels != nil)
	field("namespaceLabels", r.NamespaceLabels, r.NamespaceLabels != nil)
	field("pod", r.Pod, r.Pod != nil)
	field("podError", r.PodError, r.PodError != "")
	field("attributes", r.Attributes, len(r.Attributes) > 0)
	out.WriteByte('}')
	return out.String()
}

// Put writes value as JSON without escaping HTML.
func Put(out *bytes.Buffer, value any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // only strings, lists and maps of them come here
	}
	out.Truncate(out.Len() - 1)
}

// Valid returns why a request is invalid, nil if it is valid.
func (r Request) Valid() error {
	switch {
	case r.User == "" && len(r.Groups) == 0:
		return errors.New("neither user nor groups")
	case r.Verb == "":
		return errors.New("no verb")
	case (r.Resource == "") == (r.Path == ""):
		return errors.New("exactly one of resource and path")
	case strings.Contains(r.Resource, "/"):
		return errors.New("a slash in the resource")
	case r.Path != "" && (r.APIGroup != "" || r.Subresource != "" || r.Namespace != "" || r.Name != ""):
		return errors.New("a path beside resource attributes")
	}
	return nil
}

// Is reports whether the request comes from that user. An empty user matches no name.
func (r Request) Is(user string) bool { return r.User != "" && r.User == user }

// In reports whether the request comes from a member of that group.
func (r Request) In(group string) bool { return slices.Contains(r.Groups, group) }
