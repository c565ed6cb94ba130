package origin

import (
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// question is what a review asks.
type question struct {
	received decision.Value
	request  decision.Request // without a subject
	user     string
	group    string
}

// question decodes a review. Unknown keys are rejected, because they could restrict the
// question.
func (v review) question(value decision.Value, version, namespace string) (*question, *exchange.Refusal) {
	q := &question{received: value}
	if !value.IsObject() {
		return nil, exchange.BadRequest("", "the body is not a JSON object")
	}
	if !utf8.ValidString(namespace) {
		return nil, exchange.BadRequest("", "the namespace of the path is not UTF-8")
	}
	q.request.Namespace = namespace
	f := reader{}
	var kind, apiVersion string
	var metadata, spec decision.Value
	for key, member := range value.Members() {
		switch key {
		case "kind":
			kind = f.Text(key, member)
		case "apiVersion":
			apiVersion = f.Text(key, member)
		case "metadata":
			metadata = f.Object(key, member)
		case "spec":
			spec = f.Object(key, member)
		case "status":
		default:
			f.unknown(key)
		}
	}
	switch {
	case f.Refused != nil:
		return nil, f.Refused
	case kind != v.kind:
		return nil, exchange.BadRequest("kind", `"kind" must be `+v.kind)
	case apiVersion != version:
		return nil, exchange.BadRequest("apiVersion", `"apiVersion" must be `+version+", as in the path")
	}
	f.metadata(metadata, namespace)
	f.spec(v, spec, q)
	return q, f.Refused
}

// reader reads the parts of a review.
type reader struct{ exchange.Reader }

func (f *reader) metadata(metadata decision.Value, namespace string) {
	f.Under = "metadata."
	for key, member := range metadata.Members() {
		if key != "name" && key != "namespace" {
			continue // labels, annotations and what else clients put there
		}
		if text := f.Text(key, member); key == "namespace" && text != "" && text != namespace {
			f.Refuse(key, "that of the path")
		}
	}
}

func (f *reader) spec(v review, spec decision.Value, q *question) {
	f.Under = "spec."
	r := &q.request
	for key, member := range spec.Members() {
		switch {
		case key == "verb":
			r.Verb = f.Text(key, member)
		case key == "resourceKind":
			r.Resource, r.Subresource = resourceOf(f.Text(key, member))
		case key == "resourceName":
			r.Name = f.Text(key, member)
		case key == "content":
			f.content(f.Object(key, member), r)
		case key == "userName" && v == subjectReview:
			q.user = f.Text(key, member)
		case key == "groupName" && v == subjectReview:
			q.group = f.Text(key, member)
		default:
			f.unknown(key)
		}
	}
	switch {
	case r.Verb == "":
		f.Refuse("verb", "given")
	case r.Resource == "":
		f.Refuse("resourceKind", "given")
	case q.user != "" && q.group != "":
		f.Refuse("groupName", `absent beside "userName"`)
	}
}

// content decodes the object of a review into r: its labels, and the whole object if it
// is a pod.
func (f *reader) content(content decision.Value, r *decision.Request) {
	if content.IsAbsent() {
		return
	}
	defer func(under string) { f.Under = under }(f.Under)
	f.Under += "content."
	var labels map[string]string // those of metadata
	var flat map[string]string   // those of old objects without
	for key, member := range content.Members() {
		switch key {
		case "metadata":
			for key, member := range f.Object(key, member).Members() {
				if key == "labels" {
					labels = f.TextMap("metadata.labels", member)
				}
			}
		case "labels":
			flat = f.TextMap(key, member)
		case "kind":
			if kind, _ := member.Text(); kind == "Pod" {
				r.Pod, _ = content.Any().(map[string]any)
			}
		}
	}
	switch {
	case labels != nil:
		r.Labels = labels
	case flat != nil:
		r.Labels = flat
	default:
		r.Labels = map[string]string{}
	}
}

func (f *reader) unknown(key string) {
	if f.Refused == nil {
		f.Refused = exchange.BadRequest(f.Under+key, `unknown key "`+f.Under+exchange.Line(key, exchange.MaxName)+`"`)
	}
}

// resourceOf splits a kind in a review into resource and subresource. A singular kind is
// converted to the plural.
func resourceOf(kind string) (resource, subresource string) {
	resource, subresource, _ = strings.Cut(strings.ToLower(kind), "/")
	switch {
	case resource == "" || resource == "*":
	case strings.HasSuffix(resource, "s") && !strings.HasSuffix(resource, "ss") && !strings.HasSuffix(resource, "us"):
	default:
		resource = plural(resource)
	}
	return resource, subresource
}

// plural is the English plural of a lower-case kind.
func plural(word string) string {
	switch last := word[len(word)-1]; {
	case last == 'y' && len(word) > 1 && !strings.ContainsRune("aeiou", rune(word[len(word)-2])):
		return word[:len(word)-1] + "ies"
	case last == 's' || last == 'x' || last == 'z' || strings.HasSuffix(word, "ch") || strings.HasSuffix(word, "sh"):
		return word + "es"
	}
	return word + "s"
}
