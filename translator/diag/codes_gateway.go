package diag

// gatewayExplanations are of mistakes in inherited gateway policies, gateways and
// routes.
var gatewayExplanations = []Explanation{
	{
		Code:    Value,
		Summary: "a value of a gateway policy has the wrong type or is out of range",
		Text: `Kinds of kuadrant.io and gateway.networking.k8s.io take the values that their schemas say:
a window is digits and a unit, up to four times, a denial's code lies between 300 and 599,
a creationTimestamp is RFC 3339. Nothing is converted.`,
		Example: `rates: [{limit: ten, window: 10 seconds}]`,
		Instead: `rates: [{limit: 10, window: 10s}]`,
	},
	{
		Code:    Exclusive,
		Summary: "two keys exclude each other",
		Text: `A policy has either the bare set (rules, patterns, limits, when) or blocks (defaults,
overrides): the bare set is a block itself. A condition is one of a comparison, a predicate, a
reference, all and any; a value is one of value, selector and expression. The later key is shown.`,
		Example: `defaults: {rules: {authentication: {key: {apiKey: {}}}}}
rules: {authentication: {open: {anonymous: {}}}}`,
		Instead: `defaults: {rules: {authentication: {key: {apiKey: {}}}}}`,
	},
	{
		Code:    BadStrategy,
		Summary: "no such strategy",
		Text:    `A block is atomic, which is the default, or merge.`,
		Example: `defaults: {strategy: deep}`,
		Instead: `defaults: {strategy: merge}`,
	},
	{
		Code:    NoTarget,
		Summary: "a policy has no targetRef",
		Text:    `A policy says what it is attached to: a Gateway or an HTTPRoute of its own namespace, or a section of one.`,
		Example: `spec: {limits: {all: {rates: [{limit: 10, window: 1m}]}}}`,
		Instead: `spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  limits: {all: {rates: [{limit: 10, window: 1m}]}}`,
	},
	{
		Code:    TargetKind,
		Summary: "a policy cannot be attached to this kind",
		Text:    `Targets are Gateway, with sectionName for a listener, and HTTPRoute, with sectionName for a rule.`,
		Example: `targetRef: {group: gateway.networking.k8s.io, kind: GRPCRoute, name: api}`,
		Instead: `targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: api}`,
	},
	{
		Code:    TargetGroup,
		Summary: "a policy cannot be attached to this group",
		Text:    `Targets are of gateway.networking.k8s.io, whatever their version.`,
		Example: `targetRef: {group: networking.k8s.io, kind: Gateway, name: edge}`,
		Instead: `targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}`,
	},
	{
		Code:    TargetNotFound,
		Summary: "the target of a policy is not there",
		Text: `The Gateway or HTTPRoute is not among the documents of the policy's own namespace, or has no
listener or rule of that name. A rule without a name is called rule-1, rule-2 and so on by its place.`,
		Example: `targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: nowhere}`,
		Instead: `targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: api}`,
	},
	{
		Code:    NoRules,
		Summary: "a policy or a block has no rules",
		Text: `Every block needs a rule, and a policy without blocks a bare rule or an entry of unset. Patterns
and conditions alone do nothing; an atomic override without rules would take away all there are.`,
		Example: `overrides: {strategy: atomic}`,
		Instead: `overrides: {strategy: atomic, rules: {authentication: {open: {anonymous: {}}}}}`,
	},
	{
		Code:    Method,
		Summary: "a rule has no method, or two",
		Text:    `A rule of an AuthPolicy has exactly one method: how to authenticate, what to fetch, what to check, what to answer.`,
		Example: `authorization:
  both: {opa: {rego: allow if true}, patternMatching: {patterns: []}}`,
		Instead: `authorization:
  one: {opa: {rego: allow if true}}
  two: {patternMatching: {patterns: []}}`,
	},
	{
		Code:    CEL,
		Summary: "an expression in CEL does not compile, or fails",
		Text: `The message has the place within the text. A condition for merging knows self and spec, the
policy below; a predicate knows the request. Both are of type bool. A condition for merging that
reads a missing key does not hold; any other failure of it is this error.`,
		Example: `overrides: {when: 1 + 1, limits: {cap: {}}}`,
		Instead: `overrides: {when: has(self.spec.limits.cap), limits: {cap: {}}}`,
	},
	{
		Code:    WhenForm,
		Summary: "when is neither a condition for merging nor a list of conditions",
		Text: `Within defaults and overrides, when is a string in CEL, which decides whether the block is merged,
or a list of conditions on requests. The bare set cannot be conditional: there it is a list.`,
		Example: `spec: {when: "true"}`,
		Instead: `spec: {when: [{predicate: "true"}]}`,
	},
	{
		Code:    BadOperator,
		Summary: "no such operator",
		Text:    `Operators are eq, neq, incl, excl and matches. For anything else write a predicate in CEL.`,
		Example: `{selector: auth.identity.age, operator: gt, value: "18"}`,
		Instead: `{predicate: auth.identity.age > 18}`,
	},
	{
		Code:    BadRegex,
		Summary: "a regular expression is malformed",
		Text:    `Expressions are RE2: no backreferences, no lookaround.`,
		Example: `{selector: request.path, operator: matches, value: "^/(v1"}`,
		Instead: `{selector: request.path, operator: matches, value: "^/(v1)"}`,
	},
	{
		Code:    BadSelector,
		Summary: "a selector is malformed",
		Text: `Selectors are dotted paths; "\." is a dot within a name, a number an element, "#" a length. At the end
may stand @extract, @case, @replace, @base64 and @strip. In values, "{...}" in a text is a selector.`,
		Example: `selector: auth.identity.name.@reverse`,
		Instead: `selector: auth.identity.name.@case:lower`,
	},
	{
		Code:    RegoBuiltin,
		Summary: "the Rego of a rule reaches outside",
		Text: `Decisions are repeatable: http.send, net.*, rand.*, opa.runtime and others whose answer may differ
are refused, and so are other documents (data). What is needed is fetched by a metadata rule.`,
		Example: `opa: {rego: 'allow if http.send({"method": "GET", "url": "https://a"}).status_code == 200'}`,
		Instead: `opa: {rego: 'allow if input.auth.metadata.a.ok'}`,
	},
	{
		Code:    PatternRef,
		Summary: "a patternRef cannot be resolved",
		Text: `References are looked up in the effective policy, after merging: the pattern must be there on every
path where the rule is. An override that needs a pattern carries it in its own block.`,
		Example: `patternRef: nowhere`,
		Instead: `patternRef: internal`,
	},
	{
		Code:    UnsetForm,
		Summary: "unset is no list of rule keys of the kind",
		Text: `A key is the path of a rule below spec: rules.authentication.NAME, rules.response.unauthorized,
patterns.NAME and when in an AuthPolicy; limits.NAME and when in a RateLimitPolicy.`,
		Example: `unset: [staff-key]`,
		Instead: `unset: [rules.authentication.staff-key]`,
	},
	{
		Code:    ParentNotFound,
		Summary: "a parentRef names a Gateway or listener that is not there",
		Text:    `The namespace of a parentRef is the route's own unless it is written.`,
		Example: `parentRefs: [{name: nowhere}]`,
		Instead: `parentRefs: [{name: edge, namespace: net}]`,
	},
	{
		Code:    ParentKind,
		Summary: "the parent of a route is no Gateway",
		Text:    `Routes are attached to Gateways of gateway.networking.k8s.io.`,
		Example: `parentRefs: [{kind: Service, name: api}]`,
		Instead: `parentRefs: [{kind: Gateway, name: edge}]`,
	},
	{
		Code:    Cycle,
		Summary: "routes are each other's parents",
		Text:    `Routes are attached to Gateways, never to each other.`,
		Example: `metadata: {name: a}
spec: {parentRefs: [{kind: HTTPRoute, name: a}]}`,
		Instead: `metadata: {name: a}
spec: {parentRefs: [{name: edge}]}`,
	},
	{
		Code:    NamespaceSelector,
		Summary: "a listener selects namespaces by a label that is not known",
		Text: `Namespaces are no documents here. Of their labels only kubernetes.io/metadata.name is known: the
namespace's name.`,
		Example: `selector: {matchLabels: {team: a}}`,
		Instead: `selector:
  matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [team-a, team-a-test]}]`,
	},
	{
		Code:    PathLimit,
		Summary: "routes and listeners make too many paths",
		Text: `Every rule of a route on every listener is a path with an effective policy of its own, a million
of them at most. No gateway has that many; a directory that does has a mistake or was made to.`,
		Example: `parentRefs: [{name: edge}] # with a thousand listeners, and a thousand rules below`,
		Instead: `parentRefs: [{name: edge, sectionName: https}]`,
	},
	{
		Code: UnsetOverride, Severity: Warning,
		Summary: "an unset rule is an override above",
		Text:    `Unset takes away defaults of higher policies, never overrides.`,
		Example: `unset: [rules.authentication.staff-key]`,
	},
	{
		Code: UnsetNothing, Severity: Warning,
		Summary: "an unset rule is declared nowhere above",
		Text:    `No higher policy on any path has a rule of that key, so nothing is unset. The key may be misspelt.`,
		Example: `unset: [rules.authentication.staf-key]`,
		Instead: `unset: [rules.authentication.staff-key]`,
	},
	{
		Code: OwnDefaultsShadowed, Severity: Warning,
		Summary: "the atomic overrides of a policy drop its own defaults",
		Text:    `An atomic override replaces everything below it, and a policy's own defaults come first.`,
		Example: `defaults: {limits: {all: {rates: [{limit: 10, window: 1m}]}}}
overrides: {strategy: atomic, limits: {cap: {rates: [{limit: 99, window: 1m}]}}}`,
		Instead: `defaults: {limits: {all: {rates: [{limit: 10, window: 1m}]}}}
overrides: {strategy: merge, limits: {cap: {rates: [{limit: 99, window: 1m}]}}}`,
	},
	{
		Code: RouteNotAccepted, Severity: Warning,
		Summary: "no listener of the parent accepts the route",
		Text: `A listener accepts a route by its protocol, its allowedRoutes (routes of its own namespace unless it
says otherwise) and its hostname. No traffic of this parent reaches the route, so no policy does either.`,
		Example: `parentRefs: [{name: edge, namespace: net}]`,
	},
	{
		Code: RegoNoAllow, Severity: Warning,
		Summary: "the Rego of a rule has no allow",
		Text:    `The rule allows where allow is true, which here is never: every request is denied.`,
		Example: `opa: {rego: permitted if input.request.method == "GET"}`,
		Instead: `opa: {rego: allow if input.request.method == "GET"}`,
	},
	{
		Code: RegoV0, Severity: Warning,
		Summary: "the Rego of a rule is of the older version and was rewritten",
		Text:    "Rego v1 has if before bodies and contains in partial sets. `opa fmt --v0-v1` rewrites a file.",
		Example: "opa: {rego: \"allow { input.request.method == \"GET\" }\"}",
		Instead: "opa: {rego: \"allow if { input.request.method == \"GET\" }\"}",
	},
	{
		Code: UnknownAttribute, Severity: Warning,
		Summary: "a selector begins with nothing that a request has",
		Text: `It finds nothing in any request, which compares as the empty text: incl never holds, excl always
does, and so does neq with any other text. A path begins with request, source, destination, connection, metadata, gateway, route, auth or context.`,
		Example: `{selector: identity.groups, operator: excl, value: banned}`,
		Instead: `{selector: auth.identity.groups, operator: excl, value: banned}`,
	},
	{
		Code: NotComputed, Severity: Warning,
		Summary: "the rule shows in effective policies and is not carried out",
		Text:    `Callbacks and wristbands are the proxy's: calling others and signing tokens is no part of a decision.`,
		Example: `callbacks: {log: {http: {url: https://log.example.com}}}`,
	},
	{
		Code: Overridden, Severity: Warning,
		Summary: "a policy has no effect",
		Text:    `Every rule of it is replaced on every path, or no path leads through its target.`,
	},
}
