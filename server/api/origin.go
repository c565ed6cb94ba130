package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
)

// originForm is one of the two Origin reviews.
type originForm struct {
	kind string
	// plural is the resource a caller needs the right to create.
	plural string
}

var (
	subjectReview  = originForm{"SubjectAccessReview", "subjectaccessreviews"}
	resourceReview = originForm{"ResourceAccessReview", "resourceaccessreviews"}
)

// originFormOf is the review that a path segment means: compared without regard
// to case and number, which no route pattern can say. Its kind is empty for none.
func originFormOf(segment string) originForm {
	switch strings.ToLower(segment) {
	case "subjectaccessreview", "subjectaccessreviews":
		return subjectReview
	case "resourceaccessreview", "resourceaccessreviews":
		return resourceReview
	}
	return originForm{}
}

func checkOrigin(c *gin.Context) *refusal {
	if originFormOf(c.Param("review")).kind == "" || !isOriginVersion(c.Param("version")) {
		return nothingHere
	}
	return named(c)
}

// originReview answers both reviews.
func (s *service) originReview(c *gin.Context, value decision.Value, b *buffer) {
	form := originFormOf(c.Param("review"))
	q, refused := form.question(value, c.Param("version"), c.Param("namespace"))
	if refused == nil {
		b.bytes, refused = s.originAnswer(c, form, q, b.bytes)
	}
	if refused != nil {
		s.refuse(c, refused)
		return
	}
	write(c, http.StatusOK, jsonType, b.bytes)
}

// maxListing is how many who-can questions are answered at a time. Each tries
// every principal there is: many of them must not starve the decisions.
const maxListing = 4

// isOriginVersion accepts v1 and v1beta1, v1beta2 and so on.
func isOriginVersion(version string) bool {
	number, beta := strings.CutPrefix(version, "v1beta")
	if !beta {
		return version == "v1"
	}
	_, err := strconv.ParseUint(number, 10, 16)
	return err == nil && number[0] != '0' && number[0] != '+'
}

// originAnswer appends the answer to q to b.
func (s *service) originAnswer(c *gin.Context, form originForm, q *question, b []byte) ([]byte, *refusal) {
	caller, refused := s.caller(c.Request)
	if refused != nil {
		return b, refused
	}
	if form == subjectReview && q.user == "" && q.group == "" {
		if caller == nil {
			return b, unauthorized()
		}
		q.user = caller.Name
	}
	if refused := s.mayAsk(c, form, q, caller); refused != nil {
		return b, refused
	}
	if form == resourceReview {
		if s.listing.Add(1) > maxListing {
			s.listing.Add(-1)
			s.Metrics.Shed()
			return b, crowded
		}
		defer s.listing.Add(-1)
		w := s.whoCan(c, &q.request)
		return appendWhoCan(appendReceived(b, q.received), &w), nil
	}
	q.request.User = q.user
	if q.group != "" {
		q.request.Groups = []string{q.group}
	} else if caller.is(q.user) {
		q.request.Groups = caller.Groups
	}
	d := s.decide(c, &q.request)
	return appendOriginStatus(appendReceived(b, q.received), &d), nil
}

// mayAsk refuses a caller who asks about others without the right to. Where
// nobody is authenticated there is nobody to refuse.
func (s *service) mayAsk(c *gin.Context, form originForm, q *question, caller *Caller) *refusal {
	about := form == subjectReview && q.group == "" && caller.is(q.user)
	if s.Authenticator == nil || about {
		return nil
	}
	if caller == nil {
		return unauthorized()
	}
	d := s.decide(c, &decision.Request{
		User: caller.Name, Groups: caller.Groups, Verb: "create",
		Resource: form.plural, Namespace: q.request.Namespace,
	})
	if d.Allowed {
		return nil
	}
	return &refusal{
		status:  http.StatusForbidden,
		message: "asking about others needs the right to create " + form.plural + " in namespace " + line(q.request.Namespace, maxName),
	}
}

// question is a review that was read.
type question struct {
	received decision.Value
	request  decision.Request // without a subject
	user     string
	group    string
}

// question reads a review strictly: what is not understood could have been meant
// to narrow it.
func (form originForm) question(value decision.Value, version, namespace string) (*question, *refusal) {
	q := &question{received: value}
	if !value.IsObject() {
		return nil, unfit("", "the body is no JSON object")
	}
	if !utf8.ValidString(namespace) {
		return nil, unfit("", "the namespace of the path is not UTF-8")
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
		return nil, unfit("kind", `"kind" must be `+form.kind)
	case apiVersion != version:
		return nil, unfit("apiVersion", `"apiVersion" must be `+version+", as in the path")
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

// content is the object a review is about: its labels, and it as a whole where
// it is a pod.
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
		f.refused = unfit(f.under+key, `unknown key "`+f.under+line(key, maxName)+`"`)
	}
}

// resourceOf is the resource, and subresource, of a kind as reviews write it:
// in the plural, unless it looks like one.
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

// appendOriginStatus ends an answer with the status of a SubjectAccessReview.
// Both sides are reported: what would allow is named even when it is denied.
func appendOriginStatus(b []byte, d *decision.Decision) []byte {
	b = strconv.AppendBool(append(b, `"allowed":`...), d.Allowed)
	if reason := allowReason(d); reason != "" {
		b = decision.AppendString(append(b, `,"allowReason":`...), line(reason, maxReason))
	}
	if !d.Allowed {
		reason := d.Reason
		if reason == "" {
			reason = "not allowed"
		}
		b = decision.AppendString(append(b, `,"denyReason":`...), line(reason, maxReason))
	}
	if text := evaluationError(d.Trouble, d.Warnings); text != "" {
		b = decision.AppendString(append(b, `,"evaluationError":`...), text)
	}
	return append(b, "}}\n"...)
}

func allowReason(d *decision.Decision) string {
	if d.Allowed && d.Reason != "" {
		return d.Reason
	}
	for i := range d.Matched {
		if m := &d.Matched[i]; m.Effect == "allow" {
			return "allowed by " + describe(m)
		}
	}
	if d.Allowed {
		return "allowed"
	}
	return ""
}

// describe names a rule as reasons do.
func describe(m *decision.Matched) string {
	text := m.Kind + " " + qualified(m.Namespace, m.Name)
	if m.Role == nil {
		return text + " (rule " + strconv.Itoa(m.Rule) + ")"
	}
	return text + " (" + m.Role.Kind + " " + qualified(m.Role.Namespace, m.Role.Name) + ", rule " + strconv.Itoa(m.Rule) + ")"
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// appendWhoCan ends an answer with the status of a ResourceAccessReview. Service
// accounts are users. The form has no room for exceptions but its error.
func appendWhoCan(b []byte, w *decision.WhoCan) []byte {
	users := slices.Concat(w.Users, w.ServiceAccounts)
	slices.Sort(users)
	b = decision.AppendStrings(append(b, `"userNames":`...), slices.Compact(users))
	b = decision.AppendStrings(append(b, `,"groupNames":`...), w.Groups)
	warnings := slices.Clone(w.Warnings)
	if w.Trouble == "" && w.Reason != "" {
		warnings = append(warnings, w.Reason)
	}
	if len(w.Except) > 0 && len(w.Groups) > 0 {
		names := make([]string, len(w.Except))
		for i, e := range w.Except {
			names[i] = e.Kind + " " + e.Name
		}
		warnings = append(warnings, "may not hold for: "+strings.Join(names, ", "))
	}
	if text := evaluationError(w.Trouble, warnings); text != "" {
		b = decision.AppendString(append(b, `,"evaluationError":`...), text)
	}
	return append(b, "}}\n"...)
}
