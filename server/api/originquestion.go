package api

import (
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/server/decision"
)

// question is a review that was read.
type question struct {
	received decision.Value
	request  decision.Request // without a subject
	user     string
	group    string
}

// question decodes a review. Unknown keys are rejected, because they could restrict the
// question.
func (form originForm) question(value decision.Value, version, namespace string) (*question, *refusal) {
	q := &question{received: value}
	if !value.IsObject() {
		return nil, badRequest("", "the body is not a JSON object")
	}
	if !utf8.ValidString(namespace) {
		return nil, badRequest("", "the namespace of the path is not UTF-8")
	}
	q.request.Namespace = namespace
	f := reader{}
	var kind, apiVersion string
	var metadata, spec decision.Value
	for key, member := range value.Members() {
		switch key {
		case "kind":
			kind = f.text(key, member)
		case "apiVersion":
			apiVersion = f.text(key, member)
		case "metadata":
			metadata = f.object(key, member)
		case "spec":
			spec = f.object(key, member)
		case "status":
		default:
			f.unknown(key)
		}
	}
	switch {
	case f.refused != nil:
		return nil, f.refused
	case kind != form.kind:
		return nil, badRequest("kind", `"kind" must be `+form.kind)
	case apiVersion != version:
		return nil, badRequest("apiVersion", `"apiVersion" must be `+version+", as in the path")
	}
	f.metadata(metadata, namespace)
	f.spec(form, spec, q)
	return q, f.refused
}

func (f *reader) metadata(metadata decision.Value, namespace string) {
	f.under = "metadata."
	for key, member := range metadata.Members() {
		if key != "name" && key != "namespace" {
			continue // labels, annotations and what else clients put there
		}
		if text := f.text(key, member); key == "namespace" && text != "" && text != namespace {
			f.refuse(key, "that of the path")
		}
	}
}

func (f *reader) spec(form originForm, spec decision.Value, q *question) {
	f.under = "spec."
	r := &q.request
	for key, member := range spec.Members() {
		switch {
		case key == "verb":
			r.Verb = f.text(key, member)
		case key == "resourceKind":
			r.Resource, r.Subresource = resourceOf(f.text(key, member))
		case key == "resourceName":
			r.Name = f.text(key, member)
		case key == "content":
			f.content(f.object(key, member), r)
		case key == "userName" && form == subjectReview:
			q.user = f.text(key, member)
		case key == "groupName" && form == subjectReview:
			q.group = f.text(key, member)
		default:
			f.unknown(key)
		}
	}
	switch {
	case r.Verb == "":
		f.refuse("verb", "given")
	case r.Resource == "":
		f.refuse("resourceKind", "given")
	case q.user != "" && q.group != "":
		f.refuse("groupName", `absent beside "userName"`)
	}
}

// content decodes the object of a review into r: its labels, and the whole object if it
// is a pod.
func (f *reader) content(content decision.Value, r *decision.Request) {
	if content == "" {
		return
	}
	defer func(under string) { f.under = under }(f.under)
	f.under += "content."
	var labels map[string]string // those of metadata
	var flat map[string]string   // those of old objects without
	for key, member := range content.Members() {
		switch key {
		case "metadata":
			for key, member := range f.object(key, member).Members() {
				if key == "labels" {
					labels = f.textMap("metadata.labels", member)
				}
			}
		case "labels":
			flat = f.textMap(key, member)
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
	if f.refused == nil {
		f.refused = badRequest(f.under+key, `unknown key "`+f.under+line(key, maxName)+`"`)
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
