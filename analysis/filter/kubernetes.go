package filter

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ListRequest is a request that lists objects of an API server. An empty member does not
// restrict.
type ListRequest struct {
	Namespace     string `json:"namespace,omitempty"`
	LabelSelector string `json:"labelSelector,omitempty"`
	FieldSelector string `json:"fieldSelector,omitempty"`
}

// maxRequests is how many requests a filter has; more become one over all namespaces.
const maxRequests = 500

// The syntax of names, label keys and label values of an API server.
var (
	objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	spaceName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	labelKey   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
)

// narrow returns what remains of the condition for rows with a value of an attribute.
func narrow(t *tree, a attribute, value string) *tree {
	return t.replace(func(l *test) *tree {
		if l.attr != a {
			return nil
		}
		switch l.kind {
		case isIn:
			return known(slices.Contains(l.values, value))
		case isLike:
			return known(l.glob.matches(value))
		default:
		}
		return nil
	})
}

// withPair is narrow for a pair of labels.
func withPair(t *tree, key, value string) *tree {
	return t.replace(func(l *test) *tree {
		switch {
		case l.attr != itemLabels:
		case l.kind == isUnknown:
			return never
		case l.key == key && l.kind == hasLabel:
			return always
		case l.key == key && l.kind == hasPair:
			return known(l.label == value)
		}
		return nil
	})
}

// valuesOf returns the values of an attribute that rows may have for which the condition
// holds; it returns false if they have no bound.
func valuesOf(t *tree, a attribute) (map[string]bool, bool) {
	switch t.operator {
	case constant:
		return nil, !t.value
	case leaf:
		if t.kind != isIn || t.attr != a {
			return nil, false
		}
		out := make(map[string]bool)
		for _, v := range t.values {
			out[v] = true
		}
		return out, true
	case and:
		var out map[string]bool
		bounded := false
		for _, k := range t.kids {
			values, ok := valuesOf(k, a)
			switch {
			case !ok:
			case !bounded:
				out, bounded = values, true
			default:
				maps.DeleteFunc(out, func(v string, _ bool) bool { return !values[v] })
			}
		}
		return out, bounded
	case or:
		out := make(map[string]bool)
		for _, k := range t.kids {
			values, ok := valuesOf(k, a)
			if !ok {
				return nil, false
			}
			maps.Copy(out, values)
		}
		return out, true
	case not:
	}
	return nil, false
}

// pairsOf returns the pairs of labels that all rows have for which the condition holds.
func pairsOf(t *tree) map[[2]string]bool {
	switch t.operator {
	case leaf:
		if t.kind == hasPair && t.attr == itemLabels {
			return map[[2]string]bool{{t.key, t.label}: true}
		}
	case and:
		out := make(map[[2]string]bool)
		for _, k := range t.kids {
			maps.Copy(out, pairsOf(k))
		}
		return out
	case or:
		out := pairsOf(t.kids[0])
		for _, k := range t.kids[1:] {
			other := pairsOf(k)
			maps.DeleteFunc(out, func(pair [2]string, _ bool) bool { return !other[pair] })
		}
		return out
	case constant, not:
	}
	return map[[2]string]bool{}
}

// listing is the requests of a filter and the condition that they leave.
type listing struct {
	requests []ListRequest
	isWhole  bool // they return what the condition selects and nothing else
}

// list returns the requests for a bound condition. in is the only namespace, empty for any;
// isNamespaced states that every object has one.
func list(t *tree, in string, isNamespaced bool) listing {
	namespaces, bounded := valuesOf(t, itemNamespace)
	if in != "" {
		namespaces, bounded = map[string]bool{in: true}, true
	}
	if isNamespaced {
		delete(namespaces, "")
	}
	if bounded && !namespaces[""] && len(namespaces) <= maxRequests {
		out := listing{requests: []ListRequest{}, isWhole: true}
		for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
			if !spaceName.MatchString(namespace) {
				continue // no object is in it
			}
			rest := t
			if in == "" {
				rest = narrow(t, itemNamespace, namespace)
			}
			out.add(ListRequest{Namespace: namespace}, rest)
		}
		return out
	}
	if isNamespaced {
		t = t.replace(func(l *test) *tree {
			if l.kind == isIn && l.attr == itemNamespace && slices.Contains(l.values, "") {
				return isOneOf(itemNamespace, slices.DeleteFunc(slices.Clone(l.values), func(v string) bool { return v == "" })...)
			}
			return nil
		})
	}
	out := listing{requests: []ListRequest{}, isWhole: true}
	out.add(ListRequest{}, t)
	return out
}

// add adds the request for what a condition selects.
func (o *listing) add(r ListRequest, rest *tree) {
	if names, bounded := valuesOf(rest, itemName); bounded {
		maps.DeleteFunc(names, func(name string, _ bool) bool { return !objectName.MatchString(name) })
		if len(names) == 0 {
			return // no object has the name
		}
		if len(names) == 1 {
			for name := range names {
				r.FieldSelector, rest = "metadata.name="+name, narrow(rest, itemName, name)
			}
		}
	}
	var pairs []string
	byKey := make(map[string]bool)
	for pair := range pairsOf(rest) {
		if !labelKey.MatchString(pair[0]) || !labelValue.MatchString(pair[1]) || byKey[pair[0]] {
			return // no object has the label, or both values of it
		}
		byKey[pair[0]] = true
		pairs = append(pairs, pair[0]+"="+pair[1])
		rest = withPair(rest, pair[0], pair[1])
	}
	if rest.is(false) {
		return
	}
	slices.Sort(pairs)
	r.LabelSelector = strings.Join(pairs, ",")
	o.isWhole = o.isWhole && rest.is(true)
	o.requests = append(o.requests, r)
}
