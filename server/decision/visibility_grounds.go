package decision

// Grounds are what the authorizations of a revision rest on: with those of two
// revisions one can tell which authorizations the second leaves standing. They are
// never written.
type Grounds struct {
	Revision string
	Policies map[DocumentName]PolicyGround
	Sources  map[DocumentName]SourceGround
}

// DocumentName names a document of a known kind.
type DocumentName struct{ Namespace, Name string }

// PolicyGround is a policy: all that it says, as a hash that where it stands does
// not enter, and whom it is for.
type PolicyGround struct {
	Hash string
	// Names are users, service accounts among them as system:serviceaccount:NS:NAME.
	Names  []string
	Groups []string
}

// SourceGround is a metric source; without a type no policy can refer to it.
type SourceGround struct {
	Hash string
	Type string
}

// Renewer is a Viewer whose authorizations may outlive their revision.
type Renewer interface {
	Viewer
	// Revision is the current one, empty where there is none.
	Revision() string
	// Grounds are those of the current revision, nil where there is none.
	Grounds() *Grounds
	// Renew is an authorization of an earlier revision as the current one gives it,
	// provided that no policy of its principal is another. It is false where it
	// cannot be told.
	Renew(a Authorization) (Authorization, bool)
}
