package api

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
)

// Headers by which a request demands what it is answered from. The header of an
// answer, which says what it was, has the same name as that for one revision.
const (
	revisionName    = "Writ-Revision"
	minSequenceName = "Writ-Min-Sequence"
)

// Revisions tells the sequence numbers of revisions that are served, or were just
// before.
type Revisions interface {
	// Sequence is zero for a revision without a number, and false for one that is not
	// known.
	Sequence(revision string) (int64, bool)
	// Revision is what the next request will be answered by; empty for none.
	Revision() string
}

// demand is what a request wants to be answered from. The zero value is nothing.
type demand struct {
	revision string
	sequence int64
}

// demandOf reads the headers. A demand that cannot be read is refused: to answer as
// if there were none would be what it was to prevent.
func demandOf(header http.Header) (demand, *refusal) {
	// The maps are looked into by the canonical names: most requests have neither.
	revisions, sequences := header[revisionName], header[minSequenceName]
	if revisions == nil && sequences == nil {
		return demand{}, nil
	}
	var d demand
	if len(revisions) > 1 || len(sequences) > 1 {
		return d, &refusal{status: http.StatusBadRequest, message: "a demand is made once"}
	}
	if len(revisions) == 1 {
		if d.revision = revisions[0]; d.revision == "" {
			return d, &refusal{status: http.StatusBadRequest, message: "the header " + revisionName + " is empty"}
		}
	}
	if len(sequences) == 1 {
		n, err := strconv.ParseInt(sequences[0], 10, 64)
		if err != nil || n < 0 {
			return d, &refusal{status: http.StatusBadRequest, message: "the header " + minSequenceName + " is no sequence number"}
		}
		d.sequence = n
	}
	return d, nil
}

// unmet is the refusal of a demand that the revision does not meet, nil where it
// does. Whoever asks may ask again, or somebody else.
func (s *service) unmet(d demand, revision string) *refusal {
	switch {
	case d.revision != "" && d.revision != revision:
		return &refusal{status: http.StatusPreconditionFailed, message: "another revision is served than the request demands"}
	case d.sequence > 0:
		n := int64(0)
		if s.Revisions != nil {
			n, _ = s.Revisions.Sequence(revision)
		}
		if n < d.sequence {
			return &refusal{status: http.StatusPreconditionFailed, message: "the revision that is served has a lower sequence number than the request demands"}
		}
	}
	return nil
}

// demanded refuses a request at once whose demand is not met; what is answered is
// looked at again when it is known which revision did.
func (s *service) demanded(c *gin.Context) *refusal {
	d, refused := demandOf(c.Request.Header)
	if refused != nil || d == (demand{}) {
		return refused
	}
	if s.Revisions != nil {
		if refused := s.unmet(d, s.Revisions.Revision()); refused != nil {
			s.setRevision(c, s.Revisions.Revision())
			return refused
		}
	}
	c.Set(demandKey, d)
	return nil
}

const demandKey = "demand"

// answeredBy notes which revision answered, and refuses the request if that is not
// what it demands: the revision may have been swapped since the request came. What
// is written after a refusal goes nowhere.
func (s *service) answeredBy(c *gin.Context, revision string) (met bool) {
	s.setRevision(c, revision)
	value, demanding := c.Get(demandKey)
	if !demanding {
		return true
	}
	refused := s.unmet(value.(demand), revision)
	if refused != nil {
		s.refuse(c, refused)
	}
	return refused == nil
}
