package diag

// warningExplanations explain documents that compile but are probably not intended.
var warningExplanations = []Explanation{
	{
		Code: MatchesNothing, Severity: Warning,
		Summary: "no request can match the rule",
		Text: `A list matches a value if a positive entry covers it and no negative entry does, so ["-get"]
matches nothing, in allow rules and in deny rules. A rule that lists only streaming subresources
(exec, attach, proxy, portforward) needs exec or proxy among its verbs. In a DenyPolicy,
resourceNames never match list, watch, create and deletecollection, because those requests have no
name. In impersonationRules, extraKeys and namespaces need userextras and serviceaccounts among the
identityResources. An object of Kubernetes has no label with a blank, so labelsContain must not have
one. In a MonitorAccessPolicy an empty selector matches no cluster, so a Deny with only empty
selectors denies nothing.`,
		Example: `- {verbs: ["-get"], resourceKinds: [pods]}`,
		Instead: `- {verbs: ["*", "-get"], resourceKinds: [pods]}`,
	},
	{
		Code: UnknownVerb, Severity: Warning,
		Summary: "neither Origin nor Kubernetes knows the verb",
		Text: `Any verb is accepted, and custom verbs work. A misspelt verb matches no request. In a rule of
Kubernetes, verbs are compared exactly, and only a verb that is spelt almost like one of Kubernetes
is reported. A rule of a DenyPolicy about Kubernetes' own API groups alone has every verb reported
that Kubernetes does not know, because such a denial denies nothing.`,
		Example: `- {verbs: [get, exce], resourceKinds: [pods]}`,
		Instead: `- {verbs: [get, exec], resourceKinds: [pods]}`,
	},
	{
		Code: UnknownResource, Severity: Warning,
		Summary: "Kubernetes does not have the resource",
		Text: `Rules of Kubernetes name resources as URLs of the API do: plural and in lower case. A word that is the
singular of a resource of one of the rule's API groups, or spelt almost like one, matches no request.
Resources of other API groups are not known here. In a DenyPolicy about Kubernetes' own API groups
alone, every resource and subresource must be one of theirs: deployments are in the group apps. In
rules of Origin a kind that is spelt almost like one of Origin or Kubernetes is reported.`,
		Example: `- {verbs: [get], apiGroups: [""], resources: [pod]}`,
		Instead: `- {verbs: [get], apiGroups: [""], resources: [pods]}`,
	},
	{
		Code: UnknownGroup, Severity: Warning,
		Summary: "Kubernetes does not have the API group",
		Text: `The entry looks like a group of Kubernetes and is compared literally, so that the denial denies
nothing. The core group has the name "". A group has no version: "apps", not "apps/v1". Groups of
others are not known here.`,
		Example: `- {verbs: [get], apiGroups: [core], resources: [secrets]}`,
		Instead: `- {verbs: [get], apiGroups: [""], resources: [secrets]}`,
	},
	{
		Code: UnknownCapability, Severity: Warning,
		Summary: "Linux does not have the capability",
		Text: `Containers add capabilities by their names in Linux, with or without CAP_. The weight or block
of another name has no effect, except that a container that adds ALL adds every listed name.`,
		Example: `capabilities: {NETADMIN: 80}`,
		Instead: `capabilities: {NET_ADMIN: 80}`,
	},
	{
		Code: LiteralStar, Severity: Warning,
		Summary: `the subject "*" is a user or group with the name "*"`,
		Text:    `Users and groups are compared exactly. To mean everybody, bind a group that everybody is in: API servers send system:authenticated.`,
		Example: `userNames: ["*"]`,
		Instead: `groupNames: ["system:authenticated"]`,
	},
	{
		Code: LiteralPattern, Severity: Warning,
		Summary: "an entry looks like a pattern and is compared literally",
		Text: `Kubernetes has few wildcards: "*" alone, "*/SUBRESOURCE" in resources, and a trailing "*" in
nonResourceURLs. Every other entry is compared literally, so "pods/*" matches no request. In a
MonitorAccessPolicy, subjects and matchNames have no wildcards.`,
		Example: `- {apiGroups: [""], resources: ["pods/*"], verbs: [get]}`,
		Instead: `- {apiGroups: [""], resources: ["pods/log", "pods/status"], verbs: [get]}`,
	},
	{
		Code: NoSubjects, Severity: Warning,
		Summary: "the binding or policy has no subjects",
		Text:    `A binding without subjects is valid and grants nothing. A policy without subjects applies to no one.`,
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
		Text:    `No ClusterRole in the directory has matching labels, so the role grants nothing: Kubernetes ignores the rules in an aggregated role itself.`,
		Example: `aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate-to-veiw: "true"}}]}`,
		Instead: `aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate-to-view: "true"}}]}`,
	},
	{
		Code: SuperfluousRule, Severity: Warning,
		Summary: "an earlier rule of the role covers everything that this rule covers",
		Text:    `Removing the rule changes no decision. Often it was intended to be narrower or wider.`,
		Example: `rules:
  - {verbs: ["*"], resourceKinds: [pods]}
  - {verbs: [get], resourceKinds: [pods]}`,
		Instead: `rules:
  - {verbs: ["*"], resourceKinds: [pods]}`,
	},
	{
		Code: UnboundRole, Severity: Warning,
		Summary: "no binding refers to the role",
		Text:    `The role has no effect. Its binding may refer to another role by mistake.`,
		Example: `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: []`,
	},
	{
		Code: EscalationGrant, Severity: Warning,
		Summary: "the rule lets its subjects grant themselves more",
		Text: `escalate, bind and impersonate bypass the checks on granting, and so does writing roles and
bindings. A role with "*" for everything is not reported, because its power is obvious.`,
		Example: `- {apiGroups: ["*"], resources: ["*"], verbs: [bind, get]}`,
		Instead: `- {apiGroups: ["*"], resources: ["*"], verbs: [get]}`,
	},
	{
		Code:    Escalation,
		Summary: "the author grants a permission that the author does not have",
		Text: `Kubernetes rejects a role or binding that grants more than its author has, unless the author may
escalate or bind. Each new or changed rule is checked in the same way against the base. The
message lists the missing permissions. A denial that goes away for the author is reported too: a deny
rule, a deny policy, an override of pod security, an extension, a policy that limits what the author
sees, an AuthPolicy of a path. The revisions are compared as by writ diff, and the message has a
request that the change permits.`,
		Example: `# the author may only read pods
rules:
  - {apiGroups: [""], resources: [secrets], verbs: [get]}`,
		Instead: `rules:
  - {apiGroups: [""], resources: [pods], verbs: [get]}`,
	},
	{
		Code: "stock-role-in-master", Severity: Warning,
		Summary: "edit or admin is bound in the master namespace",
		Text:    `These roles exclude roles and rolebindings by kind, which is sufficient within a namespace. They do not exclude clusterroles and clusterrolebindings, which matter cluster-wide.`,
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
		Summary: "the deny rule denies every SubjectAccessReview that it matches",
		Text: `A SubjectAccessReview has neither the labels of the object nor the fields that change. A
restriction that reads them cannot be decided there, and an undecided deny rule denies. Only a list
or watch says something of labels, by its selector.`,
		Example: `- {deny: true, verbs: [delete], resourceKinds: [pods], attributeRestrictions: {labelsContain: [protected]}}`,
		Instead: `- {deny: true, verbs: [delete], resourceKinds: [pods]}`,
	},
	{
		Code: "selector-trust", Severity: Warning,
		Summary: "a selector decides the rule for kinds whose server may ignore it",
		Text: `labelsContain and fieldsSelect are decided for list and watch by the selector of the request, which
limits what is returned only if the server applies it. Kubernetes does for its own kinds and for custom
resources. Aggregated API servers exist that ignore selectors and return everything.`,
		Example: `- {verbs: [list], resourceKinds: [gadgets], attributeRestrictions: {labelsContain: [tier=gold]}}`,
		Instead: `- {verbs: [get], resourceKinds: [gadgets], attributeRestrictions: {labelsContain: [tier=gold]}}`,
	},
}

// sourceExplanations explain problems with files and folders, before their text is read.
var sourceExplanations = []Explanation{
	{
		Code:    NoDocuments,
		Summary: "the directory has no policy document",
		Text:    `An unmounted volume looks like an empty directory, and would drop every denial. Use --allow-empty if the directory is empty on purpose.`,
	},
	{
		Code:    "unreadable",
		Summary: "a file does not exist or cannot be read",
		Text:    `A file that cannot be read may hold a denial, so the directory does not compile without it.`,
	},
	{
		Code:    TooLarge,
		Summary: "a file, the directory, or a list of an assertion exceeds its limit",
		Text: `Split generated documents into several files, and move files that are not documents to another folder.
Of assertions, split a long list into several assertions.`,
	},
	{
		Code:    "broken-link",
		Summary: "the target of a symbolic link does not exist",
		Text:    `Links are followed. The missing target may have been a policy, so this is an error.`,
	},
	{
		Code:    "link-loop",
		Summary: "symbolic links form a loop",
		Text:    `Following the link would read the same documents without end.`,
	},
	{
		Code:    "outside-checkout",
		Summary: "a symbolic link points outside the git checkout",
		Text:    `The target is not part of the commit, so the same commit could result in different policies.`,
	},
	{
		Code:    "not-regular",
		Summary: "the file is not a regular file",
		Text:    `Pipes, sockets and devices are not read, because reading could block or never end.`,
	},
	{
		Code:    "file-name",
		Summary: "the name of a file is not printable text, or its ending is not in lower case",
		Text: `Decisions contain the file name of the deciding document, so it must be readable. Two names that
differ only in case are an error as well. A file whose name ends in .YAML, .YML, .JSON or .REGO is not
read, which is a warning: it may hold a denial that its author believes to be in force.`,
	},
	{
		Code:    "interrupted",
		Summary: "the translation was interrupted",
		Text:    `A deadline expired or the process is stopping; the documents are not the cause. A partly read directory is never compiled.`,
	},
}
