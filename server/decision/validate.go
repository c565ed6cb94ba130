package decision

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
