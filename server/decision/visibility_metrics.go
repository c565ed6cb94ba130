package decision

// parseMetrics reads an object whose totals are numbers and whose byNamespace and
// byNode hold records. Other members are accepted and ignored.
func parseMetrics(key string, value Value) (map[string]any, error) {
	err := parseMembers(key, value, func(part string, member Value) error {
		name := key + "." + part
		switch part {
		case "totals":
			return parseMembers(name, member, func(metric string, number Value) error {
				return inField(name, checkOptionalNumber(metric, number))
			})
		case "byNamespace", "byNode":
			return parseMembers(name, member, func(of string, content Value) error {
				return inField(name, inRecord(of, checkRecord(part == "byNode", content)))
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return parseObject(key, value)
}

// checkRecord checks the record of a namespace or a node: labels, for a node also
// ready and roles, and numbers under all other keys.
func checkRecord(node bool, value Value) error {
	if !value.IsObject() {
		return invalid("", "it is not a JSON object")
	}
	var problem error
	for key, member := range value.Members() {
		var err error
		switch {
		case key == "labels":
			_, err = parseTextMap(key, member)
		case node && key == "roles":
			_, err = parseTexts(key, member)
		case node && key == "ready":
			if !member.IsBool() && !member.IsNull() {
				err = invalid(key, "key %q must be a boolean", key)
			}
		default:
			err = checkOptionalNumber(key, member)
		}
		problem = least(problem, err)
	}
	return problem
}

// checkOptionalNumber returns an error if value is neither a number nor null.
func checkOptionalNumber(key string, value Value) error {
	if value.IsNumber() || value.IsNull() {
		return nil
	}
	return invalid(key, "key %s must be a number", quoteKey(key))
}

// inField and inRecord add the position of an error; nil stays nil.
func inField(field string, err error) error {
	if err == nil {
		return nil
	}
	return invalid(field, "%s: %s", field, AsInvalidRequest(err).Message)
}

func inRecord(name string, err error) error {
	if err == nil {
		return nil
	}
	return invalid(name, "record %s: %s", quoteKey(name), AsInvalidRequest(err).Message)
}
