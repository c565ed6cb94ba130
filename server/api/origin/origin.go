// Package origin answers the reviews of the Origin API: may a subject do this, and who
// may. Callers may ask about themselves; asking about others needs the right to create
// such a review in its namespace. It shows auditors the roles, role bindings and policies
// of a namespace as objects.
package origin

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
)

// review is one of the two reviews.
type review struct {
	kind string
	// plural is the resource a caller needs the right to create.
	plural string
}

var (
	subjectReview  = review{"SubjectAccessReview", "subjectaccessreviews"}
	resourceReview = review{"ResourceAccessReview", "resourceaccessreviews"}
)

// reviewOf is the review that a path segment means: compared without regard to case
// and number, which no route pattern can express. Its kind is empty for any other.
func reviewOf(segment string) review {
	switch strings.ToLower(segment) {
	case "subjectaccessreview", "subjectaccessreviews":
		return subjectReview
	case "resourceaccessreview", "resourceaccessreviews":
		return resourceReview
	}
	return review{}
}

// Reviews answers the reviews. All fields are required.
type Reviews struct {
	Service *exchange.Service
	Decider *access.Decider
}

// Handler answers both reviews. Its path values are version, namespace and resource.
func (s *Reviews) Handler() http.HandlerFunc {
	return s.only(http.MethodPost, s.Service.Decision(exchange.Decision{
		Form: exchange.Status,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			v := reviewOf(r.PathValue("resource"))
			q, refused := v.question(body, r.PathValue("version"), r.PathValue("namespace"))
			if refused != nil {
				return b, refused
			}
			return s.answer(r, p, v, q, b)
		},
	}))
}

// isVersion accepts v1 and v1beta1, v1beta2 and so on.
func isVersion(version string) bool {
	number, beta := strings.CutPrefix(version, "v1beta")
	if !beta {
		return version == "v1"
	}
	_, err := strconv.ParseUint(number, 10, 16)
	return err == nil && number[0] != '0' && number[0] != '+'
}

// answer appends the answer to q to b.
func (s *Reviews) answer(r *http.Request, p decision.Policies, v review, q *question, b []byte) ([]byte, *exchange.Refusal) {
	caller := auth.CallerOf(r.Context())
	if v == subjectReview && q.user == "" && q.group == "" {
		if caller == nil {
			return b, exchange.Unauthorized
		}
		q.user = caller.Name
	}
	if refused := s.checkRight(r, p, v, q, caller); refused != nil {
		return b, refused
	}
	if v == resourceReview {
		refused := s.Service.Listing(func() *exchange.Refusal {
			w := s.Decider.WhoCan(r, p, &q.request)
			b = appendWhoCan(access.AppendReceived(b, q.received), &w)
			return nil
		})
		return b, refused
	}
	q.request.User = q.user
	if q.group != "" {
		q.request.Groups = []string{q.group}
	} else if caller.Is(q.user) {
		q.request.Groups = caller.Groups
	}
	d := s.Decider.Review(r, p, &q.request)
	return appendStatus(access.AppendReceived(b, q.received), d), nil
}

// checkRight refuses a caller that asks about others without the right to. On a listener
// without callers' credentials, nothing is refused.
func (s *Reviews) checkRight(r *http.Request, p decision.Policies, v review, q *question, caller *auth.Caller) *exchange.Refusal {
	aboutSelf := v == subjectReview && q.group == "" && caller.Is(q.user)
	if s.Service.Rule.IsOpen() || aboutSelf {
		return nil
	}
	if caller == nil {
		return exchange.Unauthorized
	}
	d := s.Decider.Review(r, p, &decision.Request{
		User: caller.Name, Groups: caller.Groups, Verb: "create",
		Resource: v.plural, Namespace: q.request.Namespace,
	})
	if d.Allowed {
		return nil
	}
	return &exchange.Refusal{
		Status:  http.StatusForbidden,
		Message: "asking about others needs the right to create " + v.plural + " in namespace " + exchange.Line(q.request.Namespace, exchange.MaxName),
	}
}
