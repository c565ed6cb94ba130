package decision

// Decode reads a request at the access point in its canonical form. It is strict:
// keys are compared exactly, and unknown keys are rejected. The error is an
// *InvalidRequest that names the key.
func Decode(data []byte) (*Request, error) {
	value, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return fromValue(value)
}

// fromValue is Decode for a parsed body. The error is an *InvalidRequest.
func fromValue(value Value) (*Request, error) {
	if !value.IsObject() {
		return nil, invalid("", "the request is not a JSON object")
	}
	r := &Request{}
	hasUser := false
	for key, member := range value.Members() {
		hasUser = hasUser || key == "user"
		if err := r.parseMember(key, member); err != nil {
			return nil, firstProblem(value, accessKeys, new(Request).parseMember)
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
		r.Groups, err = parseTexts(key, value)
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
		if r.Attributes, err = parseObject(key, value); len(r.Attributes) == 0 {
			r.Attributes = nil
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

// parseTexts returns nil for null, and a list that is not nil for any array.
func parseTexts(key string, value Value) ([]string, error) {
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

func parseTextMap(key string, value Value) (map[string]string, error) {
	if value.IsNull() {
		return nil, nil
	}
	if !value.IsObject() {
		return nil, invalid(key, "key %q must be an object of strings", key)
	}
	entries := map[string]string{}
	var wrong names
	for name, member := range value.Members() {
		text, ok := member.Text()
		if !ok {
			wrong.add(name)
		}
		entries[name] = text
	}
	if wrong.any {
		return nil, invalid(key, "key %q must be an object of strings; the value of %s is not a string", key, quoteKey(wrong.first))
	}
	return entries, nil
}

// names keeps the first of names in the order of their bytes.
type names struct {
	first string
	any   bool
}

func (n *names) add(name string) {
	if !n.any || name < n.first {
		n.first, n.any = name, true
	}
}

func parseTextsMap(key string, value Value) (map[string][]string, error) {
	if value.IsNull() {
		return nil, nil
	}
	if !value.IsObject() {
		return nil, invalid(key, "key %q must be an object of lists of strings", key)
	}
	var entries map[string][]string
	var wrong names
	for name, member := range value.Members() {
		list, err := parseTexts(key, member)
		if err != nil || list == nil {
			wrong.add(name)
		}
		if entries == nil {
			entries = map[string][]string{}
		}
		entries[name] = list
	}
	if wrong.any {
		return nil, invalid(key, "key %q must be an object of lists of strings; the value of %s is not a list of strings", key, quoteKey(wrong.first))
	}
	return entries, nil
}

func parseObject(key string, value Value) (map[string]any, error) {
	if value.IsNull() {
		return nil, nil
	}
	if !value.IsObject() {
		return nil, invalid(key, "key %q must be an object", key)
	}
	return value.Any().(map[string]any), nil
}
