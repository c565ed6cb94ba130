package kubernetes

import (
	"unicode/utf8"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// Version is a version of the SubjectAccessReview.
type Version struct {
	apiVersion string
	groups     string // the key of spec that holds the groups
}

// The versions.
var (
	V1      = Version{"authorization.k8s.io/v1", "groups"}
	V1beta1 = Version{"authorization.k8s.io/v1beta1", "group"}
)

// request reads a review into r. The cause is why a well-formed review cannot be
// evaluated.
func (v Version) request(value decision.Value, r *decision.Request) (cause string, refused *exchange.Refusal) {
	if !value.IsObject() {
		return "", exchange.BadRequest("", "the body is not a JSON object")
	}
	if !utf8.ValidString(r.Cluster) {
		return "", exchange.BadRequest("", "the cluster of the path is not UTF-8")
	}
	var kind, apiVersion string
	var spec, metadata decision.Value
	for key, member := range value.Members() {
		switch key {
		case "kind":
			kind, _ = member.Text()
		case "apiVersion":
			apiVersion, _ = member.Text()
		case "metadata":
			metadata = member
		case "spec":
			spec = member
		}
	}
	if kind != "SubjectAccessReview" {
		return "", exchange.BadRequest("kind", `"kind" must be SubjectAccessReview`)
	}
	if apiVersion != v.apiVersion {
		return "", exchange.BadRequest("apiVersion", `"apiVersion" must be `+v.apiVersion)
	}
	if refused := checkMetadata(metadata); refused != nil {
		return "", refused
	}
	if spec.IsNull() {
		return "the review has no spec", nil
	}
	if !spec.IsObject() {
		return "", exchange.BadRequest("spec", `"spec" must be an object`)
	}
	return v.spec(spec, r)
}

// checkMetadata refuses metadata of other types than an API server decodes. Its values
// have no effect.
func checkMetadata(metadata decision.Value) *exchange.Refusal {
	f := exchange.Reader{}
	members := f.Object("metadata", metadata).Members()
	f.Under = "metadata."
	for key, member := range members {
		switch key {
		case "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp":
			f.Text(key, member)
		case "labels", "annotations":
			for _, value := range f.Object(key, member).Members() {
				f.Text(key, value)
			}
		case "finalizers":
			for _, element := range f.Elements(key, member) {
				f.Text(key, element)
			}
		case "ownerReferences", "managedFields":
			for _, element := range f.Elements(key, member) {
				f.Object(key, element)
			}
		}
	}
	return f.Refused
}

func (v Version) spec(spec decision.Value, r *decision.Request) (cause string, refused *exchange.Refusal) {
	f := reader{exchange.Reader{Under: "spec."}}
	var resource, path decision.Value
	for key, member := range spec.Members() {
		switch key {
		case "user":
			r.User = f.Text(key, member)
		case v.groups:
			r.Groups = f.Texts(key, member)
		case "extra":
			r.Extra = f.TextsMap(key, member)
		case "uid":
			attribute(r, "uid", f.Text(key, member))
		case "resourceAttributes":
			resource = f.Object(key, member)
		case "nonResourceAttributes":
			path = f.Object(key, member)
		}
	}
	if (resource.IsAbsent()) == (path.IsAbsent()) && f.Refused == nil {
		return "the review must have one of resourceAttributes and nonResourceAttributes", nil
	}
	if !resource.IsAbsent() {
		cause = f.resourceAttributes(resource, r)
	}
	if !path.IsAbsent() {
		f.Under = "spec.nonResourceAttributes."
		for key, member := range path.Members() {
			switch key {
			case "path":
				r.Path = f.Text(key, member)
			case "verb":
				r.Verb = f.Text(key, member)
			}
		}
	}
	return cause, f.Refused
}

// reader reads the parts of a review.
type reader struct{ exchange.Reader }

func (f *reader) resourceAttributes(value decision.Value, r *decision.Request) (cause string) {
	f.Under = "spec.resourceAttributes."
	for key, member := range value.Members() {
		switch key {
		case "verb":
			r.Verb = f.Text(key, member)
		case "group":
			r.APIGroup = f.Text(key, member)
		case "version":
			attribute(r, "version", f.Text(key, member))
		case "resource":
			r.Resource = f.Text(key, member)
		case "subresource":
			r.Subresource = f.Text(key, member)
		case "namespace":
			r.Namespace = f.Text(key, member)
		case "name":
			r.Name = f.Text(key, member)
		case "fieldSelector", "labelSelector":
			list, both := f.selector(key, f.Object(key, member))
			if both {
				cause = key + " must not have rawSelector beside requirements"
			}
			if len(list) > 0 {
				attribute(r, key, list)
			}
		}
	}
	return cause
}

// attribute keeps a fact for extensions, unless it is empty.
func attribute(r *decision.Request, key string, value any) {
	if value == "" {
		return
	}
	if r.Attributes == nil {
		r.Attributes = make(map[string]any, 4)
	}
	r.Attributes[key] = value
}

// selector reads the requirements of a selector. They only narrow a request: one
// that is not understood is left out, which can only be stricter. A raw selector
// is never parsed; both reports one beside requirements.
func (f *reader) selector(key string, value decision.Value) (list []any, both bool) {
	under := f.Under
	defer func() { f.Under = under }()
	f.Under += key + "."
	raw, written := "", false
	for key, member := range value.Members() {
		switch key {
		case "rawSelector":
			raw = f.Text(key, member)
		case "requirements":
			for _, requirement := range f.Elements(key, member) {
				written = true
				if known := f.requirement(requirement); known != nil {
					list = append(list, known)
				}
			}
		}
	}
	return list, raw != "" && written
}

func (f *reader) requirement(value decision.Value) map[string]any {
	var key, operator string
	values := []any{}
	for name, member := range f.Object("requirements", value).Members() {
		switch name {
		case "key":
			key = f.Text(name, member)
		case "operator":
			operator = f.Text(name, member)
		case "values":
			for _, text := range f.Texts(name, member) {
				values = append(values, text)
			}
		}
	}
	switch operator {
	case "In", "NotIn", "Exists", "DoesNotExist":
		return map[string]any{"key": key, "operator": operator, "values": values}
	}
	return nil
}
