package visibility

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/tests/oracle/random"
)

// fieldValues are the texts of JSON values, odd ones among them.
var fieldValues = []string{
	`"Bound"`, `"Bound"`, `"Failed"`, `"Pending"`, `""`, `"1"`, `"1"`, `"true"`, `"1000"`, `"10"`, `"über"`, `"a\nb"`, `"x,y"`, `"10"`, `" 1"`, `"_unknown_"`,
	`1`, `1.0`, `1`, `10`, `1e3`, `1E3`, `1000.00`, `0.25`, `25e-2`, `-3`, `0`, `-0`, `0.0`, `20.50`, `5368709120`, `12345678901234567890`, `1e21`, `0.1`, `0.2`, `0.0000001`,
	`"01"`, `".5"`, `"5."`, `"+5"`, `"0x10"`, `"1_0"`, `"NaN"`, `"inf"`, `"1e2"`, `"-0"`, `"9"`, `1e-9`, `1.7976931348623157e308`, `1e400`, `-3e400`, `9.5e999`, `"1e400"`, `"1e1000"`, `123456789012345678901234567890.5`, `-1e3`,
	`true`, `false`, `null`, `[]`, `[true]`, `["Bound"]`, `[1,[2,null]]`, `[1.0,[2,null]]`, `{}`, `{"a":1}`, `{"a":1.0}`, `{"a":{"b":[]}}`,
}

// usualValues are those that aggregations ask for.
var usualValues = []string{`"Bound"`, `"1"`, `"10"`, `"1000"`, `1`, `1.0`, `10`, `1e3`, `"true"`, `true`, `null`}

func jsonValue(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(err) // of the table above
	}
	return value
}

type requester struct {
	random.Source
	views *World
}

// Requests makes n random requests, most of them about what the policies are
// about. They are the same each time.
func (w *World) Requests(n int) []Request {
	g := requester{random.New(w.seed, 6), w}
	requests := make([]Request, 0, n)
	for range n {
		requests = append(requests, g.request())
	}
	return requests
}

func (g requester) request() Request {
	r := Request{
		User: g.One(viewUsers[:4]), Action: g.One([]string{"view", "view", "view", "viewMetrics", ""}), Now: g.now(),
		Groups: g.Some(0, 3, append([]string{""}, viewGroups...)),
	}
	if g.Once(4) {
		r.User = g.One(viewUsers)
	}
	if g.Once(40) {
		r.Action = g.One([]string{"view_metrics", "edit", "View", "it's"})
	}
	if g.Once(6) {
		a := viewAccounts[g.IntN(len(viewAccounts))]
		r.Account = ScopeAccount(a)
	}
	if g.Once(12) {
		r.User = ""
	}
	if !g.Once(20) {
		r.Cluster.Name = g.One(viewClusters)
	}
	if !g.Once(3) {
		r.Cluster.Labels = map[string]string{}
		for _, key := range g.Distinct(0, 2, []string{"env", "tier"}) {
			r.Cluster.Labels[key] = g.One([]string{"prod", "blue", "", "red"})
		}
	}
	if p := g.views.Policies[g.IntN(len(g.views.Policies))]; !g.Once(4) {
		g.near(&r, p)
	} else {
		r.Type = g.One(append([]string{"", "", "pod", "Pods", "unknown"}, slices.Concat(standardTypes, customTypes)...))
	}
	g.content(&r)
	return r
}

// near turns a request towards a policy.
func (g requester) near(r *Request, p *Policy) {
	if g.Once(2) {
		r.Groups = nil
	}
	if len(p.Users) > 0 {
		r.User = g.One(p.Users)
	} else if len(p.Groups) > 0 {
		r.Groups = append(r.Groups, g.One(p.Groups))
	}
	r.Type = g.One(append([]string{"", ""}, standardTypes...))
	if len(p.Rules) == 0 {
		return
	}
	rule := p.Rules[g.IntN(len(p.Rules))]
	switch {
	case len(rule.Names) > 0:
		r.Cluster.Name = g.One(rule.Names)
	case rule.Pattern == "" && rule.Labels != nil && g.Once(2):
		r.Cluster.Labels = rule.Labels
	}
	if len(rule.Entries) > 0 && !g.Once(5) {
		r.Type = rule.Entries[g.IntN(len(rule.Entries))].Type
	}
	if len(rule.Entries) > 0 && standardType(r.Type) && g.Once(2) {
		r.Type = rule.Entries[g.IntN(len(rule.Entries))].Type
	}
	if !standardType(r.Type) && g.Once(5) {
		r.Cluster = Cluster{}
	}
}

// now is at the ends of what the policies say, or a little beside them.
func (g requester) now() time.Time {
	t, _ := viewInstant(g.One(viewTimes))
	return t.Add(time.Duration(g.Number(-1, 0, 1, -1000000, 1000000, 1000000000000, -1000000000000)))
}

// content adds items, aggregations and metrics.
func (g requester) content(r *Request) {
	if !g.Once(8) {
		items := []Item{}
		for range g.IntN(12) {
			items = append(items, g.item(r.Type))
		}
		r.Items = &items
	}
	if g.Once(2) {
		r.Aggregations = map[string]any{}
		for _, name := range g.Distinct(0, 4, aggregationNames) {
			r.Aggregations[name] = jsonValue(g.One(fieldValues))
		}
	}
	if g.Once(3) {
		r.Metrics = g.metrics()
	}
}

func (g requester) item(kind string) Item {
	item := Item{Name: g.One(itemNames), Namespace: g.One(itemNamespaces)}
	if g.Once(8) {
		item.Name = ""
	}
	if g.Once(6) {
		item.Namespace = ""
	}
	if kind == "namespaces" {
		item.Name = g.One(append(itemNamespaces, ""))
		if g.Once(2) {
			item.Namespace = ""
		}
	}
	if !g.Once(3) {
		item.Labels = g.itemLabels()
	}
	if kind == "nodes" && !g.Once(3) {
		item.Name, item.Labels = g.One(itemNames), g.itemLabels()
	}
	switch {
	case kind == "operators":
		item.Fields = g.operatorFields()
	case kind == "nodes" && g.Once(3):
		item.Fields = map[string]any{"roles": g.anySome([]string{"master", "worker", "control-plane", "infra"})}
	case !standardType(kind):
		item.Fields = map[string]any{}
		for _, field := range g.Distinct(2, 9, append([]string{"ratio"}, fieldNames...)) {
			item.Fields[field] = jsonValue(g.One(fieldValues))
			if g.Once(2) {
				item.Fields[field] = jsonValue(g.One(usualValues))
			}
		}
		for _, field := range []string{"name", "namespace", "tenant"} {
			if g.Once(2) {
				item.Fields[field] = g.One(append([]string{""}, itemNamespaces...))
			}
		}
	}
	return item
}

func (g requester) itemLabels() map[string]string {
	labels := map[string]string{}
	for _, key := range g.Distinct(0, 2, append([]string{"team", "env"}, itemLabels...)) {
		labels[key] = g.One([]string{"prod", "blue", "", "red"})
	}
	return labels
}

func (g requester) anySome(from []string) []any {
	values := []any{}
	for _, text := range g.Some(0, 3, from) {
		values = append(values, text)
	}
	return values
}

func (g requester) operatorFields() map[string]any {
	fields := map[string]any{}
	switch g.IntN(5) {
	case 0:
		fields["available_in_namespaces"] = []any{"*"}
	case 1:
		fields["available_in_namespaces"] = jsonValue(g.One([]string{"null", "[]", `["*","app-1"]`, `["a","*"]`, `["app-1",""]`, `["*","*"]`}))
	case 2, 3:
		fields["available_in_namespaces"] = g.anySome(itemNamespaces[:len(itemNamespaces)-1])
	}
	if g.Once(3) {
		fields["display_name"] = g.One(itemNames)
	}
	return fields
}

var numbers10 = []string{"0", "1", "2", "10", "1.5", "0.1", "0.2", "1e3", "32", "8", "1000.0", "17179869184", "1e400"}

func (g requester) metrics() map[string]any {
	m := map[string]any{}
	known := slices.Concat(podMetrics, namespaceMetrics, nodeCounts, nodeSums, nodePercents, []string{"namespaces", "operators", "alerts"})
	if !g.Once(4) {
		totals := map[string]any{}
		for _, name := range g.Distinct(0, len(known), known) {
			totals[name] = json.Number(g.One(numbers10))
		}
		if g.Once(8) {
			totals[g.One([]string{"filtered", "filter_metadata", "pods", "my metric"})] = jsonValue(g.One([]string{"null", "7", "-1", "0.5"}))
		}
		m["totals"] = totals
	}
	if !g.Once(4) {
		records := map[string]any{}
		for _, name := range g.Distinct(0, 5, itemNamespaces) {
			records[name] = g.record(slices.Concat(podMetrics, namespaceMetrics))
		}
		m["byNamespace"] = records
	}
	if !g.Once(4) {
		records := map[string]any{}
		for _, name := range g.Distinct(0, 5, itemNames) {
			record := g.record(nodeSums)
			if !g.Once(4) {
				record["ready"] = g.Once(2)
			}
			if g.Once(3) {
				record["roles"] = g.anySome([]string{"master", "worker", "control-plane"})
			}
			records[name] = record
		}
		m["byNode"] = records
	}
	return m
}

func (g requester) record(keys []string) map[string]any {
	record := map[string]any{}
	for _, key := range keys {
		if !g.Once(4) {
			record[key] = json.Number(g.One(numbers10))
			if g.Once(20) {
				record[key] = nil
			}
		}
	}
	if g.Once(2) {
		labels := map[string]any{}
		for key, value := range g.itemLabels() {
			labels[key] = value
		}
		record["labels"] = labels
	}
	return record
}
