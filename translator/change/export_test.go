package change

// Fits reports whether a request of some principals fits a class.
func (r *Report) Fits(k *Class, object map[string]any, principals []string) bool {
	q := request{labels: textMap(object["labels"]), namespaceLabels: textMap(object["namespaceLabels"])}
	for _, member := range textMembers {
		*member.of(&q), _ = object[member.name].(string)
	}
	fits := func(m *member) bool { return m.s.holds(principals) && m.s.fits(&q) }
	found := r.found[k.ID]
	for _, list := range found.all {
		one := false
		for _, m := range list {
			one = one || fits(m)
		}
		if !one {
			return false
		}
	}
	for _, m := range found.except {
		if fits(m) {
			return false
		}
	}
	return true
}
