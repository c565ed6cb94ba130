package exchange

import (
	"net/http"
	"strconv"

	"github.com/writ-policy/writ/server/decision"
)

// Headers that are preconditions of a request on the revision that answers it. The
// header of an answer that names its revision is the same as that of a request.
const (
	RevisionHeader    = "Writ-Revision"
	MinSequenceHeader = "Writ-Min-Sequence"
)

// precondition is what a request requires of the revision. The zero value requires
// nothing.
type precondition struct {
	revision string
	sequence int64
}

// readPrecondition reads the headers. A malformed header is rejected; ignoring it
// would defeat its purpose.
func readPrecondition(header http.Header) (p precondition, refused *Refusal) {
	// The maps are indexed by the canonical names: most requests have neither.
	revisions, sequences := header[RevisionHeader], header[MinSequenceHeader]
	if revisions == nil && sequences == nil {
		return p, nil
	}
	if len(revisions) > 1 || len(sequences) > 1 {
		return p, &Refusal{Status: http.StatusBadRequest, Message: RevisionHeader + " and " + MinSequenceHeader + " must not be repeated"}
	}
	if len(revisions) == 1 {
		if p.revision = revisions[0]; p.revision == "" {
			return p, &Refusal{Status: http.StatusBadRequest, Message: RevisionHeader + " must not be empty"}
		}
	}
	if len(sequences) == 1 {
		n, err := strconv.ParseInt(sequences[0], 10, 64)
		if err != nil || n < 0 {
			return p, &Refusal{Status: http.StatusBadRequest, Message: MinSequenceHeader + " must be a non-negative integer"}
		}
		p.sequence = n
	}
	return p, nil
}

var (
	errOtherRevision = &Refusal{Status: http.StatusPreconditionFailed, Message: "the revision that answers is not the one that " + RevisionHeader + " names"}
	errOlderRevision = &Refusal{Status: http.StatusPreconditionFailed, Message: "the sequence number of the revision that answers is below " + MinSequenceHeader}
)

// check returns the refusal if a revision does not meet the precondition. The caller
// may repeat the request, here or elsewhere.
func (p precondition) check(of *decision.Loaded) *Refusal {
	switch {
	case p.revision != "" && p.revision != of.Revision:
		return errOtherRevision
	case of.Sequence < p.sequence:
		return errOlderRevision
	}
	return nil
}

// revisionHeader is the header of the last answer. Most have the same.
type revisionHeader struct{ values []string }

func (s *Service) setRevision(header http.Header, revision string) {
	if revision == "" {
		return
	}
	last := s.revision.Load()
	if last == nil || last.values[0] != revision {
		last = &revisionHeader{[]string{revision}}
		s.revision.Store(last)
	}
	header[RevisionHeader] = last.values
}
