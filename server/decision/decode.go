package decision

// Decode reads a request at the access point in its canonical form. Every rule
// of the request is checked: keys are compared exactly, a key the point does not
// have is refused. The error is an *InvalidRequest that names the key.
func Decode(data []byte) (*Request, error) {
	value, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return FromValue(value)
}

// FromValue is Decode for a parsed body. The error is an *InvalidRequest.
func FromValue(value Value) (*Request, error) {
	if !value.IsObject() {
		return nil, invalid("", "the request is not a JSON object")
	}
	r := &Request{}
	hasUser := false
	for key, member := range value.Members() {
		hasUser = hasUser || key == "user"
		if err := r.set(key, member); err != nil {
			return nil, err
		}
	}
	if !hasUser {
		return nil, invalid("user", `key "user" is missing`)
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Request) set(key string, value Value) (err error) {
	if field := r.text(key); field != nil {
		// null is absent, and a user has to be written.
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
		r.Groups, err = texts(key, value)
		if len(r.Groups) == 0 {
			r.Groups = nil
		}
	case "fields":
		r.Fields, err = texts(key, value)
	case "labels":
		r.Labels, err = textMap(key, value)
	case "namespaceLabels":
		r.NamespaceLabels, err = textMap(key, value)
	case "extra":
		r.Extra, err = textsMap(key, value)
	case "pod":
		r.Pod, err = object(key, value)
	case "attributes":
		if r.Attributes, err = object(key, value); len(r.Attributes) == 0 {
			r.Attributes = nil
		}
	default:
		return invalid(key, "unknown key %s", shown(key))
	}
	return err
}

// text is the field of a key whose value is a string, nil for other keys.
func (r *Request) text(key string) *string {
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

// texts is nil for null and not nil for a list, be it empty.
func texts(key string, value Value) ([]string, error) {
	if value.IsNull() {
		return nil, nil
	}
	if !value.IsArray() {
		return nil, invalid(key, "key %q must be a list of strings", key)
	}
	list := []string{}
	for element := range value.Elements() {
		text, ok := element.Text()
		if !ok {
			return nil, invalid(key, "key %q must be a list of strings; element %d is not a string", key, len(list))
		}
		list = append(list, text)
	}
	return list, nil
}

func textMap(key string, value Value) (map[string]string, error) {
	if value.IsNull() {
		return nil, nil
	}
	if !value.IsObject() {
		return nil, invalid(key, "key %q must be an object of strings", key)
	}
	entries := map[string]string{}
	for name, member := range value.Members() {
		text, ok := member.Text()
		if !ok {
			return nil, invalid(key, "key %q must be an object of strings; the value of %s is not a string", key, shown(name))
		}
		entries[name] = text
	}
	return entries, nil
}

func textsMap(key string, value Value) (map[string][]string, error) {
	if value.IsNull() {
		return nil, nil
	}
	if !value.IsObject() {
		return nil, invalid(key, "key %q must be an object of lists of strings", key)
	}
	var entries map[string][]string
	for name, member := range value.Members() {
		list, err := texts(key, member)
		if err != nil || list == nil {
			return nil, invalid(key, "key %q must be an object of lists of strings; the value of %s is not a list of strings", key, shown(name))
		}
		if entries == nil {
			entries = map[string][]string{}
		}
		entries[name] = list
	}
	return entries, nil
}

func object(key string, value Value) (map[string]any, error) {
	if value.IsNull() {
		return nil, nil
	}
	if !value.IsObject() {
		return nil, invalid(key, "key %q must be an object", key)
	}
	return value.Any().(map[string]any), nil
}
