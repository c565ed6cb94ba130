// Package filters proves that a filter selects the rows for which the engine decides so, one
// by one: for random policies and rows, in UCAST and in databases.
package filters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/filters"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// activate returns the engine for documents.
func activate(t *testing.T, documents []map[string]any) decision.Policies {
	t.Helper()
	return activateAt(t, documents, nil)
}

// activateAt returns the engine for documents, with a clock; nil is that of the machine.
func activateAt(t *testing.T, documents []map[string]any, now func() time.Time) decision.Policies {
	t.Helper()
	var files []source.File
	for i, d := range documents {
		files = append(files, source.NewFile(fmt.Sprintf("d%d.json", i), encode(d)))
	}
	result, list := translator.New(translator.Options{}).Translate(t.Context(), source.Snapshot{Files: files})
	if result == nil {
		t.Fatalf("%v\n%s", list, encode(documents))
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), b, engine.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func encode(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// answer asks for a filter. The second value lists the constructs that refuse it.
func answer(t *testing.T, p decision.Policies, point, target string, question map[string]any) (*filters.Answer, []string) {
	t.Helper()
	question["target"] = target
	body, err := decision.Parse(encode(question))
	if err != nil {
		t.Fatal(err)
	}
	q, err := filters.Parse(point, body, "", nil)
	if err != nil {
		t.Fatalf("%s: %v", encode(question), err)
	}
	a, err := q.Answer(t.Context(), p)
	if refused, ok := err.(*filter.UntranslatableError); ok {
		var constructs []string
		for _, c := range refused.Constructs {
			constructs = append(constructs, c.Construct)
		}
		return nil, constructs
	} else if err != nil {
		t.Fatal(err)
	}
	return a, nil
}

// literal asks for a condition in SQL that has its values in the text, for a question that is
// not refused.
func literal(t *testing.T, q asked, target string) string {
	t.Helper()
	request, err := decision.Parse(encode(q.question["request"]))
	if err != nil {
		t.Fatal(err)
	}
	o := filters.Options{Target: target, Columns: q.question["columns"], First: filter.Literal}
	o.Open, _ = q.question["open"].([]string)
	question, err := filters.OfInput(q.point, request, o, nil)
	if err != nil {
		t.Fatalf("%s: %v", encode(q.question), err)
	}
	a, err := question.Answer(t.Context(), q.policies)
	if err != nil {
		t.Fatalf("%s: %v", encode(q.question), err)
	}
	if len(a.Args) > 0 {
		t.Fatalf("%s: a text with its values has the parameters %v", encode(q.question), a.Args)
	}
	return a.Query.(string)
}

// selected returns the indexes of the rows that are decided visible or allowed, one by one.
func selected(t *testing.T, p decision.Policies, point string, question map[string]any, rows []map[string]any) []int {
	t.Helper()
	var out []int
	request := maps.Clone(question["request"].(map[string]any))
	if point == decision.Visibility { // items are decided one by one
		request["items"] = rows
		_, out = decide(t, p, point, request)
		return out
	}
	for i, row := range rows {
		for _, key := range question["open"].([]string) {
			if value, ok := row[key]; ok {
				request[key] = value
			} else {
				delete(request, key)
			}
		}
		if allowed, _ := decide(t, p, point, request); allowed {
			out = append(out, i)
		}
	}
	return out
}

// decide returns whether a request is allowed, and which of its items are visible.
func decide(t *testing.T, p decision.Policies, point string, request map[string]any) (bool, []int) {
	t.Helper()
	at, _ := decision.FindPoint(point)
	q, err := at.Decode(encode(request), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, refused := q.Decide(t.Context(), p)
	if refused != nil {
		t.Fatal(refused)
	}
	switch d := d.(type) {
	case *decision.Decision:
		return d.Allowed, nil
	case *decision.VisibilityDecision:
		return false, d.Visible
	}
	return false, nil
}

// draw draws documents, questions and rows.
type draw struct{ *rand.Rand }

func pick[T any](d draw, list ...T) T { return list[d.IntN(len(list))] }

func (d draw) chance(percent int) bool { return d.IntN(100) < percent }

// hostile are texts that databases, patterns and paths of JSON treat specially.
var hostile = []string{
	"a", "b", "A", "ab", "ba", "aba", "a b", "a ", "%", "_", "a%", "[", "a[b]", "!", `\`, `a\b`, "'", `"`, "é", "e\u0301", "😀",
	"a/b", "/", "*x", "\n", "ß", "web", "web-0", "kube-system", "x!y", "^", "-", "$", "]", "a_b",
	" ", "\t", " a", "İ", "ﬁ", "Ａ", "a\r\n", "**", "?", "??",
}

func (d draw) text() string { return pick(d, hostile...) }

func (d draw) glob() string {
	switch d.IntN(8) {
	case 0:
		return "*"
	case 1, 2:
		return d.text() + "*"
	case 3:
		return "*" + d.text()
	case 4:
		return "*" + d.text() + "*"
	case 5:
		return d.text() + "*" + d.text()
	case 6:
		return "?" + d.text()
	}
	return pick(d, "a*b*c", "*a*b*", "?*", "??")
}

func (d draw) values() []string {
	var out []string
	for range 1 + d.IntN(3) {
		if d.chance(50) {
			out = append(out, d.glob())
		} else {
			out = append(out, d.text())
		}
	}
	return out
}

func (d draw) labels() map[string]string {
	out := map[string]string{}
	for range 1 + d.IntN(2) {
		out[pick(d, labelKeys...)] = pick(d, "", "x", "Blue", "blue", `a"b`, "1", "'", "é😀", "a/b")
	}
	return out
}

func (d draw) criteria(values func() []string) map[string]any {
	out := map[string]any{}
	if d.chance(60) {
		out["allowed"] = values()
	}
	if d.chance(50) {
		out["denied"] = values()
	}
	return out
}

var standard = []string{"nodes", "namespaces", "operators", "pods", "alerts", "events"}

const customType = "volumes"

func (d draw) entry(kind string) map[string]any {
	filters := map[string]any{}
	if d.chance(70) {
		filters["names"] = d.criteria(d.values)
	}
	if d.chance(60) && kind != "nodes" && kind != "namespaces" {
		filters["namespaces"] = d.criteria(d.values)
	}
	if d.chance(35) {
		filters["labels"] = d.labels()
	}
	if kind == customType {
		literals := func() []string {
			return []string{pick(d, "1", "0.25", "-2", "01", "1.0", "10", "", "true", "12"), pick(d, "0", "false", "1e3", "Bound", "100000", "-0")}
		}
		filters["fields"] = map[string]any{
			"phase": d.criteria(d.values), "size": d.criteria(literals), "bound": d.criteria(func() []string { return append(literals(), pick(d, "t*", "*e", "?*")) }),
			"count": d.criteria(func() []string { return append(literals(), pick(d, "1*", "?", "*0", "-*")) }),
		}
	}
	out := map[string]any{"type": kind, "filters": filters}
	if d.chance(70) {
		out["visibility"] = pick(d, "all", "filtered", "filtered", "filtered", "none")
	}
	return out
}

func (d draw) policy(user string) map[string]any {
	var resources []any
	for _, i := range d.Perm(len(standard))[:1+d.IntN(3)] {
		resources = append(resources, d.entry(standard[i]))
	}
	if d.chance(80) {
		resources = append(resources, d.entry(customType))
	}
	return policyFor(user, resources)
}

// policyOf returns a policy with entries for the user u on the cluster c.
func policyOf(resources []any) map[string]any { return policyFor("u", resources) }

func policyFor(user string, resources []any) map[string]any {
	return map[string]any{
		"apiVersion": "clusterpulse.io/v1alpha1", "kind": "MonitorAccessPolicy", "metadata": map[string]any{"name": "p-" + user},
		"spec": map[string]any{
			"identity": map[string]any{"subjects": map[string]any{"users": []string{user}}}, "access": map[string]any{"effect": "Allow"},
			"scope": map[string]any{"clusters": map[string]any{"rules": []any{map[string]any{
				"selector": map[string]any{"matchNames": []string{"c"}}, "resources": resources,
			}}}},
		},
	}
}

var metricSource = metricSourceWith(map[string]any{})

// metricSourceWith returns the source of the custom type, with fields in place of the name and
// the namespace.
func metricSourceWith(identifiers map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "clusterpulse.io/v1alpha1", "kind": "MetricSource", "metadata": map[string]any{"name": "s"},
		"spec": map[string]any{
			"source": map[string]any{"apiVersion": "v1", "kind": "Volume"},
			"fields": []any{
				map[string]any{"name": "phase", "path": ".a"}, map[string]any{"name": "size", "path": ".b", "type": "float"},
				map[string]any{"name": "bound", "path": ".c", "type": "boolean"}, map[string]any{"name": "count", "path": ".d", "type": "integer"},
			},
			"rbac": map[string]any{"resourceTypeName": customType, "filterableFields": []string{"phase", "size", "bound", "count"}, "identifiers": identifiers},
		},
	}
}

// row draws an item. The name and the namespace may be missing or empty.
func (d draw) row() map[string]any {
	text := func() string {
		v := d.text()
		return pick(d, v, v, v+d.text(), strings.ToUpper(v), v+" ", "")
	}
	fields, out := map[string]any{}, map[string]any{}
	set := func(to map[string]any, key string, value any) {
		if d.chance(80) {
			to[key] = value
		}
	}
	set(out, "name", text())
	set(out, "namespace", text())
	set(out, "labels", pick(d, d.labels(), d.labels(), map[string]string{}))
	set(out, "namespaceLabels", pick(d, d.labels(), map[string]string{}))
	set(fields, "phase", text())
	set(fields, "size", pick(d, 1, 0.25, -2, 10, 1.5, 100000, 0))
	set(fields, "bound", d.chance(50))
	set(fields, "count", pick(d, 1, 10, 12, 0, -2, 100000))
	set(fields, "available_in_namespaces", pick(d, []string{"*"}, []string{}, []string{"*", "x"}, []string{text(), text()}, []string{""}))
	set(fields, "display_name", text())
	set(fields, "roles", pick(d, []string{"master"}, []string{}, []string{"worker", "control-plane"}))
	out["fields"] = fields
	return out
}

// sqlTargets are the targets of databases.
var sqlTargets = []string{"sql+sqlite", "sql+postgresql", "sql+mysql"}

// columnsOf are the columns of the rows of tables.
var columnsOf = map[string]any{
	"namespaceLabels": map[string]any{"json": "nsl"},
	"fields": map[string]any{"columns": map[string]any{
		"phase": "phase", "size": map[string]any{"column": "size", "type": "number"}, "bound": map[string]any{"column": "bound", "type": "boolean"},
		"count": map[string]any{"column": "count", "type": "integer"}, "available_in_namespaces": map[string]any{"json": "available"},
		"display_name": "display", "roles": map[string]any{"json": "roles"},
	}},
}

// columnsInJSON are the same with the fields in a JSON object and the labels in columns of
// their own.
var columnsInJSON = map[string]any{
	"labels": map[string]any{"columns": labelColumns()}, "namespaceLabels": map[string]any{"json": "nsl"},
	"fields": map[string]any{"json": "fields", "types": map[string]any{"phase": "text", "size": "number", "bound": "boolean", "count": "integer"}},
}

// labelKeys are the keys of labels, which are hostile to paths of JSON.
var labelKeys = []string{"k", "team", "a.b/c", "node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane", `a"b`, `x\y`, "it's", "$", "[0]", "é"}

func labelColumns() map[string]any {
	out := map[string]any{}
	for i, key := range labelKeys {
		out[key] = fmt.Sprintf("l%d", i)
	}
	return out
}

// visibilityCase draws one world with a policy for each user, and questions of each about two
// types of items.
func visibilityCase(t *testing.T, d draw, users []string) (decision.Policies, []map[string]any) {
	documents := []map[string]any{pick(d, metricSource, metricSourceWith(map[string]any{"name": "phase"}), metricSourceWith(map[string]any{"namespace": "phase"}))}
	var questions []map[string]any
	for _, user := range users {
		documents = append(documents, d.policy(user))
		for _, kind := range []string{pick(d, standard...), pick(d, customType, pick(d, standard...))} {
			questions = append(questions, map[string]any{
				"request": map[string]any{"user": user, "cluster": map[string]any{"name": "c"}, "type": kind}, "columns": pick(d, columnsOf, columnsOf, columnsInJSON),
			})
		}
	}
	return activate(t, documents), questions
}

func without(row map[string]any, key string) map[string]any {
	out := map[string]any{}
	for k, v := range row {
		if k != key {
			out[k] = v
		}
	}
	return out
}
