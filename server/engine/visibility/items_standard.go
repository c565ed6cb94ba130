package visibility

import "github.com/writ-policy/writ/server/decision"

// Standard types.
const (
	typeNodes      = "nodes"
	typeNamespaces = "namespaces"
	typeOperators  = "operators"
	typePods       = "pods"
	typeAlerts     = "alerts"
	typeEvents     = "events"
)

// location is where an item is: in some namespaces, in the whole cluster or, if it is
// empty, in no namespace.
type location struct {
	namespaces   []string
	wholeCluster bool
}

// showsStandard reports whether an item of a standard type is visible: its namespace must
// be visible, and the entry of its type must show it.
func (r *rule) showsStandard(typ string, item *decision.Item) bool {
	name, in := nameAndLocation(typ, item)
	if r.restricts(typeNamespaces) {
		switch typ {
		case typePods, typeEvents, typeOperators, typeAlerts:
			if !r.entryOf(typeNamespaces).filterNamespaces(typ, &in) {
				return false
			}
		}
	}
	entry := r.entryOf(typ)
	return entry == nil || entry.showsItem(name, in, item)
}

// nameAndLocation returns the name and the location of an item.
func nameAndLocation(typ string, item *decision.Item) (name string, in location) {
	name = item.Name
	switch typ {
	case typeNodes:
	case typeNamespaces:
		if item.Namespace != "" {
			name = item.Namespace
		}
	case typeOperators:
		if display, ok := item.Fields["display_name"].(string); ok && name == "" {
			name = display
		}
		in = operatorLocation(item)
	default:
		in = locationOf(item.Namespace)
	}
	return name, in
}

func locationOf(namespace string) location {
	if namespace == "" {
		return location{}
	}
	return location{namespaces: []string{namespace}}
}

func operatorLocation(item *decision.Item) location {
	value, ok := item.Fields["available_in_namespaces"]
	if !ok || value == nil {
		return locationOf(item.Namespace)
	}
	var in location
	list, _ := value.([]any)
	for _, element := range list {
		if namespace, ok := element.(string); ok && namespace != "" {
			in.namespaces = append(in.namespaces, namespace)
		}
	}
	if len(list) == 1 && list[0] == "*" {
		return location{wholeCluster: true}
	}
	return in
}

// filterNamespaces removes the namespaces that e, the entry of namespaces, hides. It
// reports whether the item may be visible in the others.
func (e *entry) filterNamespaces(typ string, in *location) bool {
	if in.wholeCluster {
		return e.Visibility != "none"
	}
	if len(in.namespaces) == 0 {
		// An alert without a namespace belongs to the cluster.
		return typ == typeAlerts
	}
	in.retain(func(namespace string) bool { return e.showsItem(namespace, location{}, &unlabeledNamespace) })
	return len(in.namespaces) > 0
}

// unlabeledNamespace stands for the namespace of an item, whose labels are unknown.
var unlabeledNamespace decision.Item

// retain removes the namespaces for which isKept returns false.
func (l *location) retain(isKept func(string) bool) {
	left := l.namespaces[:0] // the list is not shared with the item
	for _, namespace := range l.namespaces {
		if isKept(namespace) {
			left = append(left, namespace)
		}
	}
	l.namespaces = left
}

// hasNameCriteria reports whether the entry restricts names. Allowed names do not
// restrict an entry with visibility "all".
func (e *entry) hasNameCriteria() bool {
	if e.Visibility == "all" {
		return !e.Names.Denied.IsEmpty()
	}
	return hasCriteria(&e.Names)
}

// showsItem decides on an item by the entry of its type. The first criterion that applies
// decides, in the order exclusions, visibility, namespaces, names, labels.
func (e *entry) showsItem(name string, in location, item *decision.Item) bool {
	switch {
	case name != "" && e.Names.Denied.Has(name), e.excludeNamespaces(&in), e.hidesNode(item):
		return false
	case name == "" && e.hasNameCriteria(), e.Visibility == "none":
		return false
	case e.Visibility == "all":
		return true
	case !e.Namespaces.Allowed.IsEmpty() && !in.wholeCluster && !e.allowsAny(in.namespaces):
		return false
	case e.Names.Allowed.Has(name):
		return true
	case len(e.Labels) > 0 && hasPairs(item.Labels, e.Labels):
		return true
	}
	return e.Names.Allowed.IsEmpty() && len(e.Labels) == 0 && !e.Namespaces.Allowed.IsEmpty()
}

// excludeNamespaces removes the denied namespaces, and reports whether that leaves no
// namespace.
func (e *entry) excludeNamespaces(in *location) bool {
	if in.wholeCluster || len(in.namespaces) == 0 || e.Namespaces.Denied.IsEmpty() {
		return false
	}
	in.retain(func(namespace string) bool { return !e.Namespaces.Denied.Has(namespace) })
	return len(in.namespaces) == 0
}

func (e *entry) allowsAny(namespaces []string) bool {
	for _, namespace := range namespaces {
		if e.Namespaces.Allowed.Has(namespace) {
			return true
		}
	}
	return false
}
