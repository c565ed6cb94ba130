package diag

// dateExplanations explain mistakes in the dates of documents.
var dateExplanations = []Explanation{
	{
		Code:    NeverValid,
		Summary: "the end of a document is not after its beginning",
		Text: `A binding or a DenyPolicy holds from notBefore and before notAfter. With an end that is not later
than the beginning it would hold at no time. writ lint warns of such an approved session. In an export of a cluster this is a warning: such a
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
		Code: NeverEnds, Severity: Warning,
		Summary: "an active DebugSession has no end",
		Text:    `Without expiresAt the session lets its participants in until its state changes.`,
		Example: `kind: DebugSession
metadata: {name: d1}
spec: {cluster: prod-1}
status: {state: Active}`,
		Instead: `status: {state: Active, expiresAt: "2026-03-01T10:00:00Z"}`,
	},
	{
		Code: LiftsDenials, Severity: Warning,
		Summary: "an active DebugSession stands in a directory",
		Text: `A DebugSession lets its participants into its pods before any denial. In a directory an author
writes it, without the controller that asks for approval and ends it.`,
		Example: `kind: DebugSession
metadata: {name: d1}
spec: {cluster: prod-1}
status: {state: Active}`,
	},
	{
		Code: LongerThanAllowed, Severity: Warning,
		Summary: "an approved session lasts longer than maxValidFor",
		Text:    `A session lasts for maxValidFor (1h if absent) after its start. expiresAt is later than that.`,
		Example: `kind: BreakglassSession
metadata: {name: s1}
spec: {cluster: prod-1, user: bob, grantedGroup: admins, maxValidFor: 1h}
status: {state: Approved, approvedAt: "2026-03-01T09:00:00Z", expiresAt: "2026-03-01T12:00:00Z"}`,
		Instead: `status: {state: Approved, approvedAt: "2026-03-01T09:00:00Z", expiresAt: "2026-03-01T10:00:00Z"}`,
	},
	{
		Code: SelfApproval, Severity: Warning,
		Summary: "members of a group may approve their own request",
		Text: `The group may request the escalation and approve it, and neither blockSelfApproval of the
escalation nor that of each ClusterConfig forbids that one person does both.`,
		Example: `kind: BreakglassEscalation
metadata: {name: fix}
spec: {escalatedGroup: admins, allowed: {clusters: ["*"], groups: [sre]}, approvers: {groups: [sre]}}`,
		Instead: `spec: {escalatedGroup: admins, allowed: {clusters: ["*"], groups: [sre]}, approvers: {groups: [leads]}}`,
	},
	{
		Code: ApproverDomain, Severity: Warning,
		Summary: "an approver is outside the domains of approvers",
		Text: `The address of an approver must end in @ and one of allowedApproverDomains: those of the
escalation, or where it has none those of the ClusterConfig. This user approves on no cluster.`,
		Example: `approvers: {users: [zoe@b.example]}
allowedApproverDomains: [a.example]`,
		Instead: `approvers: {users: [zoe@a.example]}
allowedApproverDomains: [a.example]`,
	},
	{
		Code: HiddenApprover, Severity: Warning,
		Summary: "an entry of hiddenFromUI is not an approver",
		Text:    `hiddenFromUI hides approvers and does not appoint them. The entry is neither in users nor in groups.`,
		Example: `approvers: {groups: [leads], hiddenFromUI: [security]}`,
		Instead: `approvers: {groups: [leads, security], hiddenFromUI: [security]}`,
	},
	{
		Code: Provider, Severity: Warning,
		Summary: "an identity provider is not found, is disabled or has another issuer",
		Text: `Where there are IdentityProviders, identityProviderName of a session and identityProviderRefs of a
ClusterConfig should name one that is enabled, and whose issuer is identityProviderIssuer. No
decision depends on it: issuers are compared as texts.`,
		Example: `kind: ClusterConfig
metadata: {name: prod-1}
spec: {identityProviderRefs: [corpp]}`,
		Instead: `spec: {identityProviderRefs: [corp]}`,
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
