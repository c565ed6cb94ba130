package decision

// DecodeVisibility reads a request at the visibility point in its canonical form,
// as strictly as Decode: a key the point does not have and a value of a wrong type
// are refused, by an *InvalidRequest that names the key. In labels, items and the
// cluster null is absent, as it is everywhere.
func DecodeVisibility(data []byte) (*VisibilityRequest, error) {
	value, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return VisibilityFromValue(value)
}

// VisibilityFromValue is DecodeVisibility for a parsed body. The error is an
// *InvalidRequest.
func VisibilityFromValue(value Value) (*VisibilityRequest, error) {
	if !value.IsObject() {
		return nil, invalid("", "the request is not a JSON object")
	}
	r := &VisibilityRequest{}
	for key, member := range value.Members() {
		if err := r.set(key, member); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *VisibilityRequest) set(key string, value Value) (err error) {
	switch key {
	case "user":
		r.User, err = optionalText(key, value)
	case "action":
		r.Action, err = optionalText(key, value)
	case "type":
		r.Type, err = optionalText(key, value)
	case "groups":
		r.Groups, err = texts(key, value)
	case "serviceAccount":
		r.ServiceAccount, err = serviceAccount(key, value)
	case "cluster":
		r.Cluster, err = cluster(key, value)
	case "items":
		r.Items, err = items(key, value)
	case "aggregations":
		r.Aggregations, err = object(key, value)
	case "metrics":
		r.Metrics, err = metrics(key, value)
	default:
		return invalid(key, "unknown key %s", shown(key))
	}
	return err
}

// optionalText is empty for null.
func optionalText(key string, value Value) (string, error) {
	text, ok := value.Text()
	if !ok && !value.IsNull() {
		return "", invalid(key, "key %q must be a string", key)
	}
	return text, nil
}

// parts refuses what is neither an object nor null, and reads each member.
func parts(key string, value Value, read func(name string, member Value) error) error {
	if value.IsNull() {
		return nil
	}
	if !value.IsObject() {
		return invalid(key, "key %q must be an object", key)
	}
	for name, member := range value.Members() {
		if err := read(name, member); err != nil {
			return err
		}
	}
	return nil
}

func serviceAccount(key string, value Value) (a ServiceAccount, err error) {
	err = parts(key, value, func(name string, member Value) (err error) {
		switch name {
		case "namespace":
			a.Namespace, err = optionalText(key+".namespace", member)
		case "name":
			a.Name, err = optionalText(key+".name", member)
		}
		return err
	})
	return a, err
}

func cluster(key string, value Value) (c Cluster, err error) {
	err = parts(key, value, func(name string, member Value) (err error) {
		switch name {
		case "name":
			c.Name, err = optionalText(key+".name", member)
		case "labels":
			c.Labels, err = textMap(key+".labels", member)
		}
		return err
	})
	return c, err
}

func items(key string, value Value) (*[]Item, error) {
	if value.IsNull() {
		return nil, nil
	}
	if !value.IsArray() {
		return nil, invalid(key, "key %q must be a list of objects", key)
	}
	list := []Item{}
	for element := range value.Elements() {
		item, err := itemFromValue(element)
		if err != nil {
			return nil, inItem(len(list), err)
		}
		list = append(list, item)
	}
	return &list, nil
}

// inItem says which item an error is of, counted from 0.
func inItem(index int, err error) *InvalidRequest {
	return invalid("items", "item %d: %s", index, AsInvalidRequest(err).Message)
}

// DecodeItem decodes one item of a stream. The error is an *InvalidRequest.
func DecodeItem(data []byte) (Item, error) {
	value, err := Parse(data)
	if err != nil {
		return Item{}, err
	}
	return itemFromValue(value)
}

func itemFromValue(value Value) (item Item, err error) {
	if !value.IsObject() {
		return item, invalid("", "the item is not a JSON object")
	}
	for key, member := range value.Members() {
		switch key {
		case "name":
			item.Name, err = optionalText(key, member)
		case "namespace":
			item.Namespace, err = optionalText(key, member)
		case "labels":
			item.Labels, err = textMap(key, member)
		case "fields":
			item.Fields, err = object(key, member)
		}
		if err != nil {
			return Item{}, err
		}
	}
	return item, nil
}
