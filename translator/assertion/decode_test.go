package assertion_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/syntax"
)

// Each mistake is reported once, at its place: the line that ends in "# CODE".
func TestMistakesHaveTheirPlaces(t *testing.T) {
	one := func(lines ...string) string { // an assertion with a name
		return "spec:\n  assertions:\n  - name: a\n    " + strings.Join(lines, "\n    ")
	}
	never := func(lines ...string) string { return one(append([]string{"never: allowed"}, lines...)...) }
	long := strings.Repeat("x", 257)
	classes := strings.TrimSuffix(strings.Repeat("{}, ", 65), ", ")
	words := strings.TrimSuffix(strings.Repeat("a, ", 1001), ", ")
	many := strings.TrimSuffix(strings.Repeat("user:a, ", 1001), ", ")
	for name, text := range map[string]string{
		"no form":                 "spec:\n  assertions:\n  - name: a # assertion-form\n    of: {}",
		"two forms":               never("always: denied # assertion-form"),
		"unknown key":             never("of: {ressource: secrets} # unknown-field"),
		"key of another point":    never("point: visibility", "of: {namespace: shop} # unknown-field"),
		"holds at the gateway":    never("point: gateway", "of: {holds: group:a} # unknown-field"),
		"identity at access":      never("of: {identity: absent} # unknown-field"),
		"unknown key of the spec": "spec:\n  pont: access # unknown-field\n  assertions: [{name: a, never: allowed}]",
		"same without disjoint":   never("same: [namespace] # unknown-field"),
		"list for a word":         one("never: [allowed] # wrong-type"),
		"text for a class":        never("of: secrets # wrong-type"),
		"text for a boolean":      never(`alone: "yes" # wrong-type`),
		"number for a name":       "spec:\n  assertions:\n  - name: 3 # wrong-type\n    never: allowed",
		"no spec":                 "# missing at kind",
		"no assertions":           "spec: {point: access} # missing",
		"empty assertions":        "spec:\n  assertions: [] # missing",
		"no name":                 "spec:\n  assertions:\n  - never: allowed # missing",
		"no until":                never("exceptions:", "- of: {} # missing", "  reason: r"),
		"no reason":               never("exceptions:", `- of: {} # missing`, `  until: "2027-01-01T00:00:00Z"`),
		"no of":                   never("exceptions:", `- reason: r # missing`, `  until: "2027-01-01T00:00:00Z"`),
		"empty list of classes":   never("of: [] # missing"),
		"empty value":             never("of:", "  verb: [] # missing"),
		"empty holds":             never("of:", "  holds: [] # missing"),
		"empty all":               never("of:", "  holds: {all: []} # missing"),
		"empty like":              never("of:", "  name: {like: []} # missing"),
		"empty label":             never("of:", "  labels: {tier: []} # missing"),
		"exists in a list":        never("of:", "  labels: {tier: [a, {exists: false}]} # bad-value"),
		"empty allow":             never("allow: [] # missing"),
		"empty exceptions":        never("exceptions: [] # missing"),
		"empty list of entries":   one("within: [] # missing"),
		"empty subject":           one("implies: [[], user:a] # missing"),
		"empty apart":             "spec:\n  apart: [[]] # missing\n  assertions: [{name: a, never: allowed}]",
		"empty same":              one("disjoint: [{}, {}]", "same: [] # missing"),
		"unknown word":            one("never: granted # bad-value"),
		"decided at visibility":   one("never: decided # bad-value", "point: visibility"),
		"shown at access":         one("always: shown # bad-value"),
		"limited with never":      one("never: limited # bad-value", "point: gateway"),
		"unknown point":           never("point: acces # bad-value"),
		"unknown reason":          never("allow: [pods] # bad-value"),
		"principal without kind":  never("of: {holds: dev} # bad-value"),
		"principal without name":  never(`of: {holds: "user:"} # bad-value`),
		"principal of another":    one("implies: [serviceaccount:a, user:b] # bad-value"),
		"two users":               one("implies: [[user:a, user:b], group:c] # bad-value"),
		"malformed until":         never("exceptions:", "- of: {}", "  until: tomorrow # bad-value", "  reason: r"),
		"malformed time":          never("at: {from: tomorrow} # bad-value"),
		"unknown time":            never("at: later # bad-value"),
		"from after to":           never(`at: {from: "2027-01-02T00:00:00Z", to: "2027-01-01T00:00:00Z"} # bad-value`),
		"holds of implies":        one("implies: [user:a, user:b]", "of: {holds: user:c} # bad-value"),
		"holds of its exception":  one("implies: [user:a, user:b]", "exceptions:", "- of: {holds: user:c} # bad-value", `  until: "2027-01-01T00:00:00Z"`, "  reason: r"),
		"exceptions of disjoint":  one("disjoint: [{}, {verb: get}]", `exceptions: [{of: {}, until: "2027-01-01T00:00:00Z", reason: r}] # bad-value`),
		"exceptions of covers":    one("covers: namespace", `exceptions: [{of: {}, until: "2027-01-01T00:00:00Z", reason: r}] # bad-value`),
		"exceptions of limited":   one("always: limited", "point: gateway", `exceptions: [{of: {}, until: "2027-01-01T00:00:00Z", reason: r}] # bad-value`),
		"resource and path":       never("of:", "  resource: pods", "  path: /healthz # bad-value"),
		"path and name":           never("of:", "  path: /healthz", "  name: a # bad-value"),
		"group twice":             never("of:", "  resource: deployments.apps", "  apiGroup: apps # bad-value"),
		"subresource twice":       never("of:", "  resource: pods/log", "  subresource: log # bad-value"),
		"unknown action":          never("point: visibility", "of: {action: edit} # bad-value"),
		"unknown identity":        never("point: gateway", "of: {identity: [absent, some]} # bad-value"),
		"unknown labels":          never("of: {labels: none} # bad-value"),
		"item without shown":      never("point: visibility", "of: {item: {name: a}} # bad-value"),
		"implies at the gateway":  one("implies: [user:a, user:b] # bad-value", "point: gateway"),
		"list at visibility":      one("within: [{verbs: [get]}] # bad-value", "point: visibility"),
		"three classes":           one("disjoint: [{}, {}, {}] # bad-value"),
		"name of two lines":       "spec:\n  assertions:\n  - name: \"a\\nb\" # bad-value\n    never: allowed",
		"long name":               "spec:\n  assertions:\n  - name: " + strings.Repeat("x", 254) + " # bad-value\n    never: allowed",
		"malformed glob":          never(`of: {namespace: {like: "["}} # bad-pattern`),
		"glob in plain text":      never("of: {namespace: prod-*} # bad-pattern"),
		"glob as a principal":     never(`of: {holds: "group:*"} # bad-pattern`),
		"glob as a verb":          never(`of: {verb: "ge*"} # bad-pattern`),
		"star as a namespace":     never(`of: {namespace: "*"} # bad-pattern`),
		"glob of files":           one(`independent: {documents: "a/[/x"} # bad-pattern`),
		"two of one name":         "spec:\n  assertions:\n  - {name: a, never: allowed}\n  - {name: a, never: denied} # duplicate",
		"long pattern":            never("of: {namespace: {like: " + long + "}} # too-large"),
		"many classes":            never("of: [" + classes + "] # too-large"),
		"many values":             never("of: {verb: [" + words + "]} # too-large"),
		"many principals":         never("of: {holds: [" + many + "]} # too-large"),
		"many of all":             never("of: {holds: {all: [" + many + "]}} # too-large"),
		"many patterns":           never("of: {name: {like: [" + words + "]}} # too-large"),
		"many values of a label":  never("of: {labels: {tier: [" + words + "]}} # too-large"),
		"many verbs of an entry":  one(`within: [{verbs: [` + words + `], apiGroups: [""], resources: [pods]}] # too-large`),
		"many of a subject":       one("implies: [[" + strings.ReplaceAll(many, "user:", "group:") + "], user:a] # too-large"),
		"many apart":              "spec:\n  apart: [[" + many + "]] # too-large\n  assertions: [{name: a, never: allowed}]",
		"star as a label":         never(`of: {labels: {name: "*"}} # bad-pattern`),
		"long name of characters": "spec:\n  assertions:\n  - name: " + strings.Repeat("é", 254) + " # bad-value\n    never: allowed",
	} {
		t.Run(name, func(t *testing.T) {
			header := "apiVersion: writ.dev/v1\nkind: Assertions\nmetadata: {name: d}\n"
			if text == "# missing at kind" {
				header, text = "apiVersion: writ.dev/v1\nkind: Assertions # missing\nmetadata: {name: d}\n", ""
			}
			text = header + text + "\n"
			file := assertion.Kinds.Decode("a.yaml", []byte(text), syntax.Options{})
			var got, want []string
			for _, d := range file.List {
				got = append(got, fmt.Sprint(d.Code, " ", d.Line))
			}
			for i, line := range strings.Split(text, "\n") {
				if _, code, found := strings.Cut(line, " # "); found {
					want = append(want, fmt.Sprint(code, " ", i+1))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q\n%v\n%s", got, want, file.List, text)
			}
		})
	}
}

// Every form, key and value is accepted.
func TestEveryFormIsRead(t *testing.T) {
	text := `apiVersion: writ.dev/v1
kind: Assertions
metadata: {name: d, namespace: unused, labels: {a: b}, annotations: {c: d}}
spec:
  apart: [[group:a, group:b], [user:c, group:d]]
  assertions:
  - {name: a, never: allowed, of: {verb: "*", resource: "*", apiGroup: "*", name: "*"}, at: any, alone: true, allow: [pod, cel, extension, pattern, items, custom-type, gateway, vacuous]}
  - {name: b, always: decided, of: [{path: {prefix: /api}}, {resource: pods/*}], unless: {namespaceLabels: unknown}, at: {from: "2027-01-01T00:00:00Z"}}
  - {name: c, implies: [[user:a, group:b], group:c], of: {labels: {tier: {not: x}, env: {exists: false}}}, at: now}
  - {name: d, disjoint: [{verb: create}, {verb: approve}], same: [namespace, name]}
  - {name: e, equals: [{verbs: [get], apiGroups: [""], resources: [pods], namespaces: ["", a]}, {verbs: [get], nonResourceURLs: [/healthz]}]}
  - {name: f, independent: {documents: "tenants/a/**"}, of: {namespace: {like: ["a-*", "b?"]}}}
  - {name: g, covers: namespace, of: {holds: {prefix: "group:"}}}
  - {name: h, always: shown, point: visibility, of: {item: {name: a, namespace: {like: "x*"}, labels: {a: b}}, type: pods, clusterLabels: {env: prod}}}
  - {name: i, always: limited, point: gateway, of: {gateway: net/edge, route: HTTPRoute/a/b}}
  - {name: ` + strings.Repeat("é", 253) + `, never: allowed, of: {name: {like: ` + strings.Repeat("é", 256) + `}}}
  - {name: labels, never: allowed, of: {labels: {action: deploy, identity: x, resource: ""}}}
  - {name: j, never: allowed, point: gateway, of: {identity: absent, headers: {x-a: {exists: true}}, host: {not: [a, {like: "*.b"}]}}}
`
	if file := assertion.Kinds.Decode("a.yaml", []byte(text), syntax.Options{}); len(file.List) > 0 {
		t.Errorf("%v", file.List)
	}
}
