package visibility

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// seen returns the visibility tables of documents, each in a file of its name.
func seen(t testing.TB, files map[string]string) *tables.Visibility {
	t.Helper()
	var documents []syntax.Document
	for name, content := range files {
		read := kinds.Decode(name, []byte(content), syntax.Options{})
		more, list := read.Documents, read.List
		if list.HasErrors() {
			t.Fatal(list)
		}
		documents = append(documents, more...)
	}
	d := new(directory.Names).NewDirectory(documents, directory.Options{AllowEmpty: true})
	resolved := resolve(d)
	if d.List.HasErrors() {
		t.Fatal(d.List)
	}
	return lower(resolved)
}

const wholeAccessPolicy = `
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: whole, namespace: ns}
spec:
  identity:
    priority: 7
    subjects:
      users: [zoe, alice, zoe, "system:serviceaccount:ns:own"]
      groups: [ops, dev, ops]
      serviceAccounts: [{name: robot}, {name: own, namespace: ns}]
  access: {effect: Deny, enabled: false}
  scope:
    clusters:
      default: allow
      rules:
        - selector: {matchNames: [b, a, b, ""], matchLabels: {}}
          permissions: {viewMetrics: true, view: true}
          resources:
            - {type: widgets, visibility: all, filters: {fields: {phase: {allowed: [b, "a*", b], denied: ["?", ""]}}}, aggregations: {include: [z, a, z], exclude: [b]}}
            - {type: nodes, filters: {labels: {a: b}}}
        - selector: {matchPattern: "^x"}
          permissions: {view: false}
  lifecycle: {validity: {notBefore: "2026-01-01T02:00:00+02:00", notAfter: "9999-12-31T23:59:59Z"}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: widgets, namespace: ns}
spec:
  source: {apiVersion: v1, kind: Widget}
  fields: [{name: phase, path: .phase}]
  aggregations:
    - {name: a, function: count, filter: {field: phase, operator: equals, value: x}}
    - {name: b, function: distinct, field: namespace, groupBy: _name, filter: {field: phase, operator: in, value: "[b, c]"}}
  rbac: {resourceTypeName: widgets, identifiers: {name: phase}, filterableFields: [phase], filterAggregations: false}
`

const wantWhole = `{
  "policies": [{
    "namespace": "ns", "name": "whole", "source": "p.yaml:3", "module": "ns-whole", "priority": 7, "deny": true, "disabled": true,
    "notBefore": "2026-01-01T00:00:00Z", "notAfter": "9999-12-31T23:59:59Z",
    "notBeforeText": "2026-01-01T02:00:00+02:00", "notAfterText": "9999-12-31T23:59:59Z",
    "users": ["alice", "system:serviceaccount:default:robot", "system:serviceaccount:ns:own", "zoe"],
    "serviceAccounts": ["system:serviceaccount:default:robot", "system:serviceaccount:ns:own"],
    "groups": ["dev", "ops"],
    "default": "allow", "byDefault": {"source": "p.yaml:15", "permissions": ["view"], "entries": {}},
    "rules": [
      {"source": "p.yaml:17", "names": ["b", "a"], "labels": {}, "permissions": ["view", "viewMetrics"], "entries": {
        "nodes": {"visibility": "filtered", "names": {}, "namespaces": {}, "labels": {"a": "b"}, "fields": {},
         "filter": {"visibility": "filtered", "names": {}, "namespaces": {}, "labels": {"a": "b"}, "fields": {}}},
        "widgets": {"custom": true, "visibility": "filtered", "names": {}, "namespaces": {}, "labels": {},
         "fields": {"phase": {"allowed": {"literals": {"b": true}, "patterns": ["(?s)^a.*$"]}, "denied": {"literals": {"": true}, "patterns": ["(?s)^.$"]}}},
         "include": ["z", "a"], "exclude": ["b"],
         "filter": {"visibility": "filtered", "names": {}, "namespaces": {}, "labels": {},
          "fields": {"phase": {"include": ["b"], "includePatterns": ["a*"], "exclude": [""], "excludePatterns": ["?"]}}}}
      }},
      {"source": "p.yaml:22", "pattern": "^x", "permissions": [], "entries": {}}
    ],
    "listed": {"nodes": 0, "widgets": 0}
  }],
  "allows": {}, "denies": {},
  "sources": [{
    "namespace": "ns", "name": "widgets", "source": "p.yaml:27", "type": "widgets", "apiVersion": "v1", "kind": "Widget", "scope": "Namespaced",
    "fields": ["phase"], "computed": [], "nameField": "phase", "filterAggregations": false,
    "aggregations": [
      {"name": "a", "function": "count", "percentile": 0, "filter": {"field": {"name": "phase"}, "operator": "equals", "value": "x"}},
      {"name": "b", "function": "distinct", "field": {"own": true, "name": "namespace"}, "groupBy": {"own": true, "name": "name"}, "percentile": 0,
       "filter": {"field": {"name": "phase"}, "operator": "in", "value": "[b, c]", "list": ["b", "c"]}}
    ]
  }],
  "types": {"widgets": 0}
}`

func TestVisibility(t *testing.T) {
	text, err := json.Marshal(seen(t, map[string]string{"p.yaml": wholeAccessPolicy}))
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	for from, into := range map[string]*any{string(text): &got, wantWhole: &want} {
		if err := json.Unmarshal([]byte(from), into); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s\nwant %s", text, wantWhole)
	}
}

// accessPolicy returns a policy with one rule, which has these resources.
func accessPolicy(metadata, identity, resources string) string {
	return "apiVersion: clusterpulse.io/v1alpha1\nkind: MonitorAccessPolicy\nmetadata: {" + metadata +
		"}\nspec: {identity: {subjects: {groups: [dev]}" + identity +
		"}, access: {effect: Allow}, scope: {clusters: {rules: [{selector: {matchNames: [a]}, resources: " + resources + "}]}}}\n"
}

// Under visibility: all, exclusions restrict a standard type. Any criterion filters a
// custom type.
func TestEffectiveVisibility(t *testing.T) {
	tests := []struct {
		name, resources string
		visibility      string
		restricts       bool
	}{
		{"standard, nothing", "[{type: pods}]", "all", false},
		{"standard, all", "[{type: pods, visibility: all}]", "all", false},
		{"standard, none", "[{type: pods, visibility: none}]", "none", true},
		{"standard, filtered", "[{type: pods, visibility: filtered}]", "filtered", true},
		{"standard, allowed", "[{type: pods, filters: {names: {allowed: [a]}}}]", "filtered", true},
		{"standard, labels", "[{type: pods, filters: {labels: {a: b}}}]", "filtered", true},
		{"standard, denied", "[{type: pods, filters: {names: {denied: [a]}}}]", "all", true},
		{"standard, denied namespaces", "[{type: pods, filters: {namespaces: {denied: [a]}}}]", "all", true},
		{"standard, all with allowed", "[{type: pods, visibility: all, filters: {names: {allowed: [a]}, labels: {a: b}}}]", "all", false},
		{"standard, all with denied", "[{type: pods, visibility: all, filters: {names: {denied: [a]}}}]", "all", true},
		{"standard, empty lists", "[{type: pods, filters: {names: {allowed: [], denied: []}, labels: {}}}]", "all", false},
		{"nodes, hideMasters", "{nodes: {filters: {hideMasters: true}}}", "all", true},
		{"nodes, hideMasters false", "{nodes: {filters: {hideMasters: false}}}", "all", false},
		{"nodes, hideByLabels", "{nodes: {visibility: all, filters: {hideByLabels: {a: b}}}}", "all", true},
		{"custom, nothing", "[{type: pvc}]", "all", false},
		{"custom, all", "[{type: pvc, visibility: all}]", "all", false},
		{"custom, none", "[{type: pvc, visibility: none, filters: {names: {denied: [a]}}}]", "none", false},
		{"custom, filtered", "[{type: pvc, visibility: filtered}]", "filtered", true},
		{"custom, denied", "[{type: pvc, filters: {names: {denied: [a]}}}]", "filtered", true},
		{"custom, all with denied", "[{type: pvc, visibility: all, filters: {namespaces: {denied: [a]}}}]", "filtered", true},
		{"custom, all with allowed", "[{type: pvc, visibility: all, filters: {names: {allowed: [a]}}}]", "filtered", true},
		{"custom, all with labels", "[{type: pvc, visibility: all, filters: {labels: {a: b}}}]", "filtered", true},
		{"custom, all with a denied field", "[{type: pvc, visibility: all, filters: {fields: {a: {denied: [b]}}}}]", "filtered", true},
		{"custom, a field without criteria", "[{type: pvc, filters: {fields: {a: {allowed: []}}}}]", "all", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, got := range seen(t, map[string]string{"p.yaml": accessPolicy("name: p", "", test.resources)}).Policies[0].Rules[0].Entries {
				if got.Visibility != test.visibility || got.Restricts() != test.restricts {
					t.Errorf("got %s and %v, want %s and %v", got.Visibility, got.Restricts(), test.visibility, test.restricts)
				}
			}
		})
	}
}

func TestCommaList(t *testing.T) {
	for value, want := range map[string][]string{
		"a": {"a"}, "a, b": {"a", "b"}, "[a,b ]": {"a", "b"}, " [ a ] ": {"a"}, "": {""}, "[]": {""},
	} {
		if got := commaList(value); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

// The tables hold, by subject, the policies that can apply in the order of evaluation
// and, by type, the first rule that applies.
func TestVisibilityIndexes(t *testing.T) {
	got := seen(t, map[string]string{
		"1.yaml": accessPolicy("name: b", ", priority: 1", "[{type: pods, visibility: none}]"),
		"2.yaml": accessPolicy("name: a", ", priority: 2", "[{type: pods}]"),
		"3.yaml": strings.Replace(accessPolicy("name: d", ", priority: 3", "[{type: pods, visibility: none}]"), "Allow", "Deny", 1),
		"4.yaml": strings.Replace(accessPolicy("name: off", "", "[]"), "Allow", "Allow, enabled: false", 1),
	})
	if want := map[string][]int{"group:dev": {0, 1}}; !reflect.DeepEqual(got.Allows, want) {
		t.Errorf("got %v, want %v", got.Allows, want)
	}
	if want := map[string][]int{"group:dev": {2}}; !reflect.DeepEqual(got.Denies, want) {
		t.Errorf("got %v, want %v", got.Denies, want)
	}
	for i, want := range []map[string]int{{}, {"pods": 0}, {"pods": 0}, {}} {
		if p := got.Policies[i]; !reflect.DeepEqual(p.Listed, want) {
			t.Errorf("%s: got %v, want %v", p.Name, p.Listed, want)
		}
	}
}

// Policies are in the order of priority, namespace and name, independent of their files.
func TestOrderOfPolicies(t *testing.T) {
	files := map[string]string{
		"1.yaml": accessPolicy("name: b", "", "null"),
		"2.yaml": accessPolicy("name: a, namespace: z", "", "null"),
		"3.yaml": accessPolicy("name: z, namespace: zz", ", priority: 99", "null"),
		"4.yaml": accessPolicy("name: 0b", "", "null"),
		"5.yaml": accessPolicy("name: first", ", priority: 2", "null"),
		"6.yaml": accessPolicy("name: a-b", "", "null"),
	}
	want := []string{"/first", "zz/z", "/0b", "/a-b", "/b", "z/a"}
	for range 5 { // files come in the order of a map
		var got []string
		for _, p := range seen(t, files).Policies {
			got = append(got, p.Namespace+"/"+p.Name)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestMalformedTime(t *testing.T) {
	text := strings.Replace(accessPolicy("name: p", "", "null"), "spec: {", "spec: {lifecycle: {validity: {notBefore: 2026-01-01, notAfter: 2026-01-01T00:00:00Z}}, ", 1)
	p := seen(t, map[string]string{"p.yaml": text}).Policies[0]
	if !p.Malformed || p.NotBefore != nil || p.NotBeforeText != "2026-01-01" || p.NotAfter == nil {
		t.Errorf("got %+v", p)
	}
}

// filter returns a random {allowed, denied} as YAML and as the fields of an older section.
func filter(t *rapid.T) (allowed, denied string) {
	values := func(label string) string {
		return "[" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "'b*'", "'c?'", "d"}), 0, 4).Draw(t, label), ", ") + "]"
	}
	return values("allowed"), values("denied")
}

// Both forms of a policy give the same tables.
func TestFormsAreOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		visibility := rapid.SampledFrom([]string{"", "visibility: all, ", "visibility: none, ", "visibility: filtered, "}).Draw(rt, "visibility")
		names, noNames := filter(rt)
		spaces, noSpaces := filter(rt)
		newer := "[{type: pvc, " + visibility + "filters: {names: {allowed: " + names + ", denied: " + noNames + "}, fields: {x: {denied: " + noSpaces + "}}}}, " +
			"{type: operators, " + visibility + "filters: {names: {allowed: " + names + ", denied: " + noNames + "}, namespaces: {allowed: " + spaces + ", denied: " + noSpaces + "}}}, " +
			"{type: namespaces, " + visibility + "filters: {names: {allowed: " + names + ", denied: " + noNames + "}}}, " +
			"{type: pods, " + visibility + "filters: {namespaces: {allowed: " + spaces + "}}}]"
		older := "{operators: {" + visibility + "filters: {allowedNames: " + names + ", deniedNames: " + noNames + ", allowedNamespaces: " + spaces + ", deniedNamespaces: " + noSpaces + "}}, " +
			"pods: {" + visibility + "filters: {allowedNamespaces: " + spaces + "}}, " +
			"namespaces: {" + visibility + "filters: {allowed: " + names + ", denied: " + noNames + "}}, " +
			"custom: {pvc: {" + visibility + "filters: {names: {allowed: " + names + ", denied: " + noNames + "}, fields: {x: {denied: " + noSpaces + "}}}}}}"
		got := seen(t, map[string]string{"p.yaml": accessPolicy("name: p", "", older)})
		want := seen(t, map[string]string{"p.yaml": accessPolicy("name: p", "", newer)})
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("got %+v\nwant %+v", got, want)
		}
	})
}
