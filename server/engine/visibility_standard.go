package engine

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

// location are the namespaces an item is in. whole is the whole cluster.
type location struct {
	names []string
	whole bool
}

// standardItem reports whether an item of a standard type is shown: namespaces
// hide what is in them, and what they leave is up to the type's own entry.
func (v *viewRule) standardItem(typ string, item *decision.Item) bool {
	name, in := identity(typ, item)
	if v.restricts(typeNamespaces) {
		switch typ {
		case typePods, typeEvents, typeOperators, typeAlerts:
			if !v.entry(typeNamespaces).filterNamespaces(typ, &in) {
				return false
			}
		}
	}
	entry := v.entry(typ)
	return entry == nil || entry.shows(name, in, item)
}

// identity is an item's name and where it is.
func identity(typ string, item *decision.Item) (name string, in location) {
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
	return location{names: []string{namespace}}
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
			in.names = append(in.names, namespace)
		}
	}
	if len(list) == 1 && list[0] == "*" {
		return location{whole: true}
	}
	return in
}

// filterNamespaces removes the namespaces that the entry of namespaces hides, and
// reports whether the item remains.
func (v *viewEntry) filterNamespaces(typ string, in *location) bool {
	if in.whole {
		return v.Visibility != "none"
	}
	if len(in.names) == 0 {
		// An alert of no namespace is the cluster's.
		return typ == typeAlerts
	}
	in.keep(func(namespace string) bool { return v.shows(namespace, location{}, &noLabels) })
	return len(in.names) > 0
}

// noLabels is what a namespace looks like from what is in it.
var noLabels decision.Item

// keep leaves the namespaces that are kept.
func (l *location) keep(kept func(string) bool) {
	left := l.names[:0] // the list was made for this item
	for _, namespace := range l.names {
		if kept(namespace) {
			left = append(left, namespace)
		}
	}
	l.names = left
}

// asksName reports whether the entry says anything of names. Beside an explicit
// "all" what is allowed says nothing.
func (v *viewEntry) asksName() bool {
	if v.Visibility == "all" {
		return !v.Names.Denied.IsEmpty()
	}
	return given(&v.Names)
}

// shows decides on one item by the entry of its type: the first line that says
// anything, in the order exclusions, visibility, namespaces, names, labels.
func (v *viewEntry) shows(name string, in location, item *decision.Item) bool {
	switch {
	case name != "" && v.Names.Denied.Has(name), v.excludes(&in), v.hidesNode(item):
		return false
	case name == "" && v.asksName(), v.Visibility == "none":
		return false
	case v.Visibility == "all":
		return true
	case !v.Namespaces.Allowed.IsEmpty() && !in.whole && !v.allowsAny(in.names):
		return false
	case v.Names.Allowed.Has(name):
		return true
	case len(v.Labels) > 0 && hasPairs(item.Labels, v.Labels):
		return true
	}
	return v.Names.Allowed.IsEmpty() && len(v.Labels) == 0 && !v.Namespaces.Allowed.IsEmpty()
}

// excludes strikes out the namespaces that are denied, and reports whether that
// leaves none of them.
func (v *viewEntry) excludes(in *location) bool {
	if in.whole || len(in.names) == 0 || v.Namespaces.Denied.IsEmpty() {
		return false
	}
	in.keep(func(namespace string) bool { return !v.Namespaces.Denied.Has(namespace) })
	return len(in.names) == 0
}

func (v *viewEntry) allowsAny(namespaces []string) bool {
	for _, namespace := range namespaces {
		if v.Namespaces.Allowed.Has(namespace) {
			return true
		}
	}
	return false
}
