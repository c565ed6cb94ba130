package diag

// riskExplanations explain dangerous grants. The level of a finding is in its message.
var riskExplanations = []Explanation{
	{
		Code: RiskAllPowers, Severity: Warning,
		Summary: "a binding grants every verb on every resource",
		Text: `The holder can read every Secret, run code in every pod and change every rule. Few subjects need
it; an account that has it makes every pod that runs as it a way to take the cluster. The level
is lower in one namespace or for names that a rule lists, lower for a named user or group than
for a service account, higher for everybody. What a denial takes away does not count.
Remedy: bind a role with the verbs and resources that are needed, or deny what is not by a DenyPolicy.`,
	},
	{
		Code: RiskEverybody, Severity: Warning,
		Summary: "everybody is granted more than discovery",
		Text: `system:anonymous and system:unauthenticated are callers without credentials;
system:authenticated is every user and every pod. Stock clusters grant them the discovery of the
API and reviews about themselves. The level is lower in one namespace or for names that a rule
lists, lower for a named user or group than for a service account, higher for everybody. What a
denial takes away does not count.
Remedy: bind a group that has only the callers who need it.`,
	},
	{
		Code: RiskDefaultAccount, Severity: Warning,
		Summary: "the default service account of a namespace is granted something",
		Text: `Every pod that names no account runs as the account named default, so that a pod gets a power
that its author did not ask for. The level is lower in one namespace or for names that a rule
lists, lower for a named user or group than for a service account, higher for everybody. What a
denial takes away does not count.
Remedy: create an account for the workload, bind that, and name it in the pod.`,
	},
	{
		Code: RiskReadSecrets, Severity: Warning,
		Summary: "a binding grants reading Secrets",
		Text: `Secrets hold tokens and passwords; list and watch return their contents, as get does. Who reads
those of kube-system, or of every namespace, can act as others. The level is lower in one
namespace or for names that a rule lists, lower for a named user or group than for a service
account, higher for everybody. What a denial takes away does not count.
Remedy: grant get for named Secrets (resourceNames), in one namespace.`,
	},
	{
		Code: RiskCreatePods, Severity: Warning,
		Summary: "a binding grants creating or changing pods",
		Text: `A pod may run as any account of its namespace and mount its Secrets; without pod security also
as root on the node. The level is lower in one namespace or for names that a rule lists, lower
for a named user or group than for a service account, higher for everybody. What a denial takes
away does not count.
Remedy: grant it in the namespace that needs it, and set pod security there.`,
	},
	{
		Code: RiskCreateWorkloads, Severity: Warning,
		Summary: "a binding grants creating or changing workloads",
		Text: `A Deployment or a Job creates pods: its author has what creating pods gives. The level is lower
in one namespace or for names that a rule lists, lower for a named user or group than for a
service account, higher for everybody. What a denial takes away does not count.
Remedy: grant it in the namespace that needs it, and set pod security there.`,
	},
	{
		Code: RiskExec, Severity: Warning,
		Summary: "a binding grants running commands in pods",
		Text: `exec, attach and ephemeral containers run code with the account, the Secrets and the network of
a pod. Before Kubernetes 1.35 get is enough for exec and attach, by a WebSocket. The level is
lower in one namespace or for names that a rule lists, lower for a named user or group than for
a service account, higher for everybody. What a denial takes away does not count.
Remedy: grant it for a time, in one namespace, or deny it where pods are privileged.`,
	},
	{
		Code: RiskPortForward, Severity: Warning,
		Summary: "a binding grants connections to pods",
		Text: `portforward and proxy pass network policies and reach ports that are not published. The level is
lower in one namespace or for names that a rule lists, lower for a named user or group than for
a service account, higher for everybody. What a denial takes away does not count.
Remedy: grant it in the namespace that needs it.`,
	},
	{
		Code: RiskNodeProxy, Severity: Warning,
		Summary: "a binding grants the API of kubelets",
		Text: `nodes/proxy runs commands in every pod of a node, without admission and without an audit of the
commands; get is enough. The level is lower in one namespace or for names that a rule lists,
lower for a named user or group than for a service account, higher for everybody. What a denial
takes away does not count.
Remedy: grant nodes/metrics or nodes/stats, which monitoring needs.`,
	},
	{
		Code: RiskAccountToken, Severity: Warning,
		Summary: "a binding grants tokens of service accounts",
		Text: `A token of an account is all that the account may do, for as long as the token holds. The level
is lower in one namespace or for names that a rule lists, lower for a named user or group than
for a service account, higher for everybody. What a denial takes away does not count.
Remedy: name the accounts (resourceNames).`,
	},
	{
		Code: RiskImpersonate, Severity: Warning,
		Summary: "a binding grants impersonation",
		Text: `Who impersonates users or groups has their permissions, those of system:masters too. The level
is lower in one namespace or for names that a rule lists, groups of administrators excepted,
lower for a named user or group than for a service account, higher for everybody. What a denial
takes away does not count.
Remedy: name the users, groups or accounts (resourceNames).`,
	},
	{
		Code: RiskReach, Severity: Warning,
		Summary: "subjects become a cluster administrator, step by step",
		Text: `No binding grants it, but what the subjects may do leads to an identity that may do everything:
by pods, tokens, Secrets, impersonation or certificates. The place is the rule that allows the first
step. The level is critical if nothing but requests is needed, and high if something must exist or
run. What a denial takes away does not count, and neither does what depends on facts that documents
do not have. writ reach shows each path, also those that change bindings, roles and denials.
Remedy: take one of the grants away that writ reach names under "cut it at".`,
	},
	{
		Code: RiskBindEscalate, Severity: Warning,
		Summary: "a binding grants bind or escalate",
		Text: `Both verbs lift the check that an author of roles and bindings grants only what it has itself.
The level is lower in one namespace or for names that a rule lists, cluster-admin excepted, lower
for a named user or group than for a service account, higher for everybody. What a denial takes
away does not count.
Remedy: name roles that hold little (resourceNames).`,
	},
	{
		Code: RiskWriteRoles, Severity: Warning,
		Summary: "a binding grants writing roles or bindings",
		Text: `The author can pass on everything that it has, and with bind or escalate more. The level is
lower in one namespace or for names that a rule lists, lower for a named user or group than for
a service account, higher for everybody. What a denial takes away does not count.
Remedy: leave it to the accounts that deploy roles, in the namespaces that they own.`,
	},
	{
		Code: RiskAdmission, Severity: Warning,
		Summary: "a binding grants changing admission",
		Text: `A mutating webhook changes every object and reads every Secret that is written; deleting a
validating one removes a guard. The level is lower in one namespace or for names that a rule
lists, lower for a named user or group than for a service account, higher for everybody. What a
denial takes away does not count.
Remedy: leave it to the installer of the webhook, by name.`,
	},
	{
		Code: RiskCertificates, Severity: Warning,
		Summary: "a binding grants approving or signing certificates",
		Text: `An approved client certificate may be for any user or group. API servers require approve or sign
on the signer, beside the update of the request. The level is lower for names that a rule lists,
signers of client certificates excepted, lower for a named user or group than for a service
account, higher for everybody. What a denial takes away does not count.
Remedy: name signers that API servers do not trust (resourceNames).`,
	},
	{
		Code: RiskCreateVolumes, Severity: Warning,
		Summary: "a binding grants creating PersistentVolumes",
		Text: `A volume of type hostPath mounts any folder of a node, with the credentials of its kubelet. The
level is lower in one namespace or for names that a rule lists, lower for a named user or group
than for a service account, higher for everybody. What a denial takes away does not count.
Remedy: use a StorageClass that makes volumes.`,
	},
	{
		Code: RiskSystemConfig, Severity: Warning,
		Summary: "a binding grants changing ConfigMaps of kube-system",
		Text: `They configure DNS, the network and, on some platforms, who is an administrator. The level is
lower for names that a rule lists, coredns and aws-auth excepted, lower for a named user or
group than for a service account, higher for everybody. What a denial takes away does not count.
Remedy: grant it in the namespaces of the application, or name the ConfigMaps.`,
	},
	{
		Code: RiskChangeNodes, Severity: Warning,
		Summary: "a binding grants changing nodes",
		Text: `Labels and taints move pods of others to a node of choice; deleting nodes stops workloads. The
level is lower in one namespace or for names that a rule lists, lower for a named user or group
than for a service account, higher for everybody. What a denial takes away does not count.
Remedy: leave it to the controllers of nodes.`,
	},
	{
		Code: RiskServiceStatus, Severity: Warning,
		Summary: "a binding grants changing the status of services or pods",
		Text: `The addresses in the status of a service can direct the traffic of others to it; that of a pod
makes a controller replace it. The level is lower in one namespace or for names that a rule lists, lower for a named user or group than for
a service account, higher for everybody. What a denial takes away does not count.
Remedy: leave it to the controller of load balancers.`,
	},
	{
		Code: RiskDelete, Severity: Warning,
		Summary: "a binding grants deleting workloads or data",
		Text: `A mistake or a stolen token stops applications or destroys data. The level is lower in one
namespace or for names that a rule lists, lower for a named user or group than for a service
account, higher for everybody. What a denial takes away does not count.
Remedy: grant it in the namespace that needs it, or deny it where data must stay.`,
	},
	{
		Code: RiskDeleteEvents, Severity: Warning,
		Summary: "a binding grants deleting events",
		Text: `Events are traces of what was done. The level is lower in one namespace or for names that a rule
lists, lower for a named user or group than for a service account, higher for everybody. What a
denial takes away does not count.
Remedy: leave delete out.`,
	},
	{
		Code: RiskWildcardVerbs, Severity: Warning,
		Summary: "a binding grants every verb",
		Text: `"*" has the verbs that later versions and other controllers add, such as impersonate or
escalate. The level is lower in one namespace or for names that a rule lists, lower for a named
user or group than for a service account, higher for everybody. What a denial takes away does
not count.
Remedy: list the verbs that are needed.`,
	},
}
