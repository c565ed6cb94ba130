package decision

// Read replaces r by the request of a parsed body, and reuses the room of its groups. labels adds
// those of its cluster if the body leaves them out. The error is an *InvalidRequest.
func (r *VisibilityRequest) Read(value Value, labels ClusterLabels) error {
	if !value.IsObject() {
		return invalid("", "the request is not a JSON object")
	}
	room := r.Groups[:0]
	*r = VisibilityRequest{}
	for key, member := range value.Members() {
		if key == "groups" {
			r.Groups = room
		}
		if err := r.parseMember(key, member); err != nil {
			return firstProblem(value, visibilityKeys, new(VisibilityRequest).parseMember)
		}
	}
	if c := &r.Cluster; c.Labels == nil && c.Name != "" && labels != nil {
		c.Labels = labels(c.Name)
	}
	return nil
}

func (r *VisibilityRequest) parseMember(key string, value Value) (err error) {
	switch key {
	case "user":
		r.User, err = parseOptionalText(key, value)
	case "action":
		r.Action, err = parseOptionalText(key, value)
	case "type":
		r.Type, err = parseOptionalText(key, value)
	case "groups":
		r.Groups, err = appendTexts(r.Groups, key, value)
	case "serviceAccount":
		r.ServiceAccount, err = parseServiceAccount(value)
	case "cluster":
		r.Cluster, err = parseCluster(value)
	case "items":
		r.Items, err = parseItems(key, value)
	case "aggregations":
		r.Aggregations, err = parseObject(key, value)
	case "metrics":
		r.Metrics, err = parseMetrics(key, value)
	default:
		return errUnknownKey
	}
	return err
}

// parseOptionalText returns "" for null, and an error if value is neither null nor a string.
func parseOptionalText(key string, value Value) (string, error) {
	text, ok := value.Text()
	if !ok && !value.IsNull() {
		return "", invalid(key, "key %q must be a string", key)
	}
	return text, nil
}

// parseMembers calls read for each member of an object. It returns an error if value
// is neither an object nor null, or the least one that read returns.
func parseMembers(key string, value Value, read func(name string, member Value) error) error {
	if value.IsNull() {
		return nil
	}
	if !value.IsObject() {
		return invalid(key, "key %q must be an object", key)
	}
	var problem error
	for name, member := range value.Members() {
		problem = least(problem, read(name, member))
	}
	return problem
}

func parseServiceAccount(value Value) (a ServiceAccount, err error) {
	err = parseMembers("serviceAccount", value, func(name string, member Value) (err error) {
		switch name {
		case "namespace":
			a.Namespace, err = parseOptionalText("serviceAccount.namespace", member)
		case "name":
			a.Name, err = parseOptionalText("serviceAccount.name", member)
		}
		return err
	})
	return a, err
}

func parseCluster(value Value) (c Cluster, err error) {
	err = parseMembers("cluster", value, func(name string, member Value) (err error) {
		switch name {
		case "name":
			c.Name, err = parseOptionalText("cluster.name", member)
		case "labels":
			c.Labels, err = parseTextMap("cluster.labels", member)
		}
		return err
	})
	return c, err
}

func parseItems(key string, value Value) (*[]Item, error) {
	if value.IsNull() {
		return nil, nil
	}
	if !value.IsArray() {
		return nil, invalid(key, "key %q must be a list of objects", key)
	}
	list := []Item{}
	for element := range value.Elements() {
		item, err := parseItem(element)
		if err != nil {
			return nil, itemError(len(list), err)
		}
		list = append(list, item)
	}
	return &list, nil
}

// itemError adds the index of the item, counted from 0, to an error.
func itemError(index int, err error) *InvalidRequest {
	return invalid("items", "item %d: %s", index, AsInvalidRequest(err).Message)
}

func parseItem(value Value) (item Item, problem error) {
	if !value.IsObject() {
		return item, invalid("", "the item is not a JSON object")
	}
	for key, member := range value.Members() {
		var err error
		switch key {
		case "name":
			item.Name, err = parseOptionalText(key, member)
		case "namespace":
			item.Namespace, err = parseOptionalText(key, member)
		case "labels":
			item.Labels, err = parseTextMap(key, member)
		case "fields":
			item.Fields, err = parseObject(key, member)
		}
		problem = least(problem, err)
	}
	if problem != nil {
		return Item{}, problem
	}
	return item, nil
}
