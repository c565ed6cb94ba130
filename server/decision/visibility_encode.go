package decision

import "strconv"

// AppendJSON appends the decision in the JSON form of its point: keys in a fixed order,
// keys of free-form objects sorted. Lists and objects are never null.
func (d *VisibilityDecision) AppendJSON(b []byte) []byte {
	b = d.appendParts(append(b, '{'))
	b = append(appendInts(append(b, `,"visible":`...), d.Visible), ',')
	return append(d.appendNumbers(b), '}')
}

// MarshalJSON is AppendJSON for encoding/json.
func (d VisibilityDecision) MarshalJSON() ([]byte, error) { return d.AppendJSON(nil), nil }

// AppendJSON appends the authorization as a JSON object: a decision without visible,
// aggregations and metrics.
func (a *Authorization) AppendJSON(b []byte) []byte {
	return append(a.appendParts(append(b, '{')), '}')
}

// appendLastLine appends aggregations and metrics as a JSON object: the last line of a
// stream.
func (d *VisibilityDecision) appendLastLine(b []byte) []byte {
	return append(d.appendNumbers(append(b, '{')), '}')
}

// appendNumbers appends aggregations and metrics as members.
func (d *VisibilityDecision) appendNumbers(b []byte) []byte {
	b = appendObject(append(b, `"aggregations":`...), d.Aggregations)
	return appendObject(append(b, `,"metrics":`...), d.Metrics)
}

// Encode makes the JSON form of its fields, which copies of a share.
func (a *Authorization) Encode() {
	a.Encoded = nil
	a.Encoded = a.appendParts(nil)
}

func (a *Authorization) appendParts(b []byte) []byte {
	if a.Encoded != nil {
		return append(b, a.Encoded...)
	}
	b = appendMember(b, "", "decision", a.Decision)
	b = AppendStrings(append(b, `,"permissions":`...), a.Permissions)
	b = appendMember(b, ",", "policy", a.Policy)
	b = appendMember(b, ",", "reason", a.Reason)
	b = appendObject(append(b, `,"filters":`...), a.Filters)
	b = append(b, `,"matched":[`...)
	for i := range a.Matched {
		if i > 0 {
			b = append(b, ',')
		}
		b = a.Matched[i].appendPolicy(b)
	}
	return append(b, ']')
}

// appendPolicy appends a rule that matched at the visibility point, where policies
// name their subjects and have no roles.
func (m *Matched) appendPolicy(b []byte) []byte {
	b = appendMember(b, "{", "kind", m.Kind)
	b = appendMember(b, ",", "namespace", m.Namespace)
	b = appendMember(b, ",", "name", m.Name)
	b = strconv.AppendInt(append(b, `,"rule":`...), int64(m.Rule), 10)
	return append(appendMember(b, ",", "source", m.Source), '}')
}

// Input returns the text of the request that r was read from, with the labels of its cluster if
// they were added: who decides it again knows other clusters, or none.
func (r *VisibilityRequest) Input(request Value) []byte {
	hasLabels := !request.Member("cluster").Member("labels").IsNull()
	if r.Cluster.Labels == nil || hasLabels {
		return request.Bytes()
	}
	b, position := []byte{'{'}, 0
	for key, member := range request.Members() {
		b = appendKey(b, position, key)
		position++
		if key == "cluster" {
			b = appendCluster(b, member, r.Cluster.Labels)
		} else {
			b = append(b, member.Bytes()...)
		}
	}
	return append(b, '}')
}

func appendCluster(b []byte, cluster Value, labels map[string]string) []byte {
	b = append(b, '{')
	position := 0
	for key, member := range cluster.Members() {
		if key != "labels" { // null
			b = append(appendKey(b, position, key), member.Bytes()...)
			position++
		}
	}
	return append(appendTextMap(appendKey(b, position, "labels"), labels), '}')
}

// appendInts appends list as a JSON array, [] for nil.
func appendInts(b []byte, list []int) []byte {
	b = append(b, '[')
	for i, number := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(number), 10)
	}
	return append(b, ']')
}

// appendObject appends object as JSON, {} for nil.
func appendObject(b []byte, object map[string]any) []byte {
	if object == nil {
		return append(b, "{}"...)
	}
	return AppendValue(b, object)
}
