package diag

import (
	"cmp"
	"slices"
)

// Explanation is the text that `writ explain` prints for a code.
type Explanation struct {
	Code Code
	// Severity is Warning for codes that are never errors.
	Severity Severity
	// Summary is one line, Text a paragraph or two.
	Summary string
	Text    string
	// Example is a document, or a part of one, that raises the code. Instead is
	// the correction. Both are empty if the code is about files.
	Example string
	Instead string
}

// Explain returns the explanation of a code, or false if the code is not known.
func Explain(code Code) (Explanation, bool) {
	for _, group := range explanations {
		for _, e := range group {
			if e.Code == code {
				return e, true
			}
		}
	}
	return Explanation{}, false
}

// Explanations returns all explanations, sorted by code.
func Explanations() []Explanation {
	all := slices.Concat(explanations...)
	slices.SortFunc(all, func(a, b Explanation) int { return cmp.Compare(a.Code, b.Code) })
	return all
}

// explanations is the table, in the same groups as the codes below.
var explanations = [][]Explanation{
	documentExplanations, dateExplanations, restrictionExplanations, referenceExplanations,
	warningExplanations, riskExplanations, acceptExplanations, denyPolicyExplanations, visibilityExplanations, gatewayExplanations, sourceExplanations,
}

// The codes, grouped by family. Each has an entry in explanations.
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
	TooLarge        Code = "too-large"
	AssertionForm   Code = "assertion-form"
	NoReference     Code = "no-reference"

	NeverValid        Code = "never-valid"
	UnknownAnnotation Code = "unknown-annotation"
	DatesNotEnforced  Code = "dates-not-enforced"
	Expired           Code = "expired"
	EndsSoon          Code = "ends-soon"
	NeverEnds         Code = "never-ends"
	LiftsDenials      Code = "lifts-denials"
	LongerThanAllowed Code = "longer-than-allowed"
	SelfApproval      Code = "self-approval"
	ApproverDomain    Code = "approver-domain"
	HiddenApprover    Code = "hidden-approver"
	Provider          Code = "provider"
	TestNeedsNow      Code = "test-needs-now"

	EmptyRestriction   Code = "empty-restriction"
	UnknownRestriction Code = "unknown-restriction"
	RoleReference      Code = "role-reference"
	KeyMismatch        Code = "key-mismatch"

	DanglingRole       Code = "dangling-role"
	UndecodedReference Code = "undecoded-reference"
	ForeignReference   Code = "foreign-reference"
	NoPolicy           Code = "no-policy"
	NoPolicyBinding    Code = "no-policy-binding"
	PolicyBindingName  Code = "policy-binding-name"
	Duplicate          Code = "duplicate"
	NoDocuments        Code = "no-documents"
	AggregationLimit   Code = "aggregation-limit"
	Interrupted        Code = "interrupted"

	Rego            Code = "rego"
	UnsafeExtension Code = "unsafe-extension"

	MatchesNothing    Code = "matches-nothing"
	UnknownVerb       Code = "unknown-verb"
	UnknownResource   Code = "unknown-resource"
	UnknownGroup      Code = "unknown-group"
	UnknownCapability Code = "unknown-capability"
	LiteralStar       Code = "literal-star"
	LiteralPattern    Code = "literal-pattern"
	NoSubjects        Code = "no-subjects"
	EmptyAggregation  Code = "empty-aggregation"
	SuperfluousRule   Code = "superfluous-rule"
	UnboundRole       Code = "unbound-role"

	Unsupported          Code = "unsupported"
	BadTemplate          Code = "bad-template"
	UnreachableThreshold Code = "unreachable-threshold"
	RepeatedEntry        Code = "repeated-entry"
	DanglingReference    Code = "dangling-reference"
	DanglingPolicy       Code = "dangling-policy"
	NoThresholds         Code = "no-thresholds"
	LargeWeight          Code = "large-weight"
	NamespaceIgnored     Code = "namespace-ignored"
	IdleOverride         Code = "idle-override"
	EmptyReference       Code = "empty-reference"
	NoLegacyMode         Code = "no-legacy-mode"
	IgnoredCondition     Code = "ignored-condition"

	Value                Code = "value"
	Exclusive            Code = "exclusive"
	BadStrategy          Code = "strategy"
	NoTarget             Code = "no-target"
	TargetKind           Code = "target-kind"
	TargetGroup          Code = "target-group"
	TargetNotFound       Code = "target-not-found"
	NoRules              Code = "no-rules"
	Method               Code = "method"
	CEL                  Code = "cel"
	WhenForm             Code = "when-form"
	BadOperator          Code = "operator"
	BadRegex             Code = "regex"
	BadSelector          Code = "selector"
	RegoBuiltin          Code = "rego-builtin"
	PatternRef           Code = "pattern-ref"
	UnsetForm            Code = "unset-form"
	UnsetForbidden       Code = "unset-forbidden"
	ParentNotFound       Code = "parent-not-found"
	ParentKind           Code = "parent-kind"
	Cycle                Code = "cycle"
	NamespaceSelector    Code = "namespace-selector"
	UnsetOverride        Code = "unset-override"
	UnsetNothing         Code = "unset-nothing"
	OwnDefaultsShadowed  Code = "own-defaults-shadowed"
	RouteNotAccepted     Code = "route-not-accepted"
	RouteConflict        Code = "route-conflict"
	HeaderName           Code = "header-name"
	RegoNoAllow          Code = "rego-no-allow"
	RegoV0               Code = "rego-v0"
	NotComputed          Code = "not-computed"
	UnknownAttribute     Code = "unknown-attribute"
	Overridden           Code = "overridden"
	RepeatedName         Code = "repeated-name"
	DanglingField        Code = "dangling-field"
	UnfilterableField    Code = "unfilterable-field"
	MalformedTime        Code = "malformed-time"
	EqualPriority        Code = "equal-priority"
	AlternativeSelectors Code = "alternative-selectors"
	UnanchoredPattern    Code = "unanchored-pattern"
	UnreachableRule      Code = "unreachable-rule"
	IgnoredFilter        Code = "ignored-filter"
	UnknownType          Code = "unknown-type"
	UnknownAggregation   Code = "unknown-aggregation"
	NoCriteria           Code = "no-criteria"
	RawAggregations      Code = "raw-aggregations"
	NoEffect             Code = "no-effect"
	EmptyList            Code = "empty-list"
	PathLimit            Code = "path-limit"

	EscalationGrant   Code = "escalation-grant"
	Escalation        Code = "escalation"
	StockRoleInMaster Code = "stock-role-in-master"
	ReviewDenies      Code = "review-denies"
	SelectorTrust     Code = "selector-trust"

	RiskAllPowers       Code = "risk-all-powers"
	RiskEverybody       Code = "risk-everybody"
	RiskDefaultAccount  Code = "risk-default-account"
	RiskReadSecrets     Code = "risk-read-secrets"
	RiskCreatePods      Code = "risk-create-pods"
	RiskCreateWorkloads Code = "risk-create-workloads"
	RiskExec            Code = "risk-exec"
	RiskPortForward     Code = "risk-port-forward"
	RiskNodeProxy       Code = "risk-node-proxy"
	RiskAccountToken    Code = "risk-account-token"
	RiskImpersonate     Code = "risk-impersonate"
	RiskBindEscalate    Code = "risk-bind-escalate"
	RiskWriteRoles      Code = "risk-write-roles"
	RiskAdmission       Code = "risk-admission"
	RiskCertificates    Code = "risk-certificates"
	RiskCreateVolumes   Code = "risk-create-volumes"
	RiskSystemConfig    Code = "risk-system-config"
	RiskChangeNodes     Code = "risk-change-nodes"
	RiskServiceStatus   Code = "risk-service-status"
	RiskDelete          Code = "risk-delete"
	RiskDeleteEvents    Code = "risk-delete-events"
	RiskWildcardVerbs   Code = "risk-wildcard-verbs"
	RiskReach           Code = "risk-reach"

	BadAcceptance     Code = "bad-acceptance"
	ExpiredAcceptance Code = "expired-acceptance"
	UnusedAcceptance  Code = "unused-acceptance"
)
