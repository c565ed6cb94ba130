package diag

// referenceExplanations are of mistakes that several documents show together.
var referenceExplanations = []Explanation{
	{
		Code:    RoleReference,
		Summary: "a RoleBinding names its role twice or not at all",
		Text: `A binding has either roleRef, or the older roleName with referencesGlobalRole. The latter says
whether the role is in the master namespace; beside roleRef it would contradict it.`,
		Example: `roleRef: {namespace: master, name: edit}
roleName: edit`,
		Instead: `roleRef: {namespace: master, name: edit}`,
	},
	{
		Code:    KeyMismatch,
		Summary: "a document inside a container has another name or namespace than the container says",
		Text:    `The key in roles or roleBindings is the name, and the container's namespace the namespace. They may be repeated inside, not changed.`,
		Example: `kind: Policy
name: default
namespace: shop
roles:
  reader: {metadata: {name: other}}`,
		Instead: `roles:
  reader: {}`,
	},
	{
		Code:    DanglingRole,
		Summary: "a binding refers to a role that no document defines",
		Text: `Kubernetes would skip such a binding; here somebody would lose a grant, or a denial, without
a word. Bootstrap roles such as view are not implied: bind them only where the directory has
them (writ roles prints them).`,
		Example: `roleRef: {kind: ClusterRole, name: viewr}`,
		Instead: `roleRef: {kind: ClusterRole, name: view}`,
	},
	{
		Code:    ForeignReference,
		Summary: "a reference leads into a namespace it must not",
		Text: `A writ.dev RoleBinding points to a role in its own namespace or in the master namespace, and
inside a PolicyBinding into the namespace that one is for. A PolicyBinding is for its own
namespace or the master namespace, as its name says.`,
		Example: `kind: RoleBinding
name: readers
namespace: hammer
roleRef: {namespace: anvil, name: reader}`,
		Instead: `roleRef: {namespace: hammer, name: reader}`,
	},
	{
		Code:    NoPolicy,
		Summary: "the namespace has no Policy",
		Text:    `A writ.dev Role outside the master namespace needs a Policy in its namespace, and so does a PolicyBinding into it.`,
		Example: `kind: Role
name: reader
namespace: hammer`,
		Instead: `kind: Policy
name: default
namespace: hammer
---
kind: Role
name: reader
namespace: hammer`,
	},
	{
		Code:    NoPolicyBinding,
		Summary: "a binding into its own namespace has no PolicyBinding there",
		Text:    `A writ.dev RoleBinding to a role of its own namespace needs a PolicyBinding in it with the name of the namespace. Towards the master namespace there always is one.`,
		Example: `kind: RoleBinding
name: readers
namespace: hammer
roleRef: {name: reader}`,
		Instead: `kind: PolicyBinding
name: hammer
namespace: hammer`,
	},
	{
		Code:    PolicyBindingName,
		Summary: "policyRef says another Policy than the PolicyBinding's name",
		Text:    `The name of a PolicyBinding is the namespace it points to. policyRef may repeat that, and the name of the Policy there.`,
		Example: `kind: PolicyBinding
name: wrong
namespace: hammer
policyRef: {namespace: hammer}`,
		Instead: `kind: PolicyBinding
name: hammer
namespace: hammer
policyRef: {namespace: hammer}`,
	},
	{
		Code:    Duplicate,
		Summary: "two documents, or two things within one, have the same identity",
		Text: `Identity is family, kind, namespace and name; what containers hold counts. A namespace has at
most one Policy, whatever its name. The message says where the first one is.

Within a Gateway names of listeners are unique, within an HTTPRoute those of rules. A rule without
a name is called rule-1, rule-2 and so on by its place, and no other may be called so.`,
		Example: `apiVersion: writ.dev/v1
kind: Policy
metadata: {name: one, namespace: hammer}
---
apiVersion: writ.dev/v1
kind: Policy
metadata: {name: two, namespace: hammer}`,
		Instead: `apiVersion: writ.dev/v1
kind: Policy
metadata: {name: one, namespace: hammer}`,
	},
	{
		Code:    "aggregation-limit",
		Summary: "aggregated ClusterRoles select each other too often",
		Text:    `The rules of aggregated roles are collected when documents are compiled. Roles that all select each other grow with the square of their number, so there is a limit, far beyond any cluster's.`,
		Example: `aggregationRule: {clusterRoleSelectors: [{}]}`,
		Instead: `aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate-to-view: "true"}}]}`,
	},
}
