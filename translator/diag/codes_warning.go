package diag

// warningExplanations are of what compiles and is probably not meant.
var warningExplanations = []Explanation{
	{
		Code: MatchesNothing, Severity: Warning,
		Summary: "no request can match the rule",
		Text: `A list matches what some positive entry covers and no negative one does, so ["-get"] matches
nothing, in an allow rule and in a deny rule alike. A rule about streaming subresources alone
(exec, attach, proxy, portforward) needs exec or proxy among its verbs. In a DenyPolicy,
resourceNames fit no request of list, watch, create or deletecollection, which has no name.
In a MonitorAccessPolicy an empty selector matches no cluster, and a Deny with no other denies nothing.`,
		Example: `- {verbs: ["-get"], resourceKinds: [pods]}`,
		Instead: `- {verbs: ["*", "-get"], resourceKinds: [pods]}`,
	},
	{
		Code: UnknownVerb, Severity: Warning,
		Summary: "neither Origin nor Kubernetes knows the verb",
		Text:    `Verbs are an open set and one of your own works. A misspelt one is never asked for.`,
		Example: `- {verbs: [get, exce], resourceKinds: [pods]}`,
		Instead: `- {verbs: [get, exec], resourceKinds: [pods]}`,
	},
	{
		Code: LiteralStar, Severity: Warning,
		Summary: `"*" as a subject names somebody called "*"`,
		Text:    `Users and groups are compared exactly. To mean everybody, bind a group that everybody is in: API servers send system:authenticated.`,
		Example: `userNames: ["*"]`,
		Instead: `groupNames: ["system:authenticated"]`,
	},
	{
		Code: LiteralPattern, Severity: Warning,
		Summary: "an entry looks like a pattern and is compared literally",
		Text: `Kubernetes has few wildcards: "*" alone, "*/SUBRESOURCE" in resources, and a trailing "*" in
nonResourceURLs. Everything else is compared as it stands, so "pods/*" fits no request.
In a MonitorAccessPolicy subjects and matchNames have none at all.`,
		Example: `- {apiGroups: [""], resources: ["pods/*"], verbs: [get]}`,
		Instead: `- {apiGroups: [""], resources: ["pods/log", "pods/status"], verbs: [get]}`,
	},
	{
		Code: NoSubjects, Severity: Warning,
		Summary: "the binding or policy is about nobody",
		Text:    `A binding without subjects is valid and grants nothing; a policy without them decides nothing.`,
		Example: `kind: RoleBinding
name: readers
namespace: shop
roleRef: {name: reader}`,
		Instead: `kind: RoleBinding
name: readers
namespace: shop
roleRef: {name: reader}
groupNames: [staff]`,
	},
	{
		Code: EmptyAggregation, Severity: Warning,
		Summary: "an aggregated ClusterRole selects no role",
		Text:    `No ClusterRole of the directory has labels that fit, so the role grants nothing: the rules written in an aggregated role itself are dropped.`,
		Example: `aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate-to-veiw: "true"}}]}`,
		Instead: `aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate-to-view: "true"}}]}`,
	},
	{
		Code: SuperfluousRule, Severity: Warning,
		Summary: "an earlier rule of the role covers everything this one does",
		Text:    `Taking the rule out changes no decision, and often it was meant to be narrower or wider.`,
		Example: `rules:
  - {verbs: ["*"], resourceKinds: [pods]}
  - {verbs: [get], resourceKinds: [pods]}`,
		Instead: `rules:
  - {verbs: ["*"], resourceKinds: [pods]}`,
	},
	{
		Code: UnboundRole, Severity: Warning,
		Summary: "no binding refers to the role",
		Text:    `The role changes no decision. Its binding may refer to another one by mistake.`,
		Example: `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: []`,
	},
	{
		Code: EscalationGrant, Severity: Warning,
		Summary: "the rule lets its subjects grant themselves more",
		Text: `escalate, bind and impersonate go round the checks on who may grant what, and so does writing
roles and bindings. A role that is "*" on everything is not reported: it hides nothing.`,
		Example: `- {apiGroups: ["*"], resources: ["*"], verbs: [bind, get]}`,
		Instead: `- {apiGroups: ["*"], resources: ["*"], verbs: [get]}`,
	},
	{
		Code:    Escalation,
		Summary: "the author grants what the author does not hold",
		Text: `Kubernetes refuses a role or binding that gives more than its author has, unless the author
may escalate or bind. Each new or changed rule is checked like that against the base; the
message lists what is missing.`,
		Example: `# written by somebody who may only read pods
rules:
  - {apiGroups: [""], resources: [secrets], verbs: [get]}`,
		Instead: `rules:
  - {apiGroups: [""], resources: [pods], verbs: [get]}`,
	},
	{
		Code: "stock-role-in-master", Severity: Warning,
		Summary: "edit or admin is bound in the master namespace",
		Text:    `These roles leave out roles and bindings by kind, which in a namespace is enough. Cluster-wide there are clusterroles and clusterrolebindings as well, and they are other kinds.`,
		Example: `kind: RoleBinding
name: admins
namespace: master
roleRef: {name: admin}`,
		Instead: `kind: RoleBinding
name: admins
namespace: shop
roleRef: {namespace: master, name: admin}`,
	},
	{
		Code: "review-denies", Severity: Warning,
		Summary: "the deny rule denies every SubjectAccessReview it touches",
		Text: `A SubjectAccessReview carries neither the labels of the object nor the fields that change. A
restriction that reads them is undecidable there, and an undecidable denial denies.`,
		Example: `- {deny: true, verbs: [delete], resourceKinds: [pods], attributeRestrictions: {labelsContain: [protected]}}`,
		Instead: `- {deny: true, verbs: [delete], resourceKinds: [pods]}`,
	},
}

// sourceExplanations are of files and folders, before anybody reads their text.
var sourceExplanations = []Explanation{
	{
		Code:    NoDocuments,
		Summary: "the directory has no policy document",
		Text:    `A volume that is not mounted looks like that, and would drop every denial. --allow-empty says that it is meant.`,
	},
	{
		Code:    "too-large",
		Summary: "a file, or the directory, is larger than what is read",
		Text:    `Generated documents belong into several files; what is no document into another folder.`,
	},
	{
		Code:    "broken-link",
		Summary: "a symbolic link points to nothing",
		Text:    `Links are followed. One whose target is gone may have been a policy.`,
	},
	{
		Code:    "link-loop",
		Summary: "a symbolic link leads back to where it is",
		Text:    `Following it would read the same documents for ever.`,
	},
	{
		Code:    "outside-checkout",
		Summary: "a symbolic link leads out of the git checkout",
		Text:    `What it points to is not part of the commit, so the same commit could give different policies.`,
	},
	{
		Code:    "not-regular",
		Summary: "a document's name is that of no regular file",
		Text:    `Pipes, sockets and devices are not read: doing so could block, or never end.`,
	},
	{
		Code:    "file-name",
		Summary: "a file's name is no printable text",
		Text:    `Decisions name the file they come from, so its name must be readable.`,
	},
	{
		Code:    "interrupted",
		Summary: "the translation was stopped before its end",
		Text:    `Not the documents are at fault: a deadline passed or the process is stopping. Nothing is compiled from half of a directory.`,
	},
}
