package diag

// documentExplanations explain mistakes within one document.
var documentExplanations = []Explanation{
	{
		Code:    YAML,
		Summary: "the file cannot be read as YAML or JSON",
		Text: `Documents are YAML 1.2, or strict JSON in *.json files, encoded as UTF-8. The parser stopped at
or near the position shown; for an unclosed bracket or quote the position is where it begins.
Duplicate keys, custom tags, aliases that expand to very large values, and characters that
parsers interpret differently are rejected too. Other files are still checked.`,
		Example: `rules:
  - verbs: [*]
    resourceKinds: [pods]`,
		Instead: `rules:
  - verbs: ["*"]
    resourceKinds: [pods]`,
	},
	{
		Code:    UnknownKind,
		Summary: "the apiVersion and kind are not known",
		Text: `Kinds are case-sensitive, and each belongs to one apiVersion. A document with metadata needs an
apiVersion: Kubernetes and writ.dev both have a Role, and they grant different things. Only the
flat form, with its name at the top level, may omit apiVersion. Documents of other API groups are
skipped, unless they look like a misspelt document of writ; with --strict-kinds each of them is an
error.`,
		Example: `kind: Role
metadata: {name: reader, namespace: shop}`,
		Instead: `apiVersion: writ.dev/v1
kind: Role
metadata: {name: reader, namespace: shop}`,
	},
	{
		Code:    UnknownField,
		Summary: "the document has a field that its kind does not have",
		Text: `An unknown field would have no effect, so it is an error. Field names are case-sensitive, except
in the flat form of writ.dev documents.`,
		Example: `apiVersion: writ.dev/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules:
  - {verbs: [get], resources: [pods]}`,
		Instead: `  - {verbs: [get], resourceKinds: [pods]}`,
	},
	{
		Code:    DuplicateField,
		Summary: "two spellings of the same field are present",
		Text: `The flat form accepts field names in any case, and rule for rules, so only one spelling may be
present. The same holds for NET_ADMIN and cap_net_admin: case and a leading CAP_ do not matter in
the name of a capability.`,
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
		Summary: "the value does not have the type of the field",
		Text: `Values are not converted: a string is not a list of one, and a number is not a name. In YAML 1.2
yes, no, on and off are strings; only true and false are booleans.`,
		Example: `verbs: get`,
		Instead: `verbs: [get]`,
	},
	{
		Code:    Missing,
		Summary: "a required field is missing or empty",
		Text: `The position is that of the mapping that lacks the field, or of the document's kind. No
default namespace is assumed, and a rule with a missing list does not match everything.`,
		Example: `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}`,
		Instead: `metadata: {name: reader, namespace: shop}`,
	},
	{
		Code:    BadName,
		Summary: "the name breaks Kubernetes' rules for names",
		Text: `The name of a role or binding must be a valid path segment: not "." or "..", and without "/" and
"%". The namespace of a Kubernetes document must be a DNS label, the name of a service account a
DNS subdomain. The package of an extension must consist of identifiers.`,
		Example: `metadata: {name: team/reader, namespace: shop}`,
		Instead: `metadata: {name: team-reader, namespace: shop}`,
	},
	{
		Code:    AssertionForm,
		Summary: "an assertion states nothing, or two things",
		Text: `An assertion has exactly one of the keys never, always, implies, disjoint, equals, within,
independent and covers. What holds beside it is an assertion of its own.`,
		Example: `assertions:
  - name: secrets are not read
    of: {resource: secrets}`,
		Instead: `assertions:
  - name: secrets are not read
    never: allowed
    of: {resource: secrets}`,
	},
	{
		Code:    NoReference,
		Summary: "the documents that an assertion compares with do not exist",
		Text: `The path is relative to the file of the assertion and stays below the policy directory, or below
what --assertions names. In a policy directory the folder begins with a dot, so that its documents
are not policy.`,
		Example: `assertions:
  - name: nothing new
    within: {documents: baseline}`,
		Instead: `assertions:
  - name: nothing new
    within: {documents: .baseline}`,
	},
	{
		Code:    BadValue,
		Summary: "the field does not accept the value",
		Text:    `The type is correct and the value is not. Examples are a kind of subject that cannot be bound, a malformed time, and a label key that no object can have.`,
		Example: `subjects:
  - {kind: Robot, name: bot}`,
		Instead: `subjects:
  - {kind: ServiceAccount, name: bot, namespace: shop}`,
	},
	{
		Code:    BadPattern,
		Summary: "a word, glob or regular expression is malformed",
		Text: `An entry of verbs or resourceKinds is a word or "*". A leading "-" excludes it from the list.
Patterns within words and API groups are not supported. A kind includes its subresources, and
"*/log" names a subresource of every kind.

In a DenyPolicy, verbs, apiGroups, resources and subresources are whole words or "*". Names of
clusters, namespaces and objects are globs: "*" matches any run of characters, "?" one character,
[a-z] and [^a-z] one character of a class, and a backslash escapes the next character.

matchPattern of a MonitorAccessPolicy, and the value of the operator matches in a MetricSource, are
RE2 regular expressions, which have no lookaround. A matchPattern has at most 256 characters.`,
		Example: `resourceKinds: ["pod*", "deployments.apps", "pods/*"]`,
		Instead: `resourceKinds: [pods, podtemplates, deployments]`,
	},
	{
		Code:    TooManyMistakes,
		Summary: "one document has too many mistakes to list",
		Text:    `The first thousand mistakes of a document are listed. Often the document has the wrong kind.`,
		Example: `kind: Role
name: reader
namespace: shop
# ... and a thousand fields that no Role has`,
	},
}

// restrictionExplanations explain mistakes in attributeRestrictions and extensions.
var restrictionExplanations = []Explanation{
	{
		Code:    EmptyRestriction,
		Summary: "attributeRestrictions is present but empty",
		Text:    `Such a rule looks restricted and is not. A null value counts as present.`,
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
		Text: `The built-in keys are fieldsMutatable, labelsContain and fieldsSelect. The built-in kinds are
sameMinionRestriction, which has no parameters, and cel, which has the parameter expression. Any
other kind names an extension: a *.rego file in the directory with package writ.extensions.NAME
and a function holds with two arguments. Names are case-sensitive.`,
		Example: `attributeRestrictions: {labelsContains: [gold]}`,
		Instead: `attributeRestrictions: {labelsContain: [gold]}`,
	},
	{
		Code:    Rego,
		Summary: "an extension, or the Rego of a policy, does not parse or compile",
		Text: `Extensions are Rego v1. The position is where OPA's parser or compiler stopped. All extensions are
compiled together, as in the bundle. The Rego of an AuthPolicy is the body of a module, without a
package, and is compiled separately; the message contains the position within it.`,
		Example: `package writ.extensions.region

holds(request, params) if request.attributes.region ==`,
		Instead: `holds(request, params) if request.attributes.region == params.region`,
	},
	{
		Code:    UnsafeExtension,
		Summary: "an extension could make decisions unrepeatable or replace the library",
		Text: `The package of every *.rego file must be below writ.extensions; otherwise it could replace a part
of the library. Extensions must not use http.send, net.*, rand.*, opa.runtime and other
nondeterministic functions, data outside data.writ.extensions, or keys of input that a request
does not have. time.now_ns returns the engine's evaluation time and is allowed.`,
		Example: `package writ.extensions.region

holds(request, _) if http.send({"method": "GET", "url": request.attributes.url}).status_code == 200`,
		Instead: `holds(request, params) if request.attributes.region == params.region`,
	},
}
