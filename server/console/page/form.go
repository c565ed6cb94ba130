package page

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// pointForm is the form of a point: which fields a request has, and where their values
// stand in its JSON.
type pointForm struct {
	point  string
	path   string
	fields []fieldForm
}

// fieldForm is one field. Its value stands at path, which has dots.
type fieldForm struct {
	key, label, path string
	kind             fieldKind
	// names is what GET /v1/names completes; empty for nothing.
	names string
	hint  string
	// folded fields are shown on demand, and two half ones beside each other.
	folded, half bool
}

type fieldKind int

const (
	text     fieldKind = iota
	list               // separated by commas
	fact               // a value in YAML or JSON
	factText           // a value in YAML or JSON; what is neither is a text
	pair               // NAMESPACE/NAME, an object
	object             // further keys of the request
)

var accessForm = &pointForm{point: "access", path: "/page/ask", fields: []fieldForm{
	{key: "user", label: "User", path: "user", names: "user"},
	{key: "groups", label: "Groups", path: "groups", kind: list, names: "groups", hint: "separated by commas"},
	{key: "verb", label: "Verb", path: "verb", names: "verb", half: true},
	{key: "resource", label: "Resource", path: "resource", names: "resource", half: true},
	{key: "apiGroup", label: "API group", path: "apiGroup", names: "apiGroup", half: true},
	{key: "subresource", label: "Subresource", path: "subresource", half: true},
	{key: "namespace", label: "Namespace", path: "namespace", names: "namespace", half: true},
	{key: "name", label: "Name", path: "name", half: true},
	{key: "path", label: "Path", path: "path", half: true},
	{key: "cluster", label: "Cluster", path: "cluster", names: "cluster", half: true},
	{key: "labels", label: "Labels", path: "labels", kind: fact, hint: "of the object, YAML or JSON; empty: not known; {}: none"},
	{key: "pod", label: "Pod", path: "pod", kind: fact, hint: "the pod behind exec, attach and port-forward: YAML or JSON", folded: true},
	{key: "more", label: "More keys", kind: object, hint: "such as fields, namespaceLabels, attributes, extra", folded: true},
}}

var visibilityForm = &pointForm{point: "visibility", path: "/page/ask/visibility", fields: []fieldForm{
	{key: "user", label: "User", path: "user", names: "user"},
	{key: "groups", label: "Groups", path: "groups", kind: list, names: "groups", hint: "separated by commas"},
	{key: "clusterName", label: "Cluster", path: "cluster.name", names: "cluster"},
	{key: "clusterLabels", label: "Cluster labels", path: "cluster.labels", kind: fact, hint: "YAML or JSON"},
	{key: "type", label: "Type", path: "type", names: "type"},
	{key: "more", label: "More keys", kind: object, hint: "such as items, serviceAccount, metrics", folded: true},
}}

var gatewayForm = &pointForm{point: "gateway", path: "/page/ask/gateway", fields: []fieldForm{
	{key: "host", label: "Host", path: "request.host"},
	{key: "method", label: "Method", path: "request.method", half: true},
	{key: "path", label: "Path", path: "request.path", half: true},
	{key: "identity", label: "Identity", path: "auth.identity", kind: factText, hint: "claims, YAML or JSON; empty: not authenticated"},
	{key: "address", label: "Address", path: "source.address"},
	{key: "gateway", label: "Gateway", path: "gateway", kind: pair, hint: "NAMESPACE/NAME", half: true},
	{key: "listener", label: "Listener", path: "gateway.listener", half: true},
	{key: "route", label: "Route", path: "route", kind: pair, hint: "NAMESPACE/NAME", half: true},
	{key: "rule", label: "Rule", path: "route.rule", half: true},
	{key: "more", label: "More keys", kind: object, hint: "such as request.headers, connection, metadata", folded: true},
}}

// forms maps points to their forms.
var forms = map[string]*pointForm{"access": accessForm, "visibility": visibilityForm, "gateway": gatewayForm}

// asked is a form that was filled in.
type asked struct {
	Inputs, Folded []piece.Input
	// Open is true if a folded field has a value.
	Open bool
	// request is nil if no field has a value, or one is malformed.
	request json.RawMessage
	wrong   bool
}

// shown are the fields, and folded those that are shown on demand.
func (a *asked) shown() h.Node  { return piece.Each(a.Inputs, (*piece.Input).HTML) }
func (a *asked) folded() h.Node { return piece.Each(a.Folded, (*piece.Input).HTML) }

// read reads the form from a query. toJSON turns YAML into JSON.
func (f *pointForm) read(query url.Values, toJSON func([]byte) ([]byte, error)) *asked {
	a := &asked{}
	request := make(map[string]any)
	for i := range f.fields {
		field := &f.fields[i]
		value := strings.TrimSpace(query.Get(field.key))
		in := piece.Input{
			Key: field.key, Label: field.label, Value: value, Names: field.names, Hint: field.hint, Half: field.half,
			Area: field.kind == fact || field.kind == factText || field.kind == object,
		}
		if value != "" && (field.path != "" || field.kind == object) {
			in.Error = field.set(request, value, toJSON)
			a.wrong = a.wrong || in.Error != ""
		}
		if field.folded {
			a.Folded = append(a.Folded, in)
			a.Open = a.Open || value != ""
		} else {
			a.Inputs = append(a.Inputs, in)
		}
	}
	if len(request) > 0 && !a.wrong {
		if _, named := request["user"]; f == accessForm && !named && request["groups"] != nil {
			request["user"] = "" // a question about groups alone
		}
		a.request = jsontext.Encode(request)
	}
	return a
}

// refuse puts the message of an invalid request at its field, or returns it.
func (a *asked) refuse(f *pointForm, e *console.Error) string {
	key, _, _ := strings.Cut(strings.Trim(e.Field, "."), "[")
	for _, inputs := range [][]piece.Input{a.Inputs, a.Folded} {
		for i := range inputs {
			if path := f.pathOf(inputs[i].Key); path != "" && key != "" && (path == key || strings.HasPrefix(key, path+".")) {
				inputs[i].Error = inWordsOfForms(e.Message, inputs[i].Label)
				return ""
			}
		}
	}
	return e.Message
}

// inWordsOfForms returns a message about a member of a request as one about its field: a form
// has no keys.
func inWordsOfForms(message, label string) string {
	if rest, ok := strings.CutPrefix(message, "key "); ok && strings.HasPrefix(rest, `"`) {
		if _, rest, ok = strings.Cut(rest[1:], `" `); ok {
			if rest == "is missing" || rest == "must be a string that is not empty" {
				return label + " is required"
			}
			return label + " " + rest
		}
	}
	return message
}

func (f *pointForm) pathOf(key string) string {
	for i := range f.fields {
		if f.fields[i].key == key {
			return f.fields[i].path
		}
	}
	return ""
}

// set puts a value into a request and returns what is wrong with it.
func (f *fieldForm) set(request map[string]any, value string, toJSON func([]byte) ([]byte, error)) string {
	switch f.kind {
	case text:
		put(request, f.path, value)
	case list:
		var items []any
		for item := range strings.SplitSeq(value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		put(request, f.path, items)
	case pair:
		namespace, name, found := strings.Cut(value, "/")
		if !found || namespace == "" || name == "" {
			return "must be NAMESPACE/NAME"
		}
		put(request, f.path+".namespace", namespace)
		put(request, f.path+".name", name)
	case fact, factText, object:
		return f.setYAML(request, value, toJSON)
	}
	return ""
}

func (f *fieldForm) setYAML(request map[string]any, value string, toJSON func([]byte) ([]byte, error)) string {
	parsed, err := decodeYAML(value, toJSON)
	if err != nil {
		return "must be YAML or JSON: " + err.Error()
	}
	members, isObject := parsed.(map[string]any)
	if f.kind == factText {
		put(request, f.path, parsed)
		return ""
	}
	if !isObject {
		return "must be an object, such as key: value"
	}
	if f.kind == fact {
		put(request, f.path, parsed)
		return ""
	}
	merge(request, members)
	return ""
}

func decodeYAML(value string, toJSON func([]byte) ([]byte, error)) (any, error) {
	content, err := toJSON([]byte(value))
	if err != nil {
		return nil, err
	}
	return decodeJSON(content)
}

// decodeJSON keeps numbers as they are written.
func decodeJSON(content []byte) (any, error) {
	var value any
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	err := d.Decode(&value)
	return value, err
}

// put sets the value at a path with dots.
func put(request map[string]any, path string, value any) {
	first, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		if members, isObject := value.(map[string]any); isObject {
			if before, ok := request[first].(map[string]any); ok {
				merge(before, members)
				return
			}
		}
		request[first] = value
		return
	}
	inner, ok := request[first].(map[string]any)
	if !ok {
		inner = make(map[string]any)
		request[first] = inner
	}
	put(inner, rest, value)
}

// merge adds members, and those of objects that both have.
func merge(into, members map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		inner, isObject := members[name].(map[string]any)
		if before, ok := into[name].(map[string]any); ok && isObject {
			merge(before, inner)
			continue
		}
		into[name] = members[name]
	}
}

// query is the inverse of read: the query that asks for a request.
func (f *pointForm) query(request json.RawMessage) url.Values {
	query := url.Values{}
	value, err := decodeJSON(request)
	members, isObject := value.(map[string]any)
	if err != nil || !isObject {
		return query
	}
	for i := range f.fields {
		field := &f.fields[i]
		if field.kind == object {
			prune(members)
			if len(members) > 0 {
				query.Set(field.key, string(jsontext.Encode(members)))
			}
			continue
		}
		if text, ok := field.take(members); ok && text != "" {
			query.Set(field.key, text)
		}
	}
	return query
}

// take removes the value of a field from a request, if the field can have it.
func (f *fieldForm) take(request map[string]any) (string, bool) {
	if f.kind == pair {
		namespace, name := at(request, f.path+".namespace"), at(request, f.path+".name")
		ns, ok := namespace.(string)
		n, isText := name.(string)
		if !ok || !isText || ns == "" || n == "" || strings.Contains(ns, "/") {
			return "", false
		}
		remove(request, f.path+".namespace")
		remove(request, f.path+".name")
		return ns + "/" + n, true
	}
	written, ok := f.write(at(request, f.path))
	if ok {
		remove(request, f.path)
	}
	return written, ok
}

// write is a value as a person types it into the field.
func (f *fieldForm) write(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		if f.kind == text && v == strings.TrimSpace(v) {
			return v, true
		}
	case []any:
		if f.kind != list {
			return "", false
		}
		var items []string
		for _, item := range v {
			name, isText := item.(string)
			if !isText || name == "" || name != strings.TrimSpace(name) || strings.Contains(name, ",") {
				return "", false
			}
			items = append(items, name)
		}
		return strings.Join(items, ","), true
	case map[string]any:
		if f.kind == fact || f.kind == factText {
			return string(jsontext.Encode(v)), true
		}
	}
	return "", false
}

func at(request map[string]any, path string) any {
	first, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return request[first]
	}
	inner, _ := request[first].(map[string]any)
	if inner == nil {
		return nil
	}
	return at(inner, rest)
}

func remove(request map[string]any, path string) {
	first, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		delete(request, first)
		return
	}
	if inner, ok := request[first].(map[string]any); ok {
		remove(inner, rest)
	}
}

// prune removes members that were emptied, and those that are empty from the start.
func prune(members map[string]any) {
	for name, value := range members {
		switch v := value.(type) {
		case map[string]any:
			if name != "labels" && name != "pod" && len(v) == 0 {
				delete(members, name)
			}
		case string:
			if v == "" {
				delete(members, name)
			}
		case nil:
			delete(members, name)
		}
	}
}

// askHref is the address of the view that asks for a request.
func askHref(point string, request json.RawMessage) string {
	form := forms[point]
	if form == nil {
		return ""
	}
	query := form.query(request)
	if len(query) == 0 {
		return form.path
	}
	return form.path + "?" + query.Encode()
}
