package decision

// metrics are an object whose totals are numbers and whose byNamespace and byNode
// hold records. Nothing reads its other parts.
func metrics(key string, value Value) (map[string]any, error) {
	err := parts(key, value, func(part string, member Value) error {
		name := key + "." + part
		switch part {
		case "totals":
			return parts(name, member, func(metric string, number Value) error {
				return within(name, optionalNumber(metric, number))
			})
		case "byNamespace", "byNode":
			return parts(name, member, func(of string, content Value) error {
				return within(name, inRecord(of, record(part == "byNode", content)))
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
		return invalid("", "it is not a JSON object")
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
			err = optionalNumber(key, member)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// optionalNumber refuses what is neither a number nor null.
func optionalNumber(key string, value Value) error {
	if value.IsNumber() || value.IsNull() {
		return nil
	}
	return invalid(key, "key %s must be a number", shown(key))
}

// within and inRecord say where an error is.
func within(field string, err error) error {
	if err == nil {
		return nil
	}
	return invalid(field, "%s: %s", field, AsInvalidRequest(err).Message)
}

func inRecord(name string, err error) error {
	if err == nil {
		return nil
	}
	return invalid(name, "record %s: %s", shown(name), AsInvalidRequest(err).Message)
}
