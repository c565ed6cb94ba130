// Package kubernetes answers SubjectAccessReviews, as the webhook authorizer of an API
// server sends them. It turns a review into a request of the access point and the
// decision into the review's status.
//
// # Design
//
// An evaluation error is a denial with HTTP 200: an API server repeats a request that
// is answered with 500, and its user waits.
package kubernetes

import (
	"net/http"
	"strconv"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// Keys of a review's extra that hold its session and escalation unless they are
// configured otherwise.
const (
	DefaultSessionKey    = "writ.dev/session"
	DefaultEscalationKey = "writ.dev/escalation"
)

// Reviews answers SubjectAccessReviews. All fields are required.
type Reviews struct {
	Service *exchange.Service
	Decider *access.Decider
	// SessionKey and EscalationKey are the keys of a review's extra that hold its
	// session and escalation.
	SessionKey    string
	EscalationKey string
}

// Handler answers reviews of a version. A body that is not a review of this version is
// refused; a review that cannot be evaluated is denied.
func (s *Reviews) Handler(v Version) http.HandlerFunc {
	return s.Service.Decision(exchange.Decision{
		Form: Form,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			q := &decision.Request{Cluster: r.PathValue("cluster")}
			cause, refused := v.request(body, q)
			if refused != nil {
				return b, refused
			}
			if cause == "" {
				cause = s.prepare(q)
			}
			var d *decision.Decision
			if cause == "" {
				d = s.Decider.Authorize(r, p, q)
			} else {
				d = s.Decider.Undecided(cause)
			}
			return appendReview(b, body, d), nil
		},
	})
}

// brokenReview is the answer to a body that cannot be read as an object.
var brokenReview = []byte(`{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{},` +
	`"status":{"allowed":false,"denied":true,"evaluationError":"` + exchange.Internal.Message + `"}}` + "\n")

// Form is how API servers read refusals: an internal error is a denial, a request
// beyond a limit a plain 503, everything else a Status object.
func Form(r *exchange.Refusal) (status int, contentType []string, body []byte) {
	switch {
	case r == exchange.Internal:
		return http.StatusOK, exchange.JSON, brokenReview
	case r.IsShed():
		return r.Status, exchange.PlainText, []byte(r.Message + "\n")
	}
	return exchange.Status(r)
}

// prepare validates a review's request and adds what its extra holds. It returns why
// the review cannot be evaluated.
func (s *Reviews) prepare(r *decision.Request) (cause string) {
	if err := r.Validate(); err != nil {
		return err.Error()
	}
	return ReadExtra(r, s.SessionKey, s.EscalationKey)
}

// nodeName is the key of a user's extra that has the node to which the API server bound the
// token of a service account.
const nodeName = "authentication.kubernetes.io/node-name"

// ReadExtra adds what the extra of a request's user holds: the node, and under the two keys
// the session and the escalation. It returns why the request cannot be evaluated: of two
// values neither may count.
func ReadExtra(r *decision.Request, sessionKey, escalationKey string) (cause string) {
	if nodes := r.Extra[nodeName]; len(nodes) == 1 && r.Resource != "" {
		attribute(r, decision.AttributeNode, nodes[0])
	}
	for _, claim := range []struct {
		key string
		to  *string
	}{{sessionKey, &r.Session}, {escalationKey, &r.Escalation}} {
		switch values := r.Extra[claim.key]; len(values) {
		case 0:
		case 1:
			*claim.to = values[0]
		default:
			return "the review has more than one value of " + claim.key + " in its extra"
		}
	}
	return ""
}

// appendReview writes the object received with the decision as its status.
func appendReview(b []byte, received decision.Value, d *decision.Decision) []byte {
	b = strconv.AppendBool(append(access.AppendReceived(b, received), `"allowed":`...), d.Allowed)
	if d.Denied {
		b = append(b, `,"denied":true`...)
	}
	if d.Reason != "" {
		b = jsontext.AppendString(append(b, `,"reason":`...), exchange.Line(d.Reason, exchange.MaxReason))
	}
	if text := access.EvaluationErrorText(d.EvaluationError, d.Warnings); text != "" {
		b = jsontext.AppendString(append(b, `,"evaluationError":`...), text)
	}
	return append(b, "}}\n"...)
}
