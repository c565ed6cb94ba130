package api

import (
	"net/http"
	"strconv"
	"strings"

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
		return errNotFound
	}
	return named(c)
}

// originReview answers both reviews.
func (s *service) originReview(c *gin.Context, p decision.Policies, value decision.Value, b *buffer) {
	form := originFormOf(c.Param("review"))
	q, refused := form.question(value, c.Param("version"), c.Param("namespace"))
	if refused == nil {
		b.bytes, refused = s.originAnswer(c, p, form, q, b.bytes)
	}
	if refused != nil {
		s.refuse(c, refused)
		return
	}
	write(c, http.StatusOK, jsonType, b.bytes)
}

// maxListing is how many listings are answered at a time. Each may try all
// principals: many of them must not starve the decisions.
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
func (s *service) originAnswer(c *gin.Context, p decision.Policies, form originForm, q *question, b []byte) ([]byte, *refusal) {
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
	if refused := s.mayAsk(c, p, form, q, caller); refused != nil {
		return b, refused
	}
	if form == resourceReview {
		if !s.listing.acquire(maxListing) {
			s.Metrics.Shed()
			return b, errTooManyRequests
		}
		defer s.listing.release()
		var w decision.WhoCan
		if err := s.assignCluster(&q.request); err != nil {
			w = w.Failed(err.Error())
		} else {
			w = s.whoCan(c, p, &q.request)
		}
		return appendWhoCan(appendReceived(b, q.received), &w), nil
	}
	q.request.User = q.user
	if q.group != "" {
		q.request.Groups = []string{q.group}
	} else if caller.is(q.user) {
		q.request.Groups = caller.Groups
	}
	d := s.decideReview(c, p, &q.request)
	return appendOriginStatus(appendReceived(b, q.received), &d), nil
}

// mayAsk refuses a caller that asks about others without the right to. Without an
// authenticator there are no callers to refuse.
func (s *service) mayAsk(c *gin.Context, p decision.Policies, form originForm, q *question, caller *Caller) *refusal {
	about := form == subjectReview && q.group == "" && caller.is(q.user)
	if s.Authenticator == nil || about {
		return nil
	}
	if caller == nil {
		return unauthorized()
	}
	d := s.decideReview(c, p, &decision.Request{
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
