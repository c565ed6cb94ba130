package resolve

import "github.com/writ-policy/writ/translator/diag"

// Codes of the mistakes found here. What each means, with an example, stands in
// the table of package diag.
const (
	codeNoDocuments       diag.Code = "no-documents"
	codeDuplicate         diag.Code = "duplicate"
	codeDanglingRole      diag.Code = "dangling-role"
	codeForeignReference  diag.Code = "foreign-reference"
	codeNoPolicy          diag.Code = "no-policy"
	codeNoPolicyBinding   diag.Code = "no-policy-binding"
	codePolicyBindingName diag.Code = "policy-binding-name"
	codeBadValue          diag.Code = "bad-value"
	codeTooLarge          diag.Code = "too-large"
	codeEmptyAggregation  diag.Code = "empty-aggregation"
	codeUnusedRole        diag.Code = "unused-role"
	codeUnknownRestrict   diag.Code = "unknown-restriction"
	codeUnsafeExtension   diag.Code = "unsafe-extension"
	codeRego              diag.Code = "rego"
)
