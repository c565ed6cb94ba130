package diag

// referenceExplanations explain mistakes between documents.
var referenceExplanations = []Explanation{
	{
		Code:    RoleReference,
		Summary: "a RoleBinding names its role twice or not at all",
		Text: `A binding has either roleRef, or the older roleName with referencesGlobalRole, which states whether
the role is in the master namespace. Beside roleRef it could contradict the namespace there.`,
		Example: `roleRef: {namespace: master, name: edit}
roleName: edit`,
		Instead: `roleRef: {namespace: master, name: edit}`,
	},
	{
		Code:    KeyMismatch,
		Summary: "the name or namespace of a nested document differs from its container",
		Text:    `The key in roles or roleBindings is the name, and the container's namespace is the namespace. The nested document may repeat them but not change them.`,
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
		Text: `Kubernetes ignores such a binding. Here it is an error, because a grant or a denial would be lost
unnoticed. Bootstrap roles such as view are not implied: the directory must contain them (writ
roles prints them).`,
		Example: `roleRef: {kind: ClusterRole, name: viewr}`,
		Instead: `roleRef: {kind: ClusterRole, name: view}`,
	},
	{
		Code: UndecodedReference, Severity: Warning,
		Summary: "a reference leads to a document that has mistakes",
		Text: `The document exists, but its mistakes hide its namespace or its content. The reference is not
dangling; it is checked once the document is corrected.`,
		Example: `kind: Role
metadata: {name: reader, namespace: Shop_1}`,
		Instead: `kind: Role
metadata: {name: reader, namespace: shop-1}`,
	},
	{
		Code:    ForeignReference,
		Summary: "a reference to that namespace is not allowed",
		Text: `A writ.dev RoleBinding refers to a role in its own namespace or in the master namespace. Inside a
PolicyBinding it refers to the namespace that the PolicyBinding names, which is its own namespace
or the master namespace.`,
		Example: `kind: RoleBinding
name: readers
namespace: hammer
roleRef: {namespace: anvil, name: reader}`,
		Instead: `roleRef: {namespace: hammer, name: reader}`,
	},
	{
		Code:    NoPolicy,
		Summary: "the namespace has no Policy",
		Text:    `A writ.dev Role outside the master namespace needs a Policy in its namespace, and so does a PolicyBinding that refers to it.`,
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
		Summary: "a binding to a role of its own namespace has no PolicyBinding there",
		Text:    `A writ.dev RoleBinding to a role of its own namespace needs a PolicyBinding in that namespace with the name of the namespace. For roles of the master namespace it is implied.`,
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
		Summary: "policyRef does not match the name of the PolicyBinding",
		Text:    `The name of a PolicyBinding is the namespace it refers to. policyRef may repeat that namespace and the name of the Policy in it.`,
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
		Summary: "two documents, or two parts of one, have the same identity",
		Text: `The identity of a document is its family, kind, namespace and name; nested documents count. A
namespace has at most one Policy, with any name. The diagnostic shows where the first one is.

The names of listeners are unique within a Gateway, those of rules within a route. A rule
without a name is called rule-1, rule-2 and so on, by its position, and no other rule may have
that name.`,
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
