package decision

// Names returns the names of the request's principal: its user, and its service
// account if both parts of that are set.
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
