package diag

// gatewayExplanations explain mistakes in inherited gateway policies, gateways and
// routes.
var gatewayExplanations = []Explanation{
	{
		Code:    Value,
		Summary: "a value of a gateway policy has the wrong type or is out of range",
		Text: `Documents of kuadrant.io and gateway.networking.k8s.io follow their schemas: a window is digits
and a unit, up to four times, the code of a denial is between 300 and 599, a creationTimestamp is
RFC 3339. Values are not converted.`,
		Example: `rates: [{limit: ten, window: 10 seconds}]`,
		Instead: `rates: [{limit: 10, window: 10s}]`,
	},
	{
		Code:    Exclusive,
		Summary: "two keys are mutually exclusive",
		Text: `A policy has either bare rules (rules, patterns, limits, when) or blocks (defaults, overrides);
bare rules are a block of their own. A condition is exactly one of a comparison, a predicate, a
reference, all or any. A value is exactly one of value, selector or expression. An impersonation
rule is about identities or about actionVerbs. The position is that of the later key.`,
		Example: `defaults: {rules: {authentication: {key: {apiKey: {}}}}}
rules: {authentication: {open: {anonymous: {}}}}`,
		Instead: `defaults: {rules: {authentication: {key: {apiKey: {}}}}}`,
	},
	{
		Code:    BadStrategy,
		Summary: "the strategy is not known",
		Text:    `The strategy of a block is atomic, which is the default, or merge.`,
		Example: `defaults: {strategy: deep}`,
		Instead: `defaults: {strategy: merge}`,
	},
	{
		Code:    NoTarget,
		Summary: "a policy has no targetRef",
		Text:    `The targetRef names what the policy is attached to: a Gateway, an HTTPRoute or a GRPCRoute in its own namespace, or a section of one.`,
		Example: `spec: {limits: {all: {rates: [{limit: 10, window: 1m}]}}}`,
		Instead: `spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  limits: {all: {rates: [{limit: 10, window: 1m}]}}`,
	},
	{
		Code:    TargetKind,
		Summary: "a policy cannot be attached to this kind",
		Text:    `A target is a Gateway, or one of its listeners by sectionName, or an HTTPRoute or GRPCRoute, or one of its rules by sectionName.`,
		Example: `targetRef: {group: gateway.networking.k8s.io, kind: GRPCRoute, name: api}`,
		Instead: `targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: api}`,
	},
	{
		Code:    TargetGroup,
		Summary: "a policy cannot be attached to this group",
		Text:    `The group of a target is gateway.networking.k8s.io. Any version is accepted.`,
		Example: `targetRef: {group: networking.k8s.io, kind: Gateway, name: edge}`,
		Instead: `targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}`,
	},
	{
		Code:    TargetNotFound,
		Summary: "the target of a policy is not found",
		Text: `The policy's own namespace has no such Gateway or route, or the Gateway or route has no
listener or rule with that name. A rule without a name is called rule-1, rule-2 and so on, by its
position.`,
		Example: `targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: nowhere}`,
		Instead: `targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: api}`,
	},
	{
		Code:    NoRules,
		Summary: "a policy or a block has no rules",
		Text: `Every block needs a rule. A policy without blocks needs a bare rule or an entry in unset. Patterns
and conditions alone have no effect, and an atomic override without rules would remove all others.`,
		Example: `overrides: {strategy: atomic}`,
		Instead: `overrides: {strategy: atomic, rules: {authentication: {open: {anonymous: {}}}}}`,
	},
	{
		Code:    Method,
		Summary: "a rule has no method, or more than one",
		Text:    `A rule of an AuthPolicy has exactly one method: how to authenticate, which metadata to fetch, what to authorize, or what to respond.`,
		Example: `authorization:
  both: {opa: {rego: allow if true}, patternMatching: {patterns: []}}`,
		Instead: `authorization:
  one: {opa: {rego: allow if true}}
  two: {patternMatching: {patterns: []}}`,
	},
	{
		Code:    CEL,
		Summary: "a CEL expression does not compile, or fails",
		Text: `The message contains the position within the expression. A merge condition reads self and spec of
the lower policy; a predicate reads the request. Both must be of type bool. A merge condition that
reads a missing key is false; any other evaluation error is reported with this code.`,
		Example: `overrides: {when: 1 + 1, limits: {cap: {}}}`,
		Instead: `overrides: {when: has(self.spec.limits.cap), limits: {cap: {}}}`,
	},
	{
		Code:    WhenForm,
		Summary: "when is neither a merge condition nor a list of conditions",
		Text: `Within defaults and overrides, when is either a CEL string that decides whether the block is
merged, or a list of conditions on requests. Bare rules are always merged, so their when must be a list.`,
		Example: `spec: {when: "true"}`,
		Instead: `spec: {when: [{predicate: "true"}]}`,
	},
	{
		Code:    BadOperator,
		Summary: "the operator is not known",
		Text:    `The operators are eq, neq, incl, excl and matches. For other comparisons use a CEL predicate.`,
		Example: `{selector: auth.identity.age, operator: gt, value: "18"}`,
		Instead: `{predicate: auth.identity.age > 18}`,
	},
	{
		Code:    BadRegex,
		Summary: "a regular expression is malformed",
		Text:    `Regular expressions are RE2, without backreferences and lookaround.`,
		Example: `{selector: request.path, operator: matches, value: "^/(v1"}`,
		Instead: `{selector: request.path, operator: matches, value: "^/(v1)"}`,
	},
	{
		Code:    BadSelector,
		Summary: "a selector is malformed",
		Text: `A selector is a dotted path: "\." is a dot within a name, a number selects an element, "#" is the
length of a list. The modifiers @extract, @case, @replace, @base64 and @strip may follow. In a
value, text between "{" and "}" is a selector.`,
		Example: `selector: auth.identity.name.@reverse`,
		Instead: `selector: auth.identity.name.@case:lower`,
	},
	{
		Code:    RegoBuiltin,
		Summary: "the Rego of a rule uses a forbidden built-in function or data",
		Text: `Decisions are repeatable, so http.send, net.*, rand.*, opa.runtime and other nondeterministic
functions are not allowed, and neither is data. Use a metadata rule to fetch what the rule needs.`,
		Example: `opa: {rego: 'allow if http.send({"method": "GET", "url": "https://a"}).status_code == 200'}`,
		Instead: `opa: {rego: 'allow if input.auth.metadata.a.ok'}`,
	},
	{
		Code:    PatternRef,
		Summary: "a patternRef cannot be resolved",
		Text: `References are resolved in the effective policy, after merging: every path that has the rule must
have the pattern. An override that uses a pattern should define it in its own block.`,
		Example: `patternRef: nowhere`,
		Instead: `patternRef: internal`,
	},
	{
		Code:    UnsetForm,
		Summary: "unset is not a list of rule keys of the kind",
		Text: `A rule key is the path of a rule below spec. In an AuthPolicy the keys are
rules.authentication.NAME, rules.response.unauthorized, patterns.NAME and when; in a
RateLimitPolicy or a TokenRateLimitPolicy limits.NAME and when.`,
		Example: `unset: [staff-key]`,
		Instead: `unset: [rules.authentication.staff-key]`,
	},
	{
		Code:    UnsetForbidden,
		Summary: "unset is used where forbid-unset is on",
		Text: `unset removes defaults of higher policies. forbid-unset in .writ.yaml refuses it in the documents of
that source, and --forbid-unset in those of all sources.`,
		Example: `unset: [rules.authentication.staff-key]`,
		Instead: `rules: {authentication: {member: {jwt: {issuerUrl: "https://login.example"}}}}`,
	},
	{
		Code:    ParentNotFound,
		Summary: "a parentRef names a Gateway or listener that is not found",
		Text:    `The namespace of a parentRef defaults to that of the route.`,
		Example: `parentRefs: [{name: nowhere}]`,
		Instead: `parentRefs: [{name: edge, namespace: net}]`,
	},
	{
		Code:    ParentKind,
		Summary: "the parent of a route is not a Gateway",
		Text: `Routes are attached to Gateways of gateway.networking.k8s.io. A ListenerSet is not read:
the operator that enforces these policies has no such parent, so routes below one carry no
policy there. With --cluster-export a ListenerSet is a warning, and that parent gives no path.`,
		Example: `parentRefs: [{kind: Service, name: api}]`,
		Instead: `parentRefs: [{kind: Gateway, name: edge}]`,
	},
	{
		Code:    Cycle,
		Summary: "the parents of routes form a cycle",
		Text:    `Routes are attached to Gateways, not to each other.`,
		Example: `metadata: {name: a}
spec: {parentRefs: [{kind: HTTPRoute, name: a}]}`,
		Instead: `metadata: {name: a}
spec: {parentRefs: [{name: edge}]}`,
	},
	{
		Code:    NamespaceSelector,
		Summary: "a listener selects namespaces by an unknown label",
		Text: `Namespaces are not documents of the directory. The only label known for them is
kubernetes.io/metadata.name, the name of the namespace.`,
		Example: `selector: {matchLabels: {team: a}}`,
		Instead: `selector:
  matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [team-a, team-a-test]}]`,
	},
	{
		Code:    PathLimit,
		Summary: "routes and listeners have too many combinations",
		Text: `Every rule of a route on every listener is a path with its own effective policy. A directory may
have at most a million of them. More indicate a mistake, or an attempt to exhaust memory.`,
		Example: `parentRefs: [{name: edge}] # with a thousand listeners, and a thousand rules below`,
		Instead: `parentRefs: [{name: edge, sectionName: https}]`,
	},
	{
		Code: UnsetOverride, Severity: Warning,
		Summary: "unset names a rule that a higher policy overrides",
		Text:    `unset removes defaults of higher policies. It does not remove overrides.`,
		Example: `unset: [rules.authentication.staff-key]`,
	},
	{
		Code: UnsetNothing, Severity: Warning,
		Summary: "unset names a rule that no higher policy has",
		Text:    `No higher policy on any path has a rule with that key, so unset has no effect. The key may be misspelt.`,
		Example: `unset: [rules.authentication.staf-key]`,
		Instead: `unset: [rules.authentication.staff-key]`,
	},
	{
		Code: OwnDefaultsShadowed, Severity: Warning,
		Summary: "the atomic overrides of a policy replace its own defaults",
		Text:    `An atomic override replaces everything below it, and that includes the defaults of the same policy.`,
		Example: `defaults: {limits: {all: {rates: [{limit: 10, window: 1m}]}}}
overrides: {strategy: atomic, limits: {cap: {rates: [{limit: 99, window: 1m}]}}}`,
		Instead: `defaults: {limits: {all: {rates: [{limit: 10, window: 1m}]}}}
overrides: {strategy: merge, limits: {cap: {rates: [{limit: 99, window: 1m}]}}}`,
	},
	{
		Code: RouteNotAccepted, Severity: Warning,
		Summary: "no listener of the parent accepts the route",
		Text: `A listener accepts a route by its protocol, its allowedRoutes (by default routes of its own
namespace) and its hostname. No traffic of this parent reaches the route, so no policy applies there.
An HTTPRoute and a GRPCRoute of one namespace that have a hostname in common are not both accepted:
the older one is, then the one whose name comes first, then the GRPCRoute.`,
		Example: `parentRefs: [{name: edge, namespace: net}]`,
	},
	{
		Code: RouteConflict, Severity: Warning,
		Summary: "routes of different namespaces match the same requests",
		Text: `On one listener both have a hostname and a match in common. No namespace takes a path from another
one, whatever creationTimestamp and name its route has: such a request is allowed only if the
effective policies of all these routes allow it. With --strict-routes this is an error.`,
		Example: `metadata: {name: cart, namespace: a}   # and {name: cart, namespace: b}
spec: {hostnames: [shop.example], rules: [{matches: [{path: {value: /cart}}]}]}`,
		Instead: `spec: {hostnames: [shop.example], rules: [{matches: [{path: {value: /b/cart}}]}]}`,
	},
	{
		Code:    HeaderName,
		Summary: "a policy sets a header that changes framing or routing",
		Text: `A policy must not set host, content-length, transfer-encoding, connection, keep-alive,
proxy-connection, te, trailer, upgrade, in any case, or a name that begins with a colon: the proxy
would send another request than the one that was decided. That holds for headers of denials and for
response.success.headers, by key or else by the item's name.`,
		Example: `response: {success: {headers: {owner: {key: Host, plain: {value: shop}}}}}`,
		Instead: `response: {success: {headers: {owner: {key: x-owner, plain: {value: shop}}}}}`,
	},
	{
		Code: RegoNoAllow, Severity: Warning,
		Summary: "the Rego of a rule has no allow",
		Text:    `The rule allows a request if allow is true. It is never defined here, so every request is denied.`,
		Example: `opa: {rego: permitted if input.request.method == "GET"}`,
		Instead: `opa: {rego: allow if input.request.method == "GET"}`,
	},
	{
		Code: RegoV0, Severity: Warning,
		Summary: "the Rego of a rule is Rego v0 and was converted",
		Text:    "Rego v1 requires if before bodies and contains in partial sets. `opa fmt --v0-v1` rewrites a file.",
		Example: "opa: {rego: \"allow { input.request.method == \"GET\" }\"}",
		Instead: "opa: {rego: \"allow if { input.request.method == \"GET\" }\"}",
	},
	{
		Code: UnknownAttribute, Severity: Warning,
		Summary: "a selector or an expression reads an unknown attribute",
		Text: `The selector finds nothing in any request and is compared as an empty string: incl never holds,
excl always holds, and so does neq with any other text. The first segment of a path is request,
source, destination, connection, metadata, gateway, route, auth or context. An expression of an Origin
rule that reads a key which no request has is undecidable: an allow rule never holds, and a deny rule
always does.`,
		Example: `{selector: identity.groups, operator: excl, value: banned}`,
		Instead: `{selector: auth.identity.groups, operator: excl, value: banned}`,
	},
	{
		Code: NotComputed, Severity: Warning,
		Summary: "the rule is part of effective policies but is not evaluated",
		Text:    `Callbacks and wristbands belong to the proxy: calling other services and signing tokens is not part of a decision.`,
		Example: `callbacks: {log: {http: {url: https://log.example.com}}}`,
	},
	{
		Code: Overridden, Severity: Warning,
		Summary: "a policy has no effect",
		Text:    `Each of its rules is replaced on every path, or no path leads through its target.`,
	},
}
