package decision

// Names are what the request's principal goes by: its user, and its service
// account where both parts of that are given.
func (r *VisibilityRequest) Names() []string {
	var names []string
	if r.User != "" {
		names = append(names, r.User)
	}
	if a := r.ServiceAccount; a.Namespace != "" && a.Name != "" {
		names = append(names, "system:serviceaccount:"+a.Namespace+":"+a.Name)
	}
	return names
}

// IsCustom reports whether the request is of a custom type, and not of the cluster
// itself or a standard one.
func (r *VisibilityRequest) IsCustom() bool {
	switch r.Type {
	case "", "nodes", "namespaces", "operators", "pods", "alerts", "events":
		return false
	}
	return true
}
