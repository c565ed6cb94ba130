package translator_test

import (
	"testing"
	"time"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/visibility"
)

// policyText is a MonitorAccessPolicy for group dev with these rules.
func policyText(rules string) string {
	return `apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: p, namespace: n}
spec:
  identity: {subjects: {groups: [dev]}}
  access: {effect: Allow}
  scope:
    clusters:
      rules:
` + rules
}

func TestMonitorAccessPolicy(t *testing.T) {
	p := one[*visibility.MonitorAccessPolicy](t, decode(t, "p.yaml", `
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: a-b, namespace: team-x, labels: null}
spec:
  identity:
    priority: 7
    subjects:
      users: [alice, "ev"]
      groups: [dev]
      serviceAccounts: [{name: robot}, {namespace: shop, name: robot}]
  access: {effect: Deny, enabled: false}
  scope:
    clusters:
      default: allow
  lifecycle: {validity: {notBefore: 2026-01-01T02:00:00.5+02:00, notAfter: "9999-12-31T23:59:59Z"}}
`))
	same(t, "name", p.Name, "a-b")
	same(t, "namespace", p.Namespace, "team-x")
	same(t, "family", p.Family, visibility.FamilyVisibility)
	same(t, "at", p.At, diag.Position{File: "p.yaml", Line: 3, Column: 1})
	same(t, "name at", p.NameAt, diag.Position{File: "p.yaml", Line: 4, Column: 18})
	same(t, "priority", p.Priority, 7)
	same(t, "priority at", p.PriorityAt, diag.Position{File: "p.yaml", Line: 7, Column: 15})
	same(t, "users", texts(p.Users), []string{"alice", "ev"})
	same(t, "groups", texts(p.Groups), []string{"dev"})
	same(t, "first account", p.ServiceAccounts[0].User(), "system:serviceaccount:default:robot")
	same(t, "second account", p.ServiceAccounts[1].User(), "system:serviceaccount:shop:robot")
	same(t, "deny", p.Deny, true)
	same(t, "disabled", p.Disabled, true)
	same(t, "default", p.Default, "allow")
	same(t, "default at", p.DefaultAt, diag.Position{File: "p.yaml", Line: 15, Column: 16})
	same(t, "not before", *p.NotBefore.Time, time.Date(2026, 1, 1, 0, 0, 0, 5e8, time.UTC))
	same(t, "not before as written", p.NotBefore.Value, "2026-01-01T02:00:00.5+02:00")
	same(t, "not after", *p.NotAfter.Time, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
}

func texts(list []syntax.Text) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Value)
	}
	return out
}

func TestMonitorAccessPolicyByDefault(t *testing.T) {
	p := one[*visibility.MonitorAccessPolicy](t, decode(t, "p.yaml", policyText("        - selector: {matchNames: [a]}\n")))
	same(t, "priority", p.Priority, 100)
	same(t, "priority at", p.PriorityAt.Line, 5)
	same(t, "disabled", p.Disabled, false)
	same(t, "default", p.Default, "none")
	same(t, "default at", p.DefaultAt.Line, 8)
	same(t, "not before", p.NotBefore == nil, true)
	same(t, "rule", p.Rules[0], visibility.ClusterRule{
		At: diag.Position{File: "p.yaml", Line: 10, Column: 11}, Names: []string{"a"}, View: true,
	})
}

func TestClusterRulePermissions(t *testing.T) {
	tests := []struct {
		name, permissions string
		view, metrics     bool
	}{
		{"null", "null", true, false},
		{"none of the two", "{view: null, viewMetrics: null}", true, false},
		{"both", "{view: true, viewMetrics: true}", true, true},
		{"metrics alone", "{viewMetrics: true}", false, true},
		{"no metrics alone", "{viewMetrics: false}", false, false},
		{"no view", "{view: false}", false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := one[*visibility.MonitorAccessPolicy](t, decode(t, "p.yaml",
				policyText("        - {selector: {matchNames: [a]}, permissions: "+test.permissions+"}\n")))
			same(t, "view", p.Rules[0].View, test.view)
			same(t, "viewMetrics", p.Rules[0].ViewMetrics, test.metrics)
		})
	}
}

// A matchLabels that is empty fits every cluster, one that is absent none.
func TestClusterRuleLabels(t *testing.T) {
	p := one[*visibility.MonitorAccessPolicy](t, decode(t, "p.yaml", policyText(`
        - selector: {matchLabels: {"a b": "", c: "1"}}
        - selector: {matchNames: [a], matchLabels: null}
        - selector: {matchLabels: {}}
`)))
	same(t, "pairs", *p.Rules[0].Labels, map[string]string{"a b": "", "c": "1"})
	same(t, "null", p.Rules[1].Labels == nil, true)
	same(t, "empty", *p.Rules[2].Labels, map[string]string{})
}

// The two forms become one.
func TestVisibilityEntries(t *testing.T) {
	tests := []struct{ name, newer, older string }{
		{
			"nodes", `[{type: nodes, visibility: filtered, filters: {labels: {a: b}}}]`,
			`{nodes: {visibility: filtered, filters: {labelSelector: {a: b}}}}`,
		},
		{
			"namespaces", `[{type: namespaces, filters: {names: {allowed: [a, "b*"], denied: [c]}}}]`,
			`{namespaces: {filters: {allowed: [a, "b*"], denied: [c]}}}`,
		},
		{
			"operators",
			`[{type: operators, visibility: none, filters: {names: {allowed: [a], denied: [b]}, namespaces: {allowed: [c], denied: [d]}}}]`,
			`{operators: {visibility: none, filters: {allowedNames: [a], deniedNames: [b], allowedNamespaces: [c], deniedNamespaces: [d]}}}`,
		},
		{"pods", `[{type: pods, filters: {namespaces: {allowed: [a]}}}]`, `{pods: {filters: {allowedNamespaces: [a]}}}`},
		{
			"custom",
			`[{type: pvc, visibility: all, filters: {names: {denied: [a]}, namespaces: {allowed: [b]}, fields: {x: {allowed: [c], denied: [""]}}}, aggregations: {include: [d], exclude: [e]}}]`,
			`{custom: {pvc: {visibility: all, filters: {names: {denied: [a]}, namespaces: {allowed: [b]}, fields: {x: {allowed: [c], denied: [""]}}}, aggregations: {include: [d], exclude: [e]}}}}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			same(t, "entry", entry(t, test.older), entry(t, test.newer))
		})
	}
}

// entry is the one entry of these resources, without positions.
func entry(t *testing.T, resources string) visibility.VisibilityEntry {
	t.Helper()
	p := one[*visibility.MonitorAccessPolicy](t, decode(t, "p.yaml",
		policyText("        - {selector: {matchNames: [a]}, resources: "+resources+"}\n")))
	if len(p.Rules[0].Entries) != 1 {
		t.Fatalf("got %d entries", len(p.Rules[0].Entries))
	}
	e := p.Rules[0].Entries[0]
	e.Type.At = diag.Position{}
	for _, list := range [][]syntax.Text{e.Include, e.Exclude} {
		for i := range list {
			list[i].At = diag.Position{}
		}
	}
	for i := range e.Fields {
		e.Fields[i].Field.At = diag.Position{}
	}
	return e
}

func TestOlderNodes(t *testing.T) {
	e := entry(t, `{nodes: {visibility: all, filters: {hideMasters: true, hideByLabels: {a: b}}}}`)
	same(t, "hideMasters", e.HideMasters, true)
	same(t, "hideByLabels", e.HideByLabels, map[string]string{"a": "b"})
	same(t, "includes", e.Includes(), false)
}

func TestMetricSource(t *testing.T) {
	s := one[*visibility.MetricSource](t, decode(t, "s.yaml", `
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: s}
spec:
  source: {apiVersion: v1, kind: Thing, scope: Cluster}
  fields: [{name: a, path: .a}, {name: b, path: .b, type: float}]
  computed: [{name: c, expression: a + b}]
  aggregations:
    - {name: total, function: count, percentile: 7}
    - {name: half, function: percentile, field: c, percentile: 50, groupBy: _name, filter: {field: a, operator: in, value: "[x, y]"}}
  rbac: {resourceTypeName: thing, identifiers: {namespace: a, name: c}, filterableFields: [b, c]}
`))
	same(t, "of", s.Of, visibility.Collected{APIVersion: "v1", Kind: "Thing", Scope: "Cluster"})
	same(t, "kind", s.Kind, "MetricSource")
	same(t, "fields", s.Fields, []string{"a", "b"})
	same(t, "computed", s.Computed, []string{"c"})
	same(t, "aggregations", s.Aggregations[0], visibility.Aggregation{Name: "total", Function: "count"})
	same(t, "percentile", s.Aggregations[1], visibility.Aggregation{
		Name: "half", Function: "percentile", Field: "c", GroupBy: "_name", Percentile: 50,
		Filter: &visibility.AggregationFilter{Field: "a", Operator: "in", Value: "[x, y]"},
	})
	same(t, "type", s.Type, syntax.Text{Value: "thing", At: diag.Position{File: "s.yaml", Line: 12, Column: 28}})
	same(t, "identifiers", s.NamespaceField+" "+s.NameField, "a c")
	same(t, "filterable", s.Filterable, []string{"b", "c"})
	same(t, "filterAggregations", s.FilterAggregations, true)
}

// A document with mistakes is still there for those who refer to it.
func TestVisibilityDocumentsWithMistakes(t *testing.T) {
	tests := []struct {
		name, text string
		want       int
	}{
		{"no spec", "apiVersion: clusterpulse.io/v1alpha1\nkind: MetricSource\nmetadata: {name: s}\n", 1},
		{"no name", "apiVersion: clusterpulse.io/v1alpha1\nkind: MetricSource\nmetadata: {namespace: s}\n", 0},
		{"a bad rule", policyText("        - {}\n"), 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			read := translator.Kinds().Decode("f.yaml", []byte(test.text), syntax.Options{})
			documents, list := read.Documents, read.List
			same(t, "documents", len(documents), test.want)
			same(t, "errors", list.HasErrors(), true)
		})
	}
}
