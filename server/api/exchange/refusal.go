package exchange

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Refusal is why a request gets no answer: the one thing that becomes a status code.
// Its message is for the caller and reveals nothing internal.
type Refusal struct {
	Status  int
	Message string
	// Field is the key of the body that is at fault, if one is.
	Field string
	// Invalid marks a body that is not a request of its endpoint; Code is why, if it
	// is more specific than invalid_request.
	Invalid bool
	Code    string
	// Diagnostics is a JSON list of the mistakes in documents of the body; nil for none.
	Diagnostics []byte
	// Untranslatable is a JSON list of what a filter cannot say exactly; nil for none.
	Untranslatable []byte
	// Errors are what OPA's form lists; nil for none.
	Errors []error
	// Reason is set if the request is refused to bound memory.
	Reason metrics.Reason
}

// IsShed reports whether the request is refused only because of other requests.
func (r *Refusal) IsShed() bool {
	return r == tooManyRequests || r.Reason != "" && r.Status == http.StatusServiceUnavailable
}

// Refusals that several protocols use.
var (
	NotFound        = &Refusal{Status: http.StatusNotFound, Message: "path not found"}
	tooManyRequests = &Refusal{Status: http.StatusServiceUnavailable, Message: "too many requests in flight"}
	bodiesInUse     = &Refusal{Status: http.StatusServiceUnavailable, Message: "the bodies in flight take too much memory", Reason: metrics.BodiesInUse}
	tooManyLarge    = &Refusal{Status: http.StatusServiceUnavailable, Message: "too many large bodies in flight", Reason: metrics.LargeBodies}
	ValuesInUse     = &Refusal{Status: http.StatusServiceUnavailable, Message: "too many values in flight", Reason: metrics.ValuesInUse}
	answersInUse    = &Refusal{Status: http.StatusServiceUnavailable, Message: "the answers that are being sent take too much memory", Reason: metrics.AnswersInUse}
	Unauthorized    = &Refusal{Status: http.StatusUnauthorized, Message: "the request needs a caller the server can authenticate"}
	forbidden       = &Refusal{Status: http.StatusForbidden, Message: auth.ErrRole.Error()}
	unavailable     = &Refusal{Status: http.StatusServiceUnavailable, Message: auth.ErrUnavailable.Error()}
	crossSite       = &Refusal{Status: http.StatusForbidden, Message: "requests of pages of other sites are not answered"}
	undeclared      = &Refusal{Status: http.StatusUnsupportedMediaType, Message: "the content type must be application/json"}
	misdirected     = &Refusal{Status: http.StatusMisdirectedRequest, Message: "the host must be an address, localhost or an allowed name"}
	// Internal is the refusal after a panic.
	Internal       = &Refusal{Status: http.StatusInternalServerError, Message: decision.ErrInternal.Error()}
	MalformedQuery = &Refusal{Status: http.StatusBadRequest, Message: "the query is malformed"}
	BodyTimeout    = &Refusal{Status: http.StatusRequestTimeout, Message: "the body took too long"}
	BodyIncomplete = &Refusal{Status: http.StatusBadRequest, Message: "the body ended too early"}
)

// MethodNotAllowed is the refusal of a method that a path does not have.
func MethodNotAllowed(methods string) *Refusal {
	return &Refusal{Status: http.StatusMethodNotAllowed, Message: "the method is not one of this path's: " + methods}
}

// BadRequest is the refusal of a body for one of its keys.
func BadRequest(field, message string) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Message: message, Field: field, Invalid: true}
}

// InvalidBody is the refusal of what package decision calls invalid.
func InvalidBody(err error) *Refusal {
	e := decision.AsInvalidRequest(err)
	r := BadRequest(e.Field, e.Error())
	r.Code = e.Code
	return r
}

// Form is how a protocol writes refusals.
type Form func(*Refusal) (status int, contentType []string, body []byte)

// Content types of answers, made once: the slices are shared and never written.
var (
	JSON        = []string{"application/json"}
	PlainText   = []string{"text/plain; charset=utf-8"}
	problemType = []string{"application/problem+json"}
)

// Refuse answers with a refusal. A request that is shed gets no Retry-After: with one,
// an API server comes back with the request until its own time is up.
func (s *Service) Refuse(w http.ResponseWriter, form Form, r *Refusal) {
	if r.Reason != "" {
		s.Metrics.Refused(r.Reason)
	}
	switch {
	case r.IsShed():
		s.Metrics.Shed()
	case r.Status == http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close") // the rest is not read
	case r.Status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="writ"`)
	}
	status, contentType, body := form(r)
	Write(w, status, contentType, body)
}

// bufferedBody is the size of a body above which net/http sends chunks if the length is not given.
const bufferedBody = 2 << 10

// Write writes an answer.
func Write(w http.ResponseWriter, status int, contentType []string, body []byte) {
	w.Header()["Content-Type"] = contentType
	if len(body) > bufferedBody {
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	// An error here means that the caller has left.
	_, _ = w.Write(body)
}

// Problem is the form of RFC 9457.
func Problem(r *Refusal) (status int, contentType []string, body []byte) {
	b := []byte(`{"type":"about:blank","title":`)
	b = jsontext.AppendString(b, http.StatusText(r.Status))
	b = strconv.AppendInt(append(b, `,"status":`...), int64(r.Status), 10)
	b = jsontext.AppendString(append(b, `,"detail":`...), Line(r.Message, MaxText))
	if r.Invalid {
		b = jsontext.AppendString(append(b, `,"error":{"code":`...), cmp.Or(r.Code, decision.CodeInvalidRequest))
		b = jsontext.AppendString(append(b, `,"message":`...), Line(r.Message, MaxText))
		if r.Untranslatable != nil {
			b = append(append(b, `,"untranslatable":`...), r.Untranslatable...)
		}
		b = append(b, '}')
	}
	if r.Field != "" {
		b = jsontext.AppendString(append(b, `,"field":`...), Line(r.Field, MaxName))
	}
	if r.Diagnostics != nil {
		b = append(append(b, `,"diagnostics":`...), r.Diagnostics...)
	}
	return r.Status, problemType, append(b, "}\n"...)
}

// Status is the form of the Kubernetes and Origin APIs: a Status object.
func Status(r *Refusal) (status int, contentType []string, body []byte) {
	b := []byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":`)
	b = jsontext.AppendString(b, Line(r.Message, MaxText))
	b = jsontext.AppendString(append(b, `,"reason":`...), statusReasons[r.Status])
	if r.Field != "" {
		b = jsontext.AppendString(append(b, `,"details":{"causes":[{"reason":"FieldValueInvalid","message":`...), Line(r.Message, MaxText))
		b = append(jsontext.AppendString(append(b, `,"field":`...), Line(r.Field, MaxName)), "}]}"...)
	}
	b = strconv.AppendInt(append(b, `,"code":`...), int64(r.Status), 10)
	return r.Status, JSON, append(b, "}\n"...)
}

// statusReasons are the words Kubernetes has for status codes.
var statusReasons = map[int]string{
	http.StatusBadRequest:            "BadRequest",
	http.StatusUnauthorized:          "Unauthorized",
	http.StatusForbidden:             "Forbidden",
	http.StatusNotFound:              "NotFound",
	http.StatusGone:                  "Expired",
	http.StatusPreconditionFailed:    "PreconditionFailed",
	http.StatusMisdirectedRequest:    "MisdirectedRequest",
	http.StatusMethodNotAllowed:      "MethodNotAllowed",
	http.StatusNotAcceptable:         "NotAcceptable",
	http.StatusRequestTimeout:        "Timeout",
	http.StatusRequestEntityTooLarge: "RequestEntityTooLarge",
	http.StatusUnsupportedMediaType:  "UnsupportedMediaType",
	http.StatusUnprocessableEntity:   "Invalid",
	http.StatusTooManyRequests:       "TooManyRequests",
	http.StatusInternalServerError:   "InternalError",
	http.StatusServiceUnavailable:    "ServiceUnavailable",
}
