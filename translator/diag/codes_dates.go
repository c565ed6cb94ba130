package diag

// dateExplanations explain mistakes in the dates of documents.
var dateExplanations = []Explanation{
	{
		Code:    NeverValid,
		Summary: "the end of a document is not after its beginning",
		Text: `A binding or a DenyPolicy holds from notBefore and before notAfter. With an end that is not later
than the beginning it would hold at no time. In an export of a cluster this is a warning: such a
binding never holds, and such a DenyPolicy always does.`,
		Example: `apiVersion: writ.dev/v1
kind: RoleBinding
metadata: {name: visit, namespace: shop}
roleRef: {namespace: master, name: view}
userNames: [eve]
notBefore: "2026-03-01T09:00:00Z"
notAfter: "2026-02-01T09:00:00Z"`,
		Instead: `notAfter: "2026-04-01T09:00:00Z"`,
	},
	{
		Code:    UnknownAnnotation,
		Summary: "an annotation of writ.dev is not known, or is not read in this kind",
		Text: `The annotations writ.dev/not-before and writ.dev/not-after are read in bindings of Kubernetes and
in DenyPolicies. Any other annotation that begins with writ.dev/ is reported: with a misspelt end a
document would not end. A RoleBinding of writ.dev has the fields notBefore and notAfter instead. In an export of
a cluster this is a warning in bindings and DenyPolicies: such a binding never holds, and such a
DenyPolicy always does.`,
		Example: `kind: RoleBinding
metadata:
  name: visit
  namespace: shop
  annotations: {writ.dev/not-afer: "2026-03-01T09:00:00Z"}`,
		Instead: `  annotations: {writ.dev/not-after: "2026-03-01T09:00:00Z"}`,
	},
	{
		Code:    DanglingPolicy,
		Summary: "denyPolicyRefs of a session names a DenyPolicy that does not exist",
		Text: `The policies of denyPolicyRefs bind the user of an approved session. Without one of them the
session would allow what it is meant to deny. In an export of a cluster this is a warning, and the
session is never valid.`,
		Example: `kind: BreakglassSession
metadata: {name: s1}
spec: {cluster: prod-1, user: bob, grantedGroup: admins, denyPolicyRefs: [no-secret]}
status: {state: Approved, expiresAt: "2026-03-01T10:00:00Z"}`,
		Instead: `spec: {cluster: prod-1, user: bob, grantedGroup: admins, denyPolicyRefs: [no-secrets]}`,
	},
	{
		Code: DatesNotEnforced, Severity: Warning,
		Summary: "a cluster does not read the dates of a document",
		Text: `The authorizer of a Kubernetes API server does not know the annotations writ.dev/not-before and
writ.dev/not-after: a binding that is applied to a cluster grants there before, during and after.
A webhook cannot take that back, because the API server asks its own authorizer next. What should
end is a RoleBinding of writ.dev, or a binding that is served and not applied.`,
		Example: `kind: RoleBinding
metadata:
  name: visit
  namespace: shop
  annotations: {writ.dev/not-after: "2026-03-01T09:00:00Z"}`,
		Instead: `apiVersion: writ.dev/v1
kind: RoleBinding
metadata: {name: visit, namespace: shop}
roleRef: {namespace: master, name: view}
userNames: [eve]
notAfter: "2026-03-01T09:00:00Z"`,
	},
	{
		Code: Expired, Severity: Warning,
		Summary: "a document has ended",
		Text: `The end of the document is longer ago than the days of --expired-for (30), so that it can be
removed: it grants and denies nothing any more.`,
		Example: `kind: RoleBinding
metadata: {name: visit, namespace: shop}
roleRef: {namespace: master, name: view}
userNames: [eve]
notAfter: "2020-03-01T09:00:00Z"`,
	},
	{
		Code: EndsSoon, Severity: Warning,
		Summary: "a document ends soon",
		Text: `The document ends within the days of --ends-within (14). What it grants ends with it, and so does
what it denies.`,
		Example: `kind: RoleBinding
metadata: {name: visit, namespace: shop}
roleRef: {namespace: master, name: view}
userNames: [eve]
notAfter: "2026-03-01T09:00:00Z"`,
	},
	{
		Code: TestNeedsNow, Severity: Warning,
		Summary: "the result of a test depends on when it runs",
		Text: `A document that matters to the request of the case begins or ends at some time, and neither the
case nor its test states now. The test will fail some day.`,
		Example: `kind: DecisionTest
metadata: {name: visits}
spec:
  point: access
  cases: [{name: eve, request: {user: eve, verb: get, resource: pods}, expect: {allowed: true}}]`,
		Instead: `  point: access
  now: "2026-02-01T09:00:00Z"`,
	},
}
