package decision

// parseTexts returns nil for null, and a list that is not nil for any array.
func parseTexts(key string, value Value) ([]string, error) { return appendTexts(nil, key, value) }

// appendTexts is parseTexts with room for the list.
func appendTexts(list []string, key string, value Value) ([]string, error) {
	if value.IsNull() {
		return nil, nil
	}
	if !value.IsArray() {
		return nil, invalid(key, "key %q must be a list of strings", key)
	}
	if list == nil {
		list = make([]string, 0, 4) // most requests have fewer groups
	}
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
