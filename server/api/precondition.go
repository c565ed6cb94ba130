package api

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
)

// Headers that are preconditions of a request on the revision that answers it. The
// header of an answer that names its revision is the same as that of a request.
const (
	revisionName    = "Writ-Revision"
	minSequenceName = "Writ-Min-Sequence"
)

// precondition is what a request requires of the revision. The zero value requires
// nothing.
type precondition struct {
	revision string
	sequence int64
}

// readPrecondition reads the headers. A malformed header is rejected; ignoring it
// would defeat its purpose.
func readPrecondition(header http.Header) (p precondition, refused *refusal) {
	// The maps are indexed by the canonical names: most requests have neither.
	revisions, sequences := header[revisionName], header[minSequenceName]
	if revisions == nil && sequences == nil {
		return p, nil
	}
	if len(revisions) > 1 || len(sequences) > 1 {
		return p, &refusal{status: http.StatusBadRequest, message: revisionName + " and " + minSequenceName + " must not be repeated"}
	}
	if len(revisions) == 1 {
		if p.revision = revisions[0]; p.revision == "" {
			return p, &refusal{status: http.StatusBadRequest, message: revisionName + " must not be empty"}
		}
	}
	if len(sequences) == 1 {
		n, err := strconv.ParseInt(sequences[0], 10, 64)
		if err != nil || n < 0 {
			return p, &refusal{status: http.StatusBadRequest, message: minSequenceName + " must be a non-negative integer"}
		}
		p.sequence = n
	}
	return p, nil
}

var (
	errOtherRevision = &refusal{status: http.StatusPreconditionFailed, message: "the active revision is not the one that " + revisionName + " names"}
	errOlderRevision = &refusal{status: http.StatusPreconditionFailed, message: "the sequence number of the active revision is below " + minSequenceName}
)

// check returns the refusal if the policies do not meet the precondition. The caller
// may repeat the request, here or elsewhere.
func (p precondition) check(policies decision.Policies) *refusal {
	switch {
	case p.revision != "" && p.revision != policies.Revision():
		return errOtherRevision
	case policies.Sequence() < p.sequence:
		return errOlderRevision
	}
	return nil
}

// policies loads the active revision, once a request, and checks the request's
// preconditions. The answer names the revision, a refusal as well.
func (s *service) policies(c *gin.Context) (decision.Policies, *refusal) {
	policies := s.Current()
	s.setRevision(c, policies.Revision())
	required, refused := readPrecondition(c.Request.Header)
	if refused == nil {
		refused = required.check(policies)
	}
	return policies, refused
}

// revisionHeader is the header of the last answer. Most have the same.
type revisionHeader struct{ values []string }

func (s *service) setRevision(c *gin.Context, revision string) {
	if revision == "" {
		return
	}
	last := s.revision.Load()
	if last == nil || last.values[0] != revision {
		last = &revisionHeader{[]string{revision}}
		s.revision.Store(last)
	}
	c.Writer.Header()[revisionName] = last.values
}
