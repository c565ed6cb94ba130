package decision

// metrics are an object whose totals are numbers and whose byNamespace and byNode
// hold records. Nothing reads its other parts.
func metrics(key string, value Value) (map[string]any, error) {
	err := parts(key, value, func(part string, member Value) error {
		name := key + "." + part
		switch part {
		case "totals":
			return parts(name, member, func(metric string, number Value) error {
				return optionalNumber(name, metric, number)
			})
		case "byNamespace", "byNode":
			return parts(name, member, func(of string, content Value) error {
				if err := record(part == "byNode", content); err != nil {
					return invalid(name, "record %s: %s", shown(of), AsInvalidRequest(err).Message)
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return object(key, value)
}

// record checks a record of a namespace or a node: labels, of a node whether it is
// ready and its roles, and numbers under any other key.
func record(node bool, value Value) error {
	if !value.IsObject() {
		return invalid("", "it is no JSON object")
	}
	for key, member := range value.Members() {
		var err error
		switch {
		case key == "labels":
			_, err = textMap(key, member)
		case node && key == "roles":
			_, err = texts(key, member)
		case node && key == "ready":
			if !member.IsBool() && !member.IsNull() {
				err = invalid(key, "key %q must be a boolean", key)
			}
		default:
			err = optionalNumber(key, key, member)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// optionalNumber refuses what is neither a number nor null.
func optionalNumber(field, key string, value Value) error {
	if value.IsNumber() || value.IsNull() {
		return nil
	}
	return invalid(field, "key %s must be a number", shown(key))
}
