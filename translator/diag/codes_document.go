package diag

// documentExplanations are of mistakes that one document shows.
var documentExplanations = []Explanation{
	{
		Code:    YAML,
		Summary: "the file cannot be read as YAML or JSON",
		Text: `Documents are YAML 1.2, or strict JSON in *.json files, in UTF-8. The parser stopped at
the place shown, or nearby: of an unclosed bracket or quote it names the line where it begins.
Refused as well are keys that are there twice, tags of one's own, aliases that stand for very
much, and characters that readers would read differently. Other files are still checked.`,
		Example: `rules:
  - verbs: [*]
    resourceKinds: [pods]`,
		Instead: `rules:
  - verbs: ["*"]
    resourceKinds: [pods]`,
	},
	{
		Code:    UnknownKind,
		Summary: "no family has a document of this apiVersion and kind",
		Text: `Kinds are spelt exactly, and each belongs to one apiVersion. A document with metadata needs
its apiVersion: Kubernetes and writ.dev both have a Role, and guessing would change what it
grants. Only the flat form, with its name at the top, may leave apiVersion out.`,
		Example: `kind: Role
metadata: {name: reader, namespace: shop}`,
		Instead: `apiVersion: writ.dev/v1
kind: Role
metadata: {name: reader, namespace: shop}`,
	},
	{
		Code:    UnknownField,
		Summary: "the document has a field that its kind does not know",
		Text: `A field nobody reads is a mistake: what its author wanted would not happen. Fields are
compared exactly, but in the flat form of writ.dev documents, which ignores their case.`,
		Example: `apiVersion: writ.dev/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules:
  - {verbs: [get], resources: [pods]}`,
		Instead: `  - {verbs: [get], resourceKinds: [pods]}`,
	},
	{
		Code:    DuplicateField,
		Summary: "two fields are the same, though they are spelt differently",
		Text: `The flat form takes field names in any case, and rule for rules, so both cannot stand.
Neither can NET_ADMIN beside cap_net_admin: case and a leading CAP_ do not count in the name of a capability.`,
		Example: `kind: role
name: reader
namespace: shop
rule: []
Rules: []`,
		Instead: `kind: role
name: reader
namespace: shop
rules: []`,
	},
	{
		Code:    WrongType,
		Summary: "the value has another type than the field",
		Text: `Nothing is converted: a list of one is still a list, a number in a list of names is no name.
In YAML 1.2 yes, no, on and off are strings; only true and false are booleans.`,
		Example: `verbs: get`,
		Instead: `verbs: [get]`,
	},
	{
		Code:    Missing,
		Summary: "something that must be there is missing or empty",
		Text: `The place is that of the mapping that lacks it, or of the document's kind. No document has a
default namespace, and no rule matches everything because a list was left out.`,
		Example: `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}`,
		Instead: `metadata: {name: reader, namespace: shop}`,
	},
	{
		Code:    BadName,
		Summary: "the name breaks Kubernetes' rules for names",
		Text: `Names of roles and bindings may be anything that can be one segment of a path: not "." or
"..", and without "/" and "%". Namespaces of Kubernetes documents are DNS labels, names of
service accounts DNS subdomains. The package of an extension consists of identifiers.`,
		Example: `metadata: {name: team/reader, namespace: shop}`,
		Instead: `metadata: {name: team-reader, namespace: shop}`,
	},
	{
		Code:    BadValue,
		Summary: "the value is none of those the field takes",
		Text:    `The type is right, the value is not: a kind nobody can bind, a time that is none, a label key that no object can have.`,
		Example: `subjects:
  - {kind: Robot, name: bot}`,
		Instead: `subjects:
  - {kind: ServiceAccount, name: bot, namespace: shop}`,
	},
	{
		Code:    BadPattern,
		Summary: "a word, glob or regular expression is malformed",
		Text: `An entry of verbs or resourceKinds is a word, "*", or either with one "-" in front, which takes
it out of the list. There are no patterns within words and no API groups. A kind covers its
subresources, and "*/log" names a subresource of every kind.

In a DenyPolicy verbs, apiGroups, resources and subresources are whole words or "*". Names of
clusters, namespaces and objects are globs: "*" for a run of characters, "?" for one, [a-z] or
[^a-z] for one of a class, and a backslash before what is meant literally.

matchPattern of a MonitorAccessPolicy, and the value of the operator matches in a MetricSource, are
regular expressions of RE2, which has no lookaround. A matchPattern has at most 256 characters.`,
		Example: `resourceKinds: ["pod*", "deployments.apps", "pods/*"]`,
		Instead: `resourceKinds: [pods, podtemplates, deployments]`,
	},
	{
		Code:    TooManyMistakes,
		Summary: "one document has so many mistakes that the others are not shown",
		Text:    `The first thousand of a document are listed. It is often of a kind it only claims to be.`,
		Example: `kind: Role
name: reader
namespace: shop
# ... and a thousand fields that no Role has`,
	},
}

// restrictionExplanations are of attributeRestrictions and extensions.
var restrictionExplanations = []Explanation{
	{
		Code:    EmptyRestriction,
		Summary: "attributeRestrictions is written and says nothing",
		Text:    `Such a rule reads as restricted and is not. Null counts as written here.`,
		Example: `- verbs: [update]
  resourceKinds: [pods]
  attributeRestrictions: {}`,
		Instead: `- verbs: [update]
  resourceKinds: [pods]
  attributeRestrictions: {fieldsMutatable: [labels]}`,
	},
	{
		Code:    UnknownRestriction,
		Summary: "no restriction, extension or parameter has this name",
		Text: `Built in are the keys fieldsMutatable and labelsContain, and the kinds sameMinionRestriction,
which has no parameters, and cel, which has expression. Any other kind names an extension: a *.rego file of the directory
with package writ.extensions.NAME and a function holds of two arguments. Names are
case-sensitive.`,
		Example: `attributeRestrictions: {labelsContains: [gold]}`,
		Instead: `attributeRestrictions: {labelsContain: [gold]}`,
	},
	{
		Code:    Rego,
		Summary: "an extension, or the Rego of a policy, does not parse or compile",
		Text: `Extensions are Rego v1, at the place shown OPA's parser or compiler stopped. All extensions are compiled together, as the bundle holds them.
The Rego of an AuthPolicy is the body of a module, without a package, and compiled by itself; the place within it is in the message.`,
		Example: `package writ.extensions.region

holds(request, params) if request.attributes.region ==`,
		Instead: `holds(request, params) if request.attributes.region == params.region`,
	},
	{
		Code:    UnsafeExtension,
		Summary: "an extension could make decisions unrepeatable or change the library",
		Text: `The package of every *.rego file is below writ.extensions, or it could stand in for the
library. Within it http.send, net.*, rand.*, opa.runtime and other functions whose answer may
differ are refused, as are data outside data.writ.extensions and input beyond the keys of a
request. time.now_ns is the engine's evaluation time and may be used.`,
		Example: `package writ.extensions.region

holds(request, _) if http.send({"method": "GET", "url": request.attributes.url}).status_code == 200`,
		Instead: `holds(request, params) if request.attributes.region == params.region`,
	},
}
