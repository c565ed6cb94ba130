package diag

// visibilityExplanations explain mistakes in monitor access policies and metric
// sources.
var visibilityExplanations = []Explanation{
	{
		Code:    RepeatedName,
		Summary: "two entries that need different names have the same name",
		Text: `A rule has at most one entry for a type. The fields and computed fields of a MetricSource have
different names, and so have its aggregations. A resourceTypeName belongs to one MetricSource.`,
		Example: `resources:
  - {type: pods, visibility: all}
  - {type: pods, visibility: none}`,
		Instead: `resources:
  - {type: pods, visibility: none}`,
	},
	{
		Code:    DanglingField,
		Summary: "the MetricSource has no field with this name",
		Text: `filterableFields and identifiers name fields or computed fields. Aggregations may also name an
item's own name and namespace: name, namespace, _name and _namespace.`,
		Example: `fields: [{name: capacity, path: .status.capacity.storage, type: quantity}]
aggregations: [{name: total, function: sum, field: capcity}]`,
		Instead: `fields: [{name: capacity, path: .status.capacity.storage, type: quantity}]
aggregations: [{name: total, function: sum, field: capacity}]`,
	},
	{
		Code:    UnfilterableField,
		Summary: "the MetricSource does not allow filtering by this field",
		Text:    `Such a filter would be ignored, and everything would be visible. filterableFields lists the fields that a policy may filter by.`,
		Example: `fields: {capacity: {allowed: ["10Gi"]}}`,
		Instead: `fields: {phase: {allowed: [Bound]}}`,
	},
	{
		Code: MalformedTime, Severity: Warning,
		Summary: "a time of an Allow policy is malformed, so the policy never applies",
		Text: `Times are RFC 3339, with seconds and a zone. In a Deny policy a malformed time is an error, because
ignoring the policy would show what it hides.`,
		Example: `notAfter: "2026-12-31"`,
		Instead: `notAfter: "2026-12-31T23:59:59Z"`,
	},
	{
		Code: EqualPriority, Severity: Warning,
		Summary: "two policies that share a subject have the same priority",
		Text:    `The policy with the lower number is evaluated first. Equal numbers are ordered by namespace and name, so renaming a policy may change the decision.`,
		Example: `identity: {priority: 100, subjects: {groups: [dev]}}`,
		Instead: `identity: {priority: 90, subjects: {groups: [dev]}}`,
	},
	{
		Code: AlternativeSelectors, Severity: Warning,
		Summary: "a selector has several kinds, and a cluster matches by any one of them",
		Text:    `A cluster matches if it matches one of matchNames, matchPattern and matchLabels. They cannot be combined to require two of them.`,
		Example: `selector: {matchNames: [prod-eu-1], matchLabels: {env: prod}}`,
		Instead: `selector: {matchNames: [prod-eu-1]}`,
	},
	{
		Code: UnanchoredPattern, Severity: Warning,
		Summary: "the matchPattern of an Allow policy is not anchored",
		Text:    `A pattern matches anywhere in a name: prod matches nonprod-1.`,
		Example: `selector: {matchPattern: prod}`,
		Instead: `selector: {matchPattern: "^prod-"}`,
	},
	{
		Code: UnreachableRule, Severity: Warning,
		Summary: "a rule before this one matches every cluster",
		Text:    `The first rule that matches a cluster is the policy's rule for it, for every type. Later rules are ignored.`,
		Example: `rules:
  - {selector: {matchPattern: ".*"}}
  - {selector: {matchNames: [prod-eu-1]}, permissions: {view: true, viewMetrics: true}}`,
		Instead: `rules:
  - {selector: {matchNames: [prod-eu-1]}, permissions: {view: true, viewMetrics: true}}
  - {selector: {matchPattern: ".*"}}`,
	},
	{
		Code: IgnoredFilter, Severity: Warning,
		Summary: "a filter has no effect here",
		Text: `A Deny policy denies the whole cluster and ignores its resources. visibility: all of a standard
type shows everything that is not denied, so allowed and labels have no effect. If include is
present, exclude has no effect.`,
		Example: `- {type: pods, visibility: all, filters: {namespaces: {allowed: [shop]}}}`,
		Instead: `- {type: pods, visibility: filtered, filters: {namespaces: {allowed: [shop]}}}`,
	},
	{
		Code: UnknownType, Severity: Warning,
		Summary: "no MetricSource defines the custom type",
		Text: `Every type that is not a standard type is custom, even a misspelt one. The name is the
resourceTypeName of a MetricSource. Without a MetricSource a policy may filter by any field, and
no aggregation is computed.`,
		Example: `- {type: pvcs}`,
		Instead: `- {type: pvc}`,
	},
	{
		Code: UnknownAggregation, Severity: Warning,
		Summary: "include or exclude names an aggregation that the MetricSource lacks",
		Text:    `Names are compared exactly, without wildcards. If a name in include is misspelt, the aggregation is hidden; if a name in exclude is misspelt, it is shown.`,
		Example: `aggregations: {exclude: [cost_estimte]}`,
		Instead: `aggregations: {exclude: [cost_estimate]}`,
	},
	{
		Code: NoCriteria, Severity: Warning,
		Summary: "visibility is filtered, but nothing is allowed",
		Text:    `For a standard type nothing is visible then. For a custom type everything that is not denied is visible.`,
		Example: `- {type: pods, visibility: filtered, filters: {namespaces: {denied: [kube-system]}}}`,
		Instead: `- {type: pods, visibility: all, filters: {namespaces: {denied: [kube-system]}}}`,
	},
	{
		Code: RawAggregations, Severity: Warning,
		Summary: "aggregations over all items are shown to users who may see some of them",
		Text:    `With filterAggregations: false the collector's values are returned unchanged, even to users who may see only some of the items.`,
		Example: `rbac: {resourceTypeName: pvc, filterAggregations: false}`,
		Instead: `rbac: {resourceTypeName: pvc}`,
	},
	{
		Code: NoEffect, Severity: Warning,
		Summary: "the field is accepted but has no effect",
		Text: `operations, and permissions other than view and viewMetrics, come from older documents. They
have no effect.`,
		Example: `permissions: {view: true, viewSecrets: true}`,
		Instead: `permissions: {view: true}`,
	},
	{
		Code: EmptyList, Severity: Warning,
		Summary: "an empty list or mapping has the same meaning as a missing one",
		Text:    `allowed: [] does not restrict anything. To show nothing use visibility: none.`,
		Example: `filters: {names: {allowed: []}}`,
		Instead: `visibility: none`,
	},
}
