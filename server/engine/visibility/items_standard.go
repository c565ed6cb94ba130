package visibility

import (
	"cmp"
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

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

// hidesStandard returns what hides an item of a standard type: its namespace must be
// visible, and the entry of its type must show it.
func (r *rule) hidesStandard(typ string, item *decision.Item) criterion {
	name, in := nameAndLocation(typ, item)
	if r.restricts(typeNamespaces) {
		switch typ {
		case typePods, typeEvents, typeOperators, typeAlerts:
			if hidden := r.entryOf(typeNamespaces).hidesNamespaces(typ, &in); hidden.hides() {
				return hidden.in(typeNamespaces)
			}
		}
	}
	entry := r.entryOf(typ)
	if entry == nil {
		return criterion{}
	}
	return entry.hidesItem(name, in, item).in(typ)
}

// nameAndLocation returns the name and the location of an item.
func nameAndLocation(typ string, item *decision.Item) (name string, in location) {
	name = item.Name
	switch typ {
	case typeNodes:
	case typeNamespaces:
		name = cmp.Or(item.Namespace, name)
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

// hidesNamespaces removes the namespaces that e, the entry of namespaces, hides. It
// returns what hides the last one unless the item may be visible in others.
func (e *entry) hidesNamespaces(typ string, in *location) (hidden criterion) {
	switch {
	case in.wholeCluster && e.Visibility == "none":
		return visibilityNone
	case in.wholeCluster, len(in.namespaces) == 0 && typ == typeAlerts:
		// An alert without a namespace belongs to the cluster.
		return criterion{}
	case len(in.namespaces) == 0:
		return withoutNamespace
	}
	in.retain(func(namespace string) bool {
		by := e.hidesItem(namespace, location{}, &unlabeledNamespace)
		if by.hides() {
			hidden = by
		}
		return !by.hides()
	})
	if len(in.namespaces) > 0 {
		return criterion{}
	}
	return hidden
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

// hidesItem decides on an item by the entry of its type. The first criterion that applies
// decides, in the order exclusions, visibility, namespaces, names, labels.
func (e *entry) hidesItem(name string, in location, item *decision.Item) criterion {
	switch {
	case name != "" && e.Names.Denied.Has(name):
		return namesDenied
	case e.excludeNamespaces(&in):
		return namespacesDenied
	case e.HideMasters && isMaster(item):
		return criterion{field: "hideMasters"}
	case hasPair(item.Labels, e.HideByLabels):
		return criterion{field: "hideByLabels"}
	case name == "" && e.hasNameCriteria():
		return withoutName
	case e.Visibility == "none":
		return visibilityNone
	case e.Visibility == "all":
		return criterion{}
	case !e.Namespaces.Allowed.IsEmpty() && !in.wholeCluster && !e.allowsAny(in.namespaces):
		return namespacesAllowed
	case e.Names.Allowed.Has(name), len(e.Labels) > 0 && tables.HasPairs(item.Labels, e.Labels):
		return criterion{}
	case !e.Names.Allowed.IsEmpty():
		return namesAllowed
	case len(e.Labels) > 0:
		return criterion{field: "labels"}
	case e.Namespaces.Allowed.IsEmpty():
		return criterion{field: "visibility", part: "filtered, and no criterion includes it"}
	}
	return criterion{}
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
	return slices.ContainsFunc(namespaces, e.Namespaces.Allowed.Has)
}
