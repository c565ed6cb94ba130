package decision

// Fingerprints identify what the authorizations of a revision depend on. Comparing
// those of two revisions shows which authorizations of the first are valid for the
// second. They must not be written.
type Fingerprints struct {
	Revision string
	Policies map[DocumentName]PolicyFingerprint
	Sources  map[DocumentName]SourceFingerprint
}

// DocumentName names a document of a known kind.
type DocumentName struct{ Namespace, Name string }

// PolicyFingerprint identifies the content of a policy, but not its position, and
// lists its subjects.
type PolicyFingerprint struct {
	Hash string
	// Names are users, service accounts among them as system:serviceaccount:NS:NAME.
	Names  []string
	Groups []string
}

// SourceFingerprint identifies the content of a metric source. No policy can refer
// to a source with an empty Type.
type SourceFingerprint struct {
	Hash string
	Type string
}
