package authzen

import (
	"maps"
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// tuple is what an evaluation is about, as it was sent: objects, or empty where absent.
type tuple struct {
	subject, action, resource, context decision.Value
	// fallback has the types, ids and names that the objects leave out; nil for none.
	fallback *tuple
}

// tupleOf reads the members of a body; other members are ignored. Absent ones are those of
// defaults.
func tupleOf(body decision.Value, defaults tuple) (tuple, *exchange.Refusal) {
	t := defaults
	var f exchange.Reader
	for key, member := range body.Members() {
		if to := t.member(key); to != nil && !member.IsNull() {
			*to = f.Object(key, member)
		}
	}
	return t, f.Refused
}

// member returns the field of a key, nil for other keys. Keys are compared exactly.
func (t *tuple) member(key string) *decision.Value {
	switch key {
	case "subject":
		return &t.subject
	case "action":
		return &t.action
	case "resource":
		return &t.resource
	case "context":
		return &t.context
	}
	return nil
}

// entity is a subject, an action or a resource.
type entity struct {
	kind, id   string // an action has only an id, its name
	properties decision.Value
}

// entityOf reads the member of a tuple. What it requires are the keys that must be there.
func (t *tuple) entityOf(f *exchange.Reader, key string, requires ...string) entity {
	value := *t.member(key)
	if value.IsAbsent() {
		f.Refuse(key, "an object")
		return entity{}
	}
	under := f.Under
	defer func() { f.Under = under }()
	f.Under += key + "."
	e := entity{}
	texts := map[string]*string{"type": &e.kind, "id": &e.id}
	if key == "action" {
		texts = map[string]*string{"name": &e.id}
	}
	given := make(map[string]bool, len(texts))
	for name, member := range value.Members() {
		if to := texts[name]; to != nil && !member.IsNull() {
			*to, given[name] = f.Text(name, member), true
		} else if name == "properties" {
			e.properties = f.Object(name, member)
		}
	}
	for _, name := range requires {
		if !given[name] && t.fallback != nil {
			*texts[name] = textOf(*t.fallback.member(key), name)
		}
		if *texts[name] == "" {
			f.Refuse(name, "a string that is not empty")
		}
	}
	return e
}

// textOf returns a member of an object that is a string, and "" for any other.
func textOf(object decision.Value, name string) string {
	for key, member := range object.Members() {
		if key == name {
			text, _ := member.Text()
			return text
		}
	}
	return ""
}

// request returns the canonical request of a whole tuple.
func (t *tuple) request(inventory *tables.Inventory) (*decision.Request, *exchange.Refusal) {
	var f exchange.Reader
	subject := t.entityOf(&f, "subject", "type", "id")
	action := t.entityOf(&f, "action", "name")
	resource := t.entityOf(&f, "resource", "type", "id")
	if f.Refused != nil {
		return nil, f.Refused
	}
	return canonical(subject, action, resource, t.context, inventory)
}

// canonical returns the canonical request of entities, completed from the inventory.
func canonical(subject, action, resource entity, context decision.Value, inventory *tables.Inventory) (*decision.Request, *exchange.Refusal) {
	q := &decision.Request{Verb: action.id, Resource: resource.kind, Name: resource.id}
	f := exchange.Reader{Under: "subject."}
	properties := completed(subject, inventory.Subjects)
	setSubject(q, &f, subject, properties["groups"])
	attributes := map[string]any{"subject": attributesOf(properties, "type", subject.kind, "id", subject.id)}
	attributes["action"] = attributesOf(completed(action, tables.Entities{}), "name", action.id)
	f.Under = "resource.properties."
	properties = completed(resource, inventory.Resources)
	setResource(q, &f, properties)
	attributes["resource"] = attributesOf(properties, "type", resource.kind, "id", resource.id)
	attributes["context"] = map[string]any{}
	if !context.IsAbsent() {
		attributes["context"] = context.Any()
	}
	if f.Refused != nil {
		return nil, f.Refused
	}
	q.Attributes = attributes
	if err := q.Validate(); err != nil {
		return nil, exchange.InvalidBody(err)
	}
	return q, nil
}

// completed returns the properties of an entity: its own, and those of the inventory that
// it leaves out.
func completed(e entity, stored tables.Entities) map[string]decision.Value {
	kept := jsontext.ValueOf(string(stored.At(e.kind).At(e.id).Properties))
	properties := maps.Collect(kept.Members())
	maps.Insert(properties, e.properties.Members())
	return properties
}

// attributesOf returns properties as an attribute of the request, with pairs of names and
// texts that take precedence.
func attributesOf(properties map[string]decision.Value, pairs ...string) map[string]any {
	out := make(map[string]any, len(properties)+len(pairs)/2)
	for name, value := range properties {
		out[name] = value.Any()
	}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// setSubject sets the user and groups of a request.
func setSubject(q *decision.Request, f *exchange.Reader, subject entity, groups decision.Value) {
	switch subject.kind {
	case "user":
		q.User = subject.id
		f.Under = "subject.properties."
		q.Groups = f.Texts("groups", groups)
	case "group":
		q.Groups = []string{subject.id}
	case "serviceAccount":
		namespace, name, _ := strings.Cut(subject.id, ":")
		if namespace == "" || name == "" || strings.Contains(name, ":") {
			f.Refuse("id", "the NAMESPACE:NAME of a serviceAccount")
		}
		q.User = tables.AccountPrefix + subject.id
	default:
		q.User = subject.kind + ":" + subject.id
	}
}

// setResource sets the attributes of a request that are properties of the resource.
func setResource(q *decision.Request, f *exchange.Reader, properties map[string]decision.Value) {
	for _, attribute := range []struct {
		name string
		to   *string
	}{{"apiGroup", &q.APIGroup}, {"subresource", &q.Subresource}, {"namespace", &q.Namespace}, {"cluster", &q.Cluster}} {
		*attribute.to = f.Text(attribute.name, properties[attribute.name])
	}
	q.Labels = f.TextMap("labels", properties["labels"])
}
