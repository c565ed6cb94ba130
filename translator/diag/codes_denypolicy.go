package diag

// denyPolicyExplanations explain mistakes in deny policies and escalations.
var denyPolicyExplanations = []Explanation{
	{
		Code:    Unsupported,
		Summary: "the field is not supported",
		Text:    `writ knows the field but does not implement it. Ignoring it would drop a rule that its author relies on, so it is an error.`,
		Example: `authorization: {a: {spicedb: {endpoint: "spicedb:50051"}}}`,
		Instead: `authorization: {a: {opa: {rego: "allow if input.auth.identity.sub == \"alice\""}}}`,
	},
	{
		Code:    BadTemplate,
		Summary: "a reason contains an unknown template variable",
		Text: `The variables of a reason are {{.score}}, {{.factors}}, {{.pod}} and {{.namespace}}. The first
letter may be upper-case, and spaces inside the braces are allowed. Functions, pipes and
conditions are not supported.`,
		Example: `reason: "{{.user}} scored {{.score | printf \"%d\"}}"`,
		Instead: `reason: "{{.pod}} scored {{.score}}"`,
	},
	{
		Code:    UnreachableThreshold,
		Summary: "a threshold is not above the one before it",
		Text:    `The first threshold that a score does not exceed decides, so this threshold is never reached.`,
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
		Text:    `The second entry has no effect. Often a different entry was intended.`,
		Example: `denyPolicyRefs: [no-secrets, no-secrets]`,
		Instead: `denyPolicyRefs: [no-secrets, no-exec]`,
	},
	{
		Code:    DanglingReference,
		Summary: "a reference names a document that does not exist",
		Text: `denyPolicyRefs names DenyPolicies, and an entry of escalationRefs without a wildcard names a
BreakglassEscalation. If the name is misspelt, the reference has no effect.`,
		Example: `escalationRefs: [sre-fxi]`,
		Instead: `escalationRefs: [sre-fix]`,
	},
	{
		Code: NoThresholds, Severity: Warning,
		Summary: "thresholds is empty, so every pod that is evaluated is denied",
		Text: `A score above all thresholds is denied. Without thresholds every score is above them, even 0. To
deny by blockFactors alone, leave riskFactors empty and allow the score 0.`,
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
		Text:    `Weights are on a scale from 0 to 100. A factor that must always be denied belongs in blockFactors, which no threshold allows.`,
		Example: `riskFactors: {hostPID: 1000}`,
		Instead: `riskFactors: {hostPID: 100}
blockFactors: [hostPID]`,
	},
	{
		Code: NamespaceIgnored, Severity: Warning,
		Summary: "the namespace of a document has no effect",
		Text: `ClusterRole, ClusterRoleBinding and DenyPolicy have no namespace: an API server clears the one
that is written. A DenyPolicy applies to all namespaces unless its rules name some.`,
		Example: `kind: DenyPolicy
metadata: {name: no-secrets, namespace: shop}
spec: {rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]}`,
		Instead: `kind: DenyPolicy
metadata: {name: no-secrets}
spec: {rules: [{verbs: [get], apiGroups: [""], resources: [secrets], namespaces: [shop]}]}`,
	},
	{
		Code: IdleOverride, Severity: Warning,
		Summary: "the override of an escalation has no effect",
		Text: `An override applies if enabled is true, the cluster matches allowed.clusters or clusterConfigRefs
and the requester is in one of allowed.groups. All three are required. With requireApproval it
never applies, because a request cannot prove that approval. An override relaxes a policy only by
maxAllowedScore or exemptFactors.`,
		Example: `podSecurityOverrides: {enabled: true, maxAllowedScore: 80, requireApproval: true}`,
		Instead: `podSecurityOverrides: {enabled: true, maxAllowedScore: 80}`,
	},
	{
		Code: EmptyReference, Severity: Warning,
		Summary: "a glob in escalationRefs matches no escalation",
		Text:    `No BreakglassEscalation in the directory has a name that matches, so the policy applies under no escalation.`,
		Example: `escalationRefs: ["ser-*"]`,
		Instead: `escalationRefs: ["sre-*"]`,
	},
	{
		Code: NoLegacyMode, Severity: Warning,
		Summary: "an impersonation rule leaves out the mode legacy",
		Text: `An API server that is denied impersonation in a constrained mode asks for the verb impersonate
next, which is the mode legacy. Who has that permission still impersonates, so an entry should
list legacy or no modes.`,
		Example: `impersonationRules:
  - {modes: [user-info], identityResources: [groups], identities: [system:masters]}`,
		Instead: `impersonationRules:
  - {modes: [user-info, legacy], identityResources: [groups], identities: [system:masters]}`,
	},
	{
		Code: IgnoredCondition, Severity: Warning,
		Summary: "a condition is not looked at",
		Text: `The API server asks about an identity and about an action in separate requests. An entry with
actionVerbs is about actions, whose requests carry no identity: it denies the action for every
identity. Write one entry for identities and one for actions.`,
		Example: `impersonationRules:
  - {identityResources: [groups], actionVerbs: [delete]}`,
		Instead: `impersonationRules:
  - {actionVerbs: [delete]}`,
	},
}
