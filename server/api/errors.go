package api

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
)

// refusal is why a request gets no answer: the one thing that becomes a status
// code. Its message is for the caller and has nothing internal in it.
type refusal struct {
	status  int
	message string
	// field is the key of the body that is at fault, if one is.
	field string
	// invalid marks a body that is not a request of this endpoint; code is why, if it
	// is more specific than invalid_request.
	invalid bool
	code    string
}

// badRequest is the refusal of a body for one of its keys.
func badRequest(field, message string) *refusal {
	return &refusal{status: http.StatusBadRequest, message: message, field: field, invalid: true}
}

// invalidBody is the refusal of what package decision calls invalid.
func invalidBody(err error) *refusal {
	e := decision.AsInvalidRequest(err)
	r := badRequest(e.Field, e.Message)
	r.code = e.Code
	return r
}

// refuse answers with a refusal: a Status object where clients of Kubernetes and
// Origin ask, an object with the key error where those of the debugging API do, a
// problem of RFC 9457 elsewhere.
func (s *service) refuse(c *gin.Context, r *refusal) {
	if r.status == http.StatusRequestEntityTooLarge {
		c.Writer.Header().Set("Connection", "close") // the rest is not read
	}
	if r.status == http.StatusUnauthorized {
		c.Writer.Header().Set("WWW-Authenticate", `Bearer realm="writ"`)
	}
	if speaksDebug(c.Request.URL.Path) {
		write(c, r.status, jsonType, errorBody(r))
		return
	}
	if speaksStatus(c.Request.URL.Path) {
		write(c, r.status, jsonType, statusBody(r))
		return
	}
	write(c, r.status, problemType, problemBody(r))
}

func problemBody(r *refusal) []byte {
	b := []byte(`{"type":"about:blank","title":`)
	b = decision.AppendString(b, http.StatusText(r.status))
	b = strconv.AppendInt(append(b, `,"status":`...), int64(r.status), 10)
	b = decision.AppendString(append(b, `,"detail":`...), line(r.message, maxText))
	if r.invalid {
		b = decision.AppendString(append(b, `,"error":{"code":`...), cmp.Or(r.code, decision.CodeInvalidRequest))
		b = append(decision.AppendString(append(b, `,"message":`...), line(r.message, maxText)), '}')
	}
	if r.field != "" {
		b = decision.AppendString(append(b, `,"field":`...), line(r.field, maxName))
	}
	return append(b, "}\n"...)
}

func statusBody(r *refusal) []byte {
	b := []byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":`)
	b = decision.AppendString(b, line(r.message, maxText))
	b = decision.AppendString(append(b, `,"reason":`...), statusReasons[r.status])
	if r.field != "" {
		b = decision.AppendString(append(b, `,"details":{"causes":[{"reason":"FieldValueInvalid","message":`...), line(r.message, maxText))
		b = append(decision.AppendString(append(b, `,"field":`...), line(r.field, maxName)), "}]}"...)
	}
	b = strconv.AppendInt(append(b, `,"code":`...), int64(r.status), 10)
	return append(b, "}\n"...)
}

// statusReasons are the words Kubernetes has for status codes.
var statusReasons = map[int]string{
	http.StatusBadRequest:            "BadRequest",
	http.StatusUnauthorized:          "Unauthorized",
	http.StatusForbidden:             "Forbidden",
	http.StatusNotFound:              "NotFound",
	http.StatusPreconditionFailed:    "PreconditionFailed",
	http.StatusMethodNotAllowed:      "MethodNotAllowed",
	http.StatusRequestTimeout:        "Timeout",
	http.StatusRequestEntityTooLarge: "RequestEntityTooLarge",
	http.StatusUnsupportedMediaType:  "UnsupportedMediaType",
	http.StatusInternalServerError:   "InternalError",
	http.StatusServiceUnavailable:    "ServiceUnavailable",
}

// write writes an answer, unless the request has been refused meanwhile.
func write(c *gin.Context, status int, contentType []string, body []byte) {
	if c.Writer.Written() {
		return
	}
	c.Writer.Header()["Content-Type"] = contentType
	c.Writer.WriteHeader(status)
	// An error here means that the caller has left.
	_, _ = c.Writer.Write(body)
}
