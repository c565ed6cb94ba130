package diag

// visibilityExplanations are of mistakes in monitor access policies and metric
// sources.
var visibilityExplanations = []Explanation{
	{
		Code:    RepeatedName,
		Summary: "two entries that need names of their own have the same",
		Text: `A rule says once what of a type is visible. The fields and computed fields of a MetricSource
have different names, and so have its aggregations; a resourceTypeName belongs to one MetricSource.`,
		Example: `resources:
  - {type: pods, visibility: all}
  - {type: pods, visibility: none}`,
		Instead: `resources:
  - {type: pods, visibility: none}`,
	},
	{
		Code:    DanglingField,
		Summary: "a name is that of no field of the MetricSource",
		Text: `filterableFields and identifiers name fields or computed fields. Aggregations may also name an
item's own name and namespace: name, namespace, _name and _namespace.`,
		Example: `fields: [{name: capacity, path: .status.capacity.storage, type: quantity}]
aggregations: [{name: total, function: sum, field: capcity}]`,
		Instead: `fields: [{name: capacity, path: .status.capacity.storage, type: quantity}]
aggregations: [{name: total, function: sum, field: capacity}]`,
	},
	{
		Code:    UnfilterableField,
		Summary: "a policy filters by a field that its MetricSource does not let it filter by",
		Text:    `Such a filter would be left out, and everything would be visible. The fields are listed in filterableFields.`,
		Example: `fields: {capacity: {allowed: ["10Gi"]}}`,
		Instead: `fields: {phase: {allowed: [Bound]}}`,
	},
	{
		Code: MalformedTime, Severity: Warning,
		Summary: "a time of an Allow is none, so the policy never holds",
		Text: `Times are of RFC 3339, with seconds and a zone. A Deny with such a time is an error instead:
leaving a Deny out would open what it closes.`,
		Example: `notAfter: "2026-12-31"`,
		Instead: `notAfter: "2026-12-31T23:59:59Z"`,
	},
	{
		Code: EqualPriority, Severity: Warning,
		Summary: "two policies that share a subject have the same priority",
		Text:    `The lower number is evaluated first, and of equal ones the first by namespace and name: a new name may change who decides.`,
		Example: `identity: {priority: 100, subjects: {groups: [dev]}}`,
		Instead: `identity: {priority: 90, subjects: {groups: [dev]}}`,
	},
	{
		Code: AlternativeSelectors, Severity: Warning,
		Summary: "a selector has several kinds, and a cluster matches by any one of them",
		Text:    `matchNames, matchPattern and matchLabels widen each other. There is no way to ask for two of them together.`,
		Example: `selector: {matchNames: [prod-eu-1], matchLabels: {env: prod}}`,
		Instead: `selector: {matchNames: [prod-eu-1]}`,
	},
	{
		Code: UnanchoredPattern, Severity: Warning,
		Summary: "the matchPattern of an Allow is found anywhere in a name",
		Text:    `Patterns are searched, not matched as a whole: prod is found in nonprod-1.`,
		Example: `selector: {matchPattern: prod}`,
		Instead: `selector: {matchPattern: "^prod-"}`,
	},
	{
		Code: UnreachableRule, Severity: Warning,
		Summary: "a rule before this one matches every cluster",
		Text:    `The first rule that matches a cluster is the policy's rule for it, for every type. Later ones are not looked at.`,
		Example: `rules:
  - {selector: {matchPattern: ".*"}}
  - {selector: {matchNames: [prod-eu-1]}, permissions: {view: true, viewMetrics: true}}`,
		Instead: `rules:
  - {selector: {matchNames: [prod-eu-1]}, permissions: {view: true, viewMetrics: true}}
  - {selector: {matchPattern: ".*"}}`,
	},
	{
		Code: IgnoredFilter, Severity: Warning,
		Summary: "a filter is written where nothing looks at it",
		Text: `A Deny denies the whole cluster, whatever its resources say. visibility: all of a standard type
shows everything that is not denied, so allowed and labels do nothing. Beside include, exclude does not count.`,
		Example: `- {type: pods, visibility: all, filters: {namespaces: {allowed: [shop]}}}`,
		Instead: `- {type: pods, visibility: filtered, filters: {namespaces: {allowed: [shop]}}}`,
	},
	{
		Code: UnknownType, Severity: Warning,
		Summary: "no MetricSource defines the custom type",
		Text: `Every type that is not standard is custom, a misspelt one too. The name is the resourceTypeName
of a MetricSource; without one any field can be filtered by and no aggregation computed.`,
		Example: `- {type: pvcs}`,
		Instead: `- {type: pvc}`,
	},
	{
		Code: UnknownAggregation, Severity: Warning,
		Summary: "include or exclude names an aggregation that the MetricSource lacks",
		Text:    `Names are compared as a whole, without wildcards. Beside a misspelt name in include the aggregation is not shown; beside one in exclude it is.`,
		Example: `aggregations: {exclude: [cost_estimte]}`,
		Instead: `aggregations: {exclude: [cost_estimate]}`,
	},
	{
		Code: NoCriteria, Severity: Warning,
		Summary: "visibility filtered without anything that is allowed",
		Text:    `Of a standard type nothing is visible then, of a custom type everything that is not denied.`,
		Example: `- {type: pods, visibility: filtered, filters: {namespaces: {denied: [kube-system]}}}`,
		Instead: `- {type: pods, visibility: all, filters: {namespaces: {denied: [kube-system]}}}`,
	},
	{
		Code: RawAggregations, Severity: Warning,
		Summary: "who may see some items is shown aggregations over all of them",
		Text:    `With filterAggregations: false the collector's values are passed on as they are, also to those who see a part.`,
		Example: `rbac: {resourceTypeName: pvc, filterAggregations: false}`,
		Instead: `rbac: {resourceTypeName: pvc}`,
	},
	{
		Code: NoEffect, Severity: Warning,
		Summary: "an older field is accepted and does nothing",
		Text: `operations, and permissions other than view and viewMetrics, come from older documents. They
grant nothing and change nothing.`,
		Example: `permissions: {view: true, viewSecrets: true}`,
		Instead: `permissions: {view: true}`,
	},
	{
		Code: EmptyList, Severity: Warning,
		Summary: "an empty list or mapping is the same as none",
		Text:    `allowed: [] allows no less than leaving it out does. To show nothing write visibility: none.`,
		Example: `filters: {names: {allowed: []}}`,
		Instead: `visibility: none`,
	},
}
