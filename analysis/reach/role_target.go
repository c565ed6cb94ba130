package reach

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
	"github.com/writ-policy/writ/translator/vocabulary"
)

// share is a request that a rule of a role grants. restrictions are those of a rule whose
// expression or extension has to hold as well, nil for all others.
type share struct {
	object       map[string]any
	source       string // of the rule
	restrictions *tables.Restrictions
}

// holdsRole returns how certain it is that all that a role grants is allowed to an identity where
// the role is bound, and on what it depends if that is possible.
func (w *world) holdsRole(i *Identity, key string) (best Class, why []string) {
	best = never
	role := w.Access.Roles.At(key)
	for _, b := range w.Access.Bindings.All() {
		if b.Role != key {
			continue
		}
		namespace := b.Namespace
		if b.Cluster {
			namespace = ""
		}
		if class, open := w.holdsThere(i, &role, namespace); class < best {
			best, why = class, open
		}
	}
	return best, why
}

// holdsThere is holdsRole for one place: a namespace, or an empty one for the whole cluster.
func (w *world) holdsThere(i *Identity, role *tables.Role, namespace string) (worst Class, why []string) {
	granted := sharesOf(role, namespace, i.User)
	if len(granted) == 0 {
		return never, nil
	}
	for n := range granted {
		s := &granted[n]
		class := never
		switch {
		case s.restrictions != nil && !i.sink:
			var open []string
			class, open = w.meets(i, s)
			why = append(why, elements.Map(open, func(what string) string { return fmt.Sprintf("%s (%s)", what, s.source) })...)
		case w.isAllowed(i, s.object):
			class = Certain
		}
		if class == never {
			return never, nil
		}
		worst = max(worst, class)
	}
	return worst, tables.Once(why)
}

// meets returns how certain it is that an identity is allowed a share where its expression or
// extension holds, and what else decides. Other code may hold for the request or not, whatever
// the first does.
func (w *world) meets(i *Identity, s *share) (worst Class, open []string) {
	isMet := func(of *statement.Statement) bool {
		o, isOrigin := of.Rule().(*statement.OriginRule)
		return isOrigin && o.Restrictions != nil && o.Restrictions.Expression == s.restrictions.Expression &&
			o.Restrictions.Extension == s.restrictions.Extension && reflect.DeepEqual(o.Restrictions.Params, s.restrictions.Params)
	}
	if w.sealed && len(w.Sessions().Of(statement.UserPrefix+i.User)) > 0 {
		return Possible, []string{"session"}
	}
	for _, r := range i.checked(merged(w.o.Stated, s.object)) {
		outcome := func(effect string) string {
			found := w.decisiveIf(r, principalsOf(r), func(of *statement.Statement) bool {
				if isMet(of) {
					return true
				}
				open = append(open, of.Opaque)
				return of.Effect == effect
			})
			if found == nil {
				return statement.OutcomeNone
			}
			return found.Effect
		}
		switch {
		case outcome(statement.OutcomeAllow) != statement.OutcomeAllow:
			return never, nil
		case outcome(statement.OutcomeDeny) != statement.OutcomeAllow:
			worst = Possible
		}
	}
	if worst == Certain {
		return Certain, nil
	}
	return worst, tables.Once(open)
}

// sharesOf returns the requests that the rules of a role allow in a namespace, or in the whole
// cluster for an empty one. A user may be a node.
func sharesOf(role *tables.Role, namespace, user string) (out []share) {
	add := func(object map[string]any, source string, r *tables.Restrictions) {
		if at, isSelected := object["namespace"]; isSelected && namespace != "" && at != namespace {
			return
		}
		if namespace != "" {
			object["namespace"] = namespace
		}
		if r != nil && r.Expression == "" && r.Extension == "" {
			r = nil
		}
		out = append(out, share{object, source, r})
	}
	for i := range role.Kubernetes {
		k := &role.Kubernetes[i]
		for _, verb := range k.Verbs {
			for _, path := range k.Paths {
				if namespace == "" { // a RoleBinding grants no path
					add(map[string]any{"verb": verb, "path": path}, k.Source, nil)
				}
			}
			for _, group := range k.Groups {
				for _, resource := range k.Resources {
					for _, name := range append(k.Names, "")[:max(1, len(k.Names))] {
						t := target{verb: verb, group: group, name: name}
						t.resource, t.sub = split(resource)
						add(t.object(), k.Source, nil)
					}
				}
			}
		}
	}
	for i := range role.Origin {
		o := &role.Origin[i]
		if o.Deny {
			continue
		}
		for _, verb := range verbsOf(o) {
			for _, kind := range kindsOf(o, verb) {
				t := target{verb: verb}
				t.resource, t.sub = split(kind)
				if object := t.object(); restrict(object, o.Restrictions, user) {
					add(object, o.Source, o.Restrictions)
				}
			}
		}
	}
	return out
}

// restrict adds what a request must have so that the restrictions of a rule hold, nil for none. It
// reports whether they hold for some request of that verb. Of an expression and an extension no
// values are known with which they hold.
func restrict(object map[string]any, r *tables.Restrictions, user string) bool {
	if r == nil {
		return true
	}
	if len(r.Labels) > 0 {
		labels := make(map[string]string)
		for _, entry := range r.Labels {
			labels[entry.Key] = ""
			if entry.Value != nil {
				labels[entry.Key] = *entry.Value
			}
		}
		object["labels"] = labels
	}
	if len(r.Fields) > 0 {
		object["fields"] = r.Fields[:1]
	}
	attributes := make(map[string]any)
	if r.SameMinion {
		attributes["minion"], attributes["podMinion"] = standIn, standIn
		if node, isNode := strings.CutPrefix(user, nodePrefix); isNode {
			attributes["podMinion"] = node
		}
	}
	var selected []selector.Requirement
	for _, entry := range r.Select {
		switch entry.Key {
		case "metadata.name":
			object["name"] = *entry.Value
		case "metadata.namespace":
			object["namespace"] = *entry.Value
		default:
			selected = append(selected, selector.Is(entry.Key, *entry.Value))
		}
	}
	if len(selected) > 0 {
		verb, _ := object["verb"].(string)
		resource, _ := object["resource"].(string)
		sub, _ := object["subresource"].(string)
		if !selector.Counts(verb, resource, sub) {
			return false
		}
		attributes[selector.FieldKey] = selector.Written(selected)
	}
	if len(attributes) > 0 {
		object["attributes"] = attributes
	}
	return true
}

// verbsOf returns the verbs of a rule of Origin. Where it negates some, or is about fields, a request
// for "*" is for more than the rule has, and the verbs of Origin and Kubernetes stand for the others.
func verbsOf(o *tables.OriginRule) []string {
	isOfFields := o.Restrictions != nil && len(o.Restrictions.Fields) > 0
	isOfSelectors := o.Restrictions != nil && len(o.Restrictions.Select) > 0
	if len(o.NotVerbs) == 0 && !isOfFields && !isOfSelectors {
		return o.Verbs
	}
	verbs := slices.Clone(o.Verbs)
	if slices.Contains(verbs, "*") {
		verbs = append(verbs, vocabulary.AnyVerbs...)
	}
	return elements.Filter(tables.Once(verbs), func(verb string) bool {
		return rule.MatchesVerb(o, verb, "") && (!isOfFields || hasFields(verb))
	})
}

// hasFields reports whether fieldsMutatable may hold for requests of a verb: for those that read,
// and those that change fields.
func hasFields(verb string) bool {
	return slices.ContainsFunc(rule.Carried(verb, ""), func(carried string) bool {
		return slices.Contains([]string{"get", "list", "watch", "create", "update"}, carried)
	})
}

// someKinds stand for the kinds of a rule that has all but some.
var someKinds = []string{standIn + "s", "pods", "secrets", "roles", "rolebindings", "policies", "policybindings"}

// kindsOf is verbsOf for kinds. A rule about the node of a pod is about no other kind.
func kindsOf(o *tables.OriginRule, verb string) []string {
	isOfPods := o.Restrictions != nil && o.Restrictions.SameMinion
	if len(o.NotKinds) == 0 && !isOfPods {
		return o.Kinds
	}
	kinds := slices.Clone(o.Kinds)
	if slices.Contains(kinds, "*") {
		kinds = append(kinds, someKinds...)
	}
	return elements.Filter(tables.Once(kinds), func(kind string) bool {
		resource, sub := split(kind)
		return rule.MatchesKind(o, verb, resource, sub) && (!isOfPods || rule.SameKind("pods", resource))
	})
}
