package tables

// Reads states which parts of a request restrictions read, besides what selects their
// rule.
type Reads uint8

// The parts of a request.
const (
	ReadsFields   Reads = 1 << iota // the changed fields
	ReadsLabels                     // the labels of the object
	ReadsNodes                      // the nodes of the requester and of the pod
	ReadsAll                        // any part
	ReadsSelected                   // the fields that a field selector selects by
)

// Reads returns what the restrictions read; nothing for nil.
func (r *Restrictions) Reads() (reads Reads) {
	switch {
	case r == nil:
		return 0
	case r.Expression != "" || r.Extension != "":
		return ReadsAll
	}
	if r.Fields != nil {
		reads |= ReadsFields
	}
	if r.Labels != nil {
		reads |= ReadsLabels
	}
	if r.Select != nil {
		reads |= ReadsSelected
	}
	if r.SameMinion {
		reads |= ReadsNodes
	}
	return reads
}

// Reads returns what the restrictions of the rules read.
func (r *Role) Reads() (reads Reads) {
	for i := range r.Origin {
		reads |= r.Origin[i].Restrictions.Reads()
	}
	return reads
}
