package diag

// denyPolicyExplanations are of mistakes in deny policies and escalations.
var denyPolicyExplanations = []Explanation{
	{
		Code:    Unsupported,
		Summary: "the field is known and not supported yet",
		Text:    `Ignoring it would leave out what its author relies on, so it is refused.`,
		Example: `impersonationRules: [{}]`,
		Instead: `rules:
  - {verbs: [impersonate], apiGroups: [""], resources: [users, groups, serviceaccounts]}`,
	},
	{
		Code:    BadTemplate,
		Summary: "a reason has something between braces that is no variable",
		Text: `Reasons know {{.score}}, {{.factors}}, {{.pod}} and {{.namespace}}, also with an upper-case
letter first and with blanks inside the braces. There are no functions, pipes or conditions.`,
		Example: `reason: "{{.user}} scored {{.score | printf \"%d\"}}"`,
		Instead: `reason: "{{.pod}} scored {{.score}}"`,
	},
	{
		Code:    UnreachableThreshold,
		Summary: "a threshold is not above the one before it",
		Text:    `The first threshold that a score does not exceed decides, so no score reaches this one.`,
		Example: `thresholds:
  - {maxScore: 70, action: warn}
  - {maxScore: 30, action: allow}`,
		Instead: `thresholds:
  - {maxScore: 30, action: allow}
  - {maxScore: 70, action: warn}`,
	},
	{
		Code:    RepeatedEntry,
		Summary: "a list of an escalation has the same entry twice",
		Text:    `The second one changes nothing; often another one was meant.`,
		Example: `denyPolicyRefs: [no-secrets, no-secrets]`,
		Instead: `denyPolicyRefs: [no-secrets, no-exec]`,
	},
	{
		Code:    DanglingReference,
		Summary: "a reference names a document that is not there",
		Text: `denyPolicyRefs lists DenyPolicies, and an entry of escalationRefs without a wildcard names a
BreakglassEscalation. Either would silently not apply if the name is misspelt.`,
		Example: `escalationRefs: [sre-fxi]`,
		Instead: `escalationRefs: [sre-fix]`,
	},
	{
		Code: NoThresholds, Severity: Warning,
		Summary: "thresholds is empty, so every pod that is evaluated is denied",
		Text: `A score above all thresholds is denied, and without thresholds every score is, even 0. To deny
by blockFactors alone, allow the score 0 of empty riskFactors.`,
		Example: `riskFactors: {}
thresholds: []
blockFactors: [hostPID]`,
		Instead: `riskFactors: {}
thresholds: [{maxScore: 0, action: allow}]
blockFactors: [hostPID]`,
	},
	{
		Code: LargeWeight, Severity: Warning,
		Summary: "the weight of a risk factor is above 100",
		Text:    `Weights are meant to be on a scale from 0 to 100. A factor that must never pass belongs into blockFactors, where no threshold lets it through.`,
		Example: `riskFactors: {hostPID: 1000}`,
		Instead: `riskFactors: {hostPID: 100}
blockFactors: [hostPID]`,
	},
	{
		Code: IgnoredNamespace, Severity: Warning,
		Summary: "the namespace of a DenyPolicy means nothing",
		Text:    `A DenyPolicy holds in all namespaces unless its rules name some.`,
		Example: `kind: DenyPolicy
metadata: {name: no-secrets, namespace: shop}
spec: {rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]}`,
		Instead: `kind: DenyPolicy
metadata: {name: no-secrets}
spec: {rules: [{verbs: [get], apiGroups: [""], resources: [secrets], namespaces: [shop]}]}`,
	},
	{
		Code: IdleOverride, Severity: Warning,
		Summary: "the override of an escalation changes no decision",
		Text: `It is in force where enabled is true, the cluster fits allowed.clusters or clusterConfigRefs and
the requester is in one of allowed.groups, so all three are needed. With requireApproval it never
is: a request cannot show that approval. And it relaxes something only by maxAllowedScore or exemptFactors.`,
		Example: `podSecurityOverrides: {enabled: true, maxAllowedScore: 80, requireApproval: true}`,
		Instead: `podSecurityOverrides: {enabled: true, maxAllowedScore: 80}`,
	},
	{
		Code: EmptyReference, Severity: Warning,
		Summary: "a glob of escalationRefs fits no escalation",
		Text:    `No BreakglassEscalation of the directory has such a name, so the policy is in scope under none of them.`,
		Example: `escalationRefs: ["ser-*"]`,
		Instead: `escalationRefs: ["sre-*"]`,
	},
}
