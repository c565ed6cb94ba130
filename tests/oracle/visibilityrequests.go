package oracle

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
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

type viewRequester struct {
	random
	views *Views
}

// Requests makes n random requests, most of them about what the policies are
// about. They are the same each time.
func (w *Views) Requests(n int) []ViewRequest {
	g := viewRequester{newRandom(w.seed, 6), w}
	requests := make([]ViewRequest, 0, n)
	for range n {
		requests = append(requests, g.request())
	}
	return requests
}

func (g viewRequester) request() ViewRequest {
	r := ViewRequest{
		User: g.one(viewUsers[:4]), Action: g.one([]string{"view", "view", "view", "viewMetrics", ""}), Now: g.now(),
		Groups: g.some(0, 3, append([]string{""}, viewGroups...)),
	}
	if g.once(4) {
		r.User = g.one(viewUsers)
	}
	if g.once(40) {
		r.Action = g.one([]string{"view_metrics", "edit", "View", "it's"})
	}
	if g.once(6) {
		a := viewAccounts[g.IntN(len(viewAccounts))]
		r.Account = ViewAccount(a)
	}
	if g.once(12) {
		r.User = ""
	}
	if !g.once(20) {
		r.Cluster.Name = g.one(viewClusters)
	}
	if !g.once(3) {
		r.Cluster.Labels = map[string]string{}
		for _, key := range g.distinct(0, 2, []string{"env", "tier"}) {
			r.Cluster.Labels[key] = g.one([]string{"prod", "blue", "", "red"})
		}
	}
	if p := g.views.Policies[g.IntN(len(g.views.Policies))]; !g.once(4) {
		g.near(&r, p)
	} else {
		r.Type = g.one(append([]string{"", "", "pod", "Pods", "unknown"}, slices.Concat(standardTypes, customTypes)...))
	}
	g.content(&r)
	return r
}

// near turns a request towards a policy.
func (g viewRequester) near(r *ViewRequest, p *ViewPolicy) {
	if g.once(2) {
		r.Groups = nil
	}
	if len(p.Users) > 0 {
		r.User = g.one(p.Users)
	} else if len(p.Groups) > 0 {
		r.Groups = append(r.Groups, g.one(p.Groups))
	}
	r.Type = g.one(append([]string{"", ""}, standardTypes...))
	if len(p.Rules) == 0 {
		return
	}
	rule := p.Rules[g.IntN(len(p.Rules))]
	switch {
	case len(rule.Names) > 0:
		r.Cluster.Name = g.one(rule.Names)
	case rule.Pattern == "" && rule.Labels != nil && g.once(2):
		r.Cluster.Labels = rule.Labels
	}
	if len(rule.Entries) > 0 && !g.once(5) {
		r.Type = rule.Entries[g.IntN(len(rule.Entries))].Type
	}
	if len(rule.Entries) > 0 && standardType(r.Type) && g.once(2) {
		r.Type = rule.Entries[g.IntN(len(rule.Entries))].Type
	}
	if !standardType(r.Type) && g.once(5) {
		r.Cluster = ViewCluster{}
	}
}

// now is at the ends of what the policies say, or a little beside them.
func (g viewRequester) now() time.Time {
	t, _ := viewInstant(g.one(viewTimes))
	return t.Add(time.Duration(g.number(-1, 0, 1, -1000000, 1000000, 1000000000000, -1000000000000)))
}

// content adds items, aggregations and metrics.
func (g viewRequester) content(r *ViewRequest) {
	if !g.once(8) {
		items := []Item{}
		for range g.IntN(12) {
			items = append(items, g.item(r.Type))
		}
		r.Items = &items
	}
	if g.once(2) {
		r.Aggregations = map[string]any{}
		for _, name := range g.distinct(0, 4, aggregationNames) {
			r.Aggregations[name] = jsonValue(g.one(fieldValues))
		}
	}
	if g.once(3) {
		r.Metrics = g.metrics()
	}
}

func (g viewRequester) item(kind string) Item {
	item := Item{Name: g.one(itemNames), Namespace: g.one(itemNamespaces)}
	if g.once(8) {
		item.Name = ""
	}
	if g.once(6) {
		item.Namespace = ""
	}
	if kind == "namespaces" {
		item.Name = g.one(append(itemNamespaces, ""))
		if g.once(2) {
			item.Namespace = ""
		}
	}
	if !g.once(3) {
		item.Labels = g.itemLabels()
	}
	if kind == "nodes" && !g.once(3) {
		item.Name, item.Labels = g.one(itemNames), g.itemLabels()
	}
	switch {
	case kind == "operators":
		item.Fields = g.operatorFields()
	case kind == "nodes" && g.once(3):
		item.Fields = map[string]any{"roles": g.anySome([]string{"master", "worker", "control-plane", "infra"})}
	case !standardType(kind):
		item.Fields = map[string]any{}
		for _, field := range g.distinct(2, 9, append([]string{"ratio"}, fieldNames...)) {
			item.Fields[field] = jsonValue(g.one(fieldValues))
			if g.once(2) {
				item.Fields[field] = jsonValue(g.one(usualValues))
			}
		}
		for _, field := range []string{"name", "namespace", "tenant"} {
			if g.once(2) {
				item.Fields[field] = g.one(append([]string{""}, itemNamespaces...))
			}
		}
	}
	return item
}

func (g viewRequester) itemLabels() map[string]string {
	labels := map[string]string{}
	for _, key := range g.distinct(0, 2, append([]string{"team", "env"}, itemLabels...)) {
		labels[key] = g.one([]string{"prod", "blue", "", "red"})
	}
	return labels
}

func (g viewRequester) anySome(from []string) []any {
	values := []any{}
	for _, text := range g.some(0, 3, from) {
		values = append(values, text)
	}
	return values
}

func (g viewRequester) operatorFields() map[string]any {
	fields := map[string]any{}
	switch g.IntN(5) {
	case 0:
		fields["available_in_namespaces"] = []any{"*"}
	case 1:
		fields["available_in_namespaces"] = jsonValue(g.one([]string{"null", "[]", `["*","app-1"]`, `["a","*"]`, `["app-1",""]`, `["*","*"]`}))
	case 2, 3:
		fields["available_in_namespaces"] = g.anySome(itemNamespaces[:len(itemNamespaces)-1])
	}
	if g.once(3) {
		fields["display_name"] = g.one(itemNames)
	}
	return fields
}

var numbers10 = []string{"0", "1", "2", "10", "1.5", "0.1", "0.2", "1e3", "32", "8", "1000.0", "17179869184", "1e400"}

func (g viewRequester) metrics() map[string]any {
	m := map[string]any{}
	known := slices.Concat(podMetrics, namespaceMetrics, nodeCounts, nodeSums, nodePercents, []string{"namespaces", "operators", "alerts"})
	if !g.once(4) {
		totals := map[string]any{}
		for _, name := range g.distinct(0, len(known), known) {
			totals[name] = json.Number(g.one(numbers10))
		}
		if g.once(8) {
			totals[g.one([]string{"filtered", "filter_metadata", "pods", "my metric"})] = jsonValue(g.one([]string{"null", "7", "-1", "0.5"}))
		}
		m["totals"] = totals
	}
	if !g.once(4) {
		records := map[string]any{}
		for _, name := range g.distinct(0, 5, itemNamespaces) {
			records[name] = g.record(slices.Concat(podMetrics, namespaceMetrics))
		}
		m["byNamespace"] = records
	}
	if !g.once(4) {
		records := map[string]any{}
		for _, name := range g.distinct(0, 5, itemNames) {
			record := g.record(nodeSums)
			if !g.once(4) {
				record["ready"] = g.once(2)
			}
			if g.once(3) {
				record["roles"] = g.anySome([]string{"master", "worker", "control-plane"})
			}
			records[name] = record
		}
		m["byNode"] = records
	}
	return m
}

func (g viewRequester) record(keys []string) map[string]any {
	record := map[string]any{}
	for _, key := range keys {
		if !g.once(4) {
			record[key] = json.Number(g.one(numbers10))
			if g.once(20) {
				record[key] = nil
			}
		}
	}
	if g.once(2) {
		labels := map[string]any{}
		for key, value := range g.itemLabels() {
			labels[key] = value
		}
		record["labels"] = labels
	}
	return record
}
