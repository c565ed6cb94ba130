package diag

// The codes, grouped by what they speak of. Each has its entry in explanations.
const (
	YAML            Code = "yaml"
	UnknownKind     Code = "unknown-kind"
	UnknownField    Code = "unknown-field"
	DuplicateField  Code = "duplicate-field"
	WrongType       Code = "wrong-type"
	Missing         Code = "missing"
	BadName         Code = "bad-name"
	BadValue        Code = "bad-value"
	BadPattern      Code = "bad-pattern"
	TooManyMistakes Code = "too-many-mistakes"

	EmptyRestriction   Code = "empty-restriction"
	UnknownRestriction Code = "unknown-restriction"
	RoleReference      Code = "role-reference"
	KeyMismatch        Code = "key-mismatch"

	DanglingRole      Code = "dangling-role"
	ForeignReference  Code = "foreign-reference"
	NoPolicy          Code = "no-policy"
	NoPolicyBinding   Code = "no-policy-binding"
	PolicyBindingName Code = "policy-binding-name"
	Duplicate         Code = "duplicate"
	NoDocuments       Code = "no-documents"

	Rego            Code = "rego"
	UnsafeExtension Code = "unsafe-extension"

	MatchesNothing   Code = "matches-nothing"
	UnknownVerb      Code = "unknown-verb"
	LiteralStar      Code = "literal-star"
	LiteralPattern   Code = "literal-pattern"
	NoSubjects       Code = "no-subjects"
	EmptyAggregation Code = "empty-aggregation"
	SuperfluousRule  Code = "superfluous-rule"
	UnboundRole      Code = "unbound-role"

	EscalationGrant Code = "escalation-grant"
	Escalation      Code = "escalation"
)
