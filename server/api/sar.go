package api

import (
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
)

// reviewForm is a version of the SubjectAccessReview.
type reviewForm struct {
	apiVersion string
	groups     string // the key of spec that holds the groups
}

var (
	reviewV1      = reviewForm{"authorization.k8s.io/v1", "groups"}
	reviewV1beta1 = reviewForm{"authorization.k8s.io/v1beta1", "group"}
)

// brokenReview is the answer where there is no object to answer with.
var brokenReview = []byte(`{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{},` +
	`"status":{"allowed":false,"denied":true,"evaluationError":"` + internalError + `"}}` + "\n")

// subjectAccessReview is the endpoint of the webhook authorizer. A body that is not a
// review of this version is refused; a review that cannot be evaluated is denied.
func (s *service) subjectAccessReview(form reviewForm) func(*gin.Context, decision.Policies, decision.Value, *buffer) {
	return func(c *gin.Context, p decision.Policies, value decision.Value, b *buffer) {
		r := &decision.Request{Cluster: c.Param("cluster")}
		cause, refused := form.request(value, r)
		if refused != nil {
			s.refuse(c, refused)
			return
		}
		if cause == "" {
			cause = s.prepare(r)
		}
		var d decision.Decision
		if cause == "" {
			d = s.decideReview(c, p, r)
		} else {
			d = s.undecided(cause)
		}
		b.bytes = appendReview(b.bytes, value, &d)
		write(c, http.StatusOK, jsonType, b.bytes)
	}
}

// prepare validates a review's request and adds what its extra holds. It returns why
// the review cannot be evaluated.
func (s *service) prepare(r *decision.Request) (cause string) {
	if err := r.Validate(); err != nil {
		return err.Error()
	}
	return s.readSessionAndEscalation(r)
}

// request reads a review into r. The cause is why a well-formed review cannot be
// evaluated.
func (form reviewForm) request(value decision.Value, r *decision.Request) (cause string, refused *refusal) {
	if !value.IsObject() {
		return "", badRequest("", "the body is not a JSON object")
	}
	if !utf8.ValidString(r.Cluster) {
		return "", badRequest("", "the cluster of the path is not UTF-8")
	}
	var kind, apiVersion string
	var spec decision.Value
	for key, member := range value.Members() {
		switch key {
		case "kind":
			kind, _ = member.Text()
		case "apiVersion":
			apiVersion, _ = member.Text()
		case "spec":
			spec = member
		}
	}
	if kind != "SubjectAccessReview" {
		return "", badRequest("kind", `"kind" must be SubjectAccessReview`)
	}
	if apiVersion != form.apiVersion {
		return "", badRequest("apiVersion", `"apiVersion" must be `+form.apiVersion)
	}
	if spec.IsNull() {
		return "the review has no spec", nil
	}
	if !spec.IsObject() {
		return "", badRequest("spec", `"spec" must be an object`)
	}
	return form.spec(spec, r)
}

func (form reviewForm) spec(spec decision.Value, r *decision.Request) (cause string, refused *refusal) {
	f := reader{under: "spec."}
	var resource, path decision.Value
	for key, member := range spec.Members() {
		switch key {
		case "user":
			r.User = f.text(key, member)
		case form.groups:
			r.Groups = f.texts(key, member)
		case "extra":
			r.Extra = f.textsMap(key, member)
		case "uid":
			attribute(r, "uid", f.text(key, member))
		case "resourceAttributes":
			resource = f.object(key, member)
		case "nonResourceAttributes":
			path = f.object(key, member)
		}
	}
	if (resource == "") == (path == "") && f.refused == nil {
		return "the review must have one of resourceAttributes and nonResourceAttributes", nil
	}
	if resource != "" {
		cause = f.resourceAttributes(resource, r)
	}
	if path != "" {
		f.under = "spec.nonResourceAttributes."
		for key, member := range path.Members() {
			switch key {
			case "path":
				r.Path = f.text(key, member)
			case "verb":
				r.Verb = f.text(key, member)
			}
		}
	}
	return cause, f.refused
}

func (f *reader) resourceAttributes(value decision.Value, r *decision.Request) (cause string) {
	f.under = "spec.resourceAttributes."
	for key, member := range value.Members() {
		switch key {
		case "verb":
			r.Verb = f.text(key, member)
		case "group":
			r.APIGroup = f.text(key, member)
		case "version":
			attribute(r, "version", f.text(key, member))
		case "resource":
			r.Resource = f.text(key, member)
		case "subresource":
			r.Subresource = f.text(key, member)
		case "namespace":
			r.Namespace = f.text(key, member)
		case "name":
			r.Name = f.text(key, member)
		case "fieldSelector", "labelSelector":
			list, both := f.selector(key, f.object(key, member))
			if both {
				cause = key + " must not have rawSelector beside requirements"
			}
			if len(list) > 0 {
				attribute(r, key, list)
			}
		}
	}
	return cause
}

// attribute keeps a fact for extensions, unless it is empty.
func attribute(r *decision.Request, key string, value any) {
	if value == "" {
		return
	}
	if r.Attributes == nil {
		r.Attributes = make(map[string]any, 4)
	}
	r.Attributes[key] = value
}

// selector reads the requirements of a selector. They only narrow a request: one
// that is not understood is left out, which can only be stricter. A raw selector
// is never parsed; both reports one beside requirements.
func (f *reader) selector(key string, value decision.Value) (list []any, both bool) {
	under := f.under
	defer func() { f.under = under }()
	f.under += key + "."
	raw, written := "", false
	for key, member := range value.Members() {
		switch key {
		case "rawSelector":
			raw = f.text(key, member)
		case "requirements":
			for _, requirement := range f.elements(key, member) {
				written = true
				if known := f.requirement(requirement); known != nil {
					list = append(list, known)
				}
			}
		}
	}
	return list, raw != "" && written
}

func (f *reader) requirement(value decision.Value) map[string]any {
	var key, operator string
	values := []any{}
	for name, member := range f.object("requirements", value).Members() {
		switch name {
		case "key":
			key = f.text(name, member)
		case "operator":
			operator = f.text(name, member)
		case "values":
			for _, text := range f.texts(name, member) {
				values = append(values, text)
			}
		}
	}
	switch operator {
	case "In", "NotIn", "Exists", "DoesNotExist":
		return map[string]any{"key": key, "operator": operator, "values": values}
	}
	return nil
}

// appendReview writes the object received with the decision as its status.
func appendReview(b []byte, received decision.Value, d *decision.Decision) []byte {
	b = strconv.AppendBool(append(appendReceived(b, received), `"allowed":`...), d.Allowed)
	if d.Denied {
		b = append(b, `,"denied":true`...)
	}
	if d.Reason != "" {
		b = decision.AppendString(append(b, `,"reason":`...), line(d.Reason, maxReason))
	}
	if text := evaluationErrorText(d.EvaluationError, d.Warnings); text != "" {
		b = decision.AppendString(append(b, `,"evaluationError":`...), text)
	}
	return append(b, "}}\n"...)
}

// appendReceived writes the object received, as it was written but without its
// status, up to where the members of the new status begin.
func appendReceived(b []byte, received decision.Value) []byte {
	b = append(b, '{')
	for key, member := range received.Members() {
		if key != "status" {
			b = append(append(decision.AppendString(b, key), ':'), member...)
			b = append(b, ',')
		}
	}
	return append(b, `"status":{`...)
}
