package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
)

// The metrics that are sums over records, and all that are restricted together.
var (
	sumsOfNamespaces = []string{"deployments", "services", "statefulsets", "daemonsets"}
	sumsOfPods       = []string{"pods", "pods_running", "pods_pending", "pods_failed"}
	sumsOfNodes      = []string{
		"cpu_capacity", "cpu_allocatable", "cpu_requested",
		"memory_capacity", "memory_allocatable", "memory_requested",
		"storage_capacity", "storage_used",
	}
	ofNamespaces = append([]string{"namespaces"}, sumsOfNamespaces...)
	ofNodes      = append([]string{"nodes", "nodes_ready", "nodes_not_ready", "cpu_usage_percent", "memory_usage_percent"}, sumsOfNodes...)
)

// metrics are what the rule lets be told, in place of writ.visibility.metrics.seen:
// a cluster has thousands of namespaces and nodes, which OPA would sum up for
// seconds. What is done with numbers is OPA's own arithmetic.
func (v *viewRule) metrics(given map[string]any) (map[string]any, error) {
	restricts := v.restricts
	namespaces := v.records(typeNamespaces, given["byNamespace"], restricts(typeNamespaces))
	nodes := v.records(typeNodes, given["byNode"], restricts(typeNodes))
	totals, _ := given["totals"].(map[string]any)
	hidesPods := restricts(typeNamespaces) || restricts(typePods)
	filtered := hidesPods || restricts(typeNodes)
	told := map[string]any{"filtered": filtered}
	if err := namespaces.sum(told, sumsOfNamespaces); err != nil {
		return nil, err
	}
	if err := v.podMetrics(told, namespaces, hidesPods); err != nil {
		return nil, err
	}
	if err := nodes.nodeMetrics(told); err != nil {
		return nil, err
	}
	about := map[string]any{}
	if namespaces != nil {
		told["namespaces"] = number(len(namespaces.list))
		if restricts(typeNamespaces) {
			about["allowed_namespaces"] = told["namespaces"]
		}
	}
	if nodes != nil && restricts(typeNodes) {
		about["allowed_nodes"] = told["nodes"]
	}
	if filtered {
		told["filter_metadata"] = about
	}
	for name, value := range totals {
		hidden := filtered
		switch {
		case slices.Contains(ofNamespaces, name):
			hidden = restricts(typeNamespaces)
		case slices.Contains(sumsOfPods, name):
			hidden = hidesPods
		case slices.Contains(ofNodes, name):
			hidden = restricts(typeNodes)
		case name == "filtered" || name == "filter_metadata" && filtered:
			hidden = true // these words are ours
		}
		if !hidden && value != nil {
			told[name] = value
		}
	}
	return told, nil
}

// records are those of what is shown, by name and in its order: sums of fractions
// depend on it.
type records struct {
	names []string
	list  []map[string]any
}

// records is nil where the request has none of that kind.
func (v *viewRule) records(typ string, given any, restricted bool) *records {
	all, ok := given.(map[string]any)
	if !ok {
		return nil
	}
	r := &records{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		record, _ := all[name].(map[string]any)
		if restricted {
			item := decision.Item{Name: name, Labels: recordLabels(record), Fields: map[string]any{"roles": record["roles"]}}
			if !v.standardItem(typ, &item) {
				continue
			}
		}
		r.names, r.list = append(r.names, name), append(r.list, record)
	}
	return r
}

// recordLabels keeps labels that are no text as one that no policy can name.
func recordLabels(record map[string]any) map[string]string {
	given, _ := record["labels"].(map[string]any)
	labels := make(map[string]string, len(given))
	for key, value := range given {
		switch text, ok := value.(string); {
		case ok:
			labels[key] = text
		case value != false:
			labels[key] = "\xff"
		}
	}
	return labels
}

// podMetrics are null where the entry of pods picks them by more than their
// namespace: that cannot be told from counts.
func (v *viewRule) podMetrics(told map[string]any, namespaces *records, restricted bool) error {
	entry := v.entry(typePods)
	if namespaces == nil || !restricted || entry == nil {
		return namespaces.sum(told, sumsOfPods)
	}
	picks := given(&entry.Names) || len(entry.Labels) > 0
	if entry.Visibility == "filtered" && picks || entry.Visibility == "all" && !entry.Names.Denied.IsEmpty() {
		for _, name := range sumsOfPods {
			told[name] = nil
		}
		return nil
	}
	shown := &records{}
	for i, namespace := range namespaces.names {
		// The entry has nothing to say of names, so any will do.
		if entry.shows("pod", location{names: []string{namespace}}, &noLabels) {
			shown.list = append(shown.list, namespaces.list[i])
		}
	}
	return shown.sum(told, sumsOfPods)
}

func (r *records) nodeMetrics(told map[string]any) error {
	if r == nil {
		return nil
	}
	if err := r.sum(told, sumsOfNodes); err != nil {
		return err
	}
	ready := 0
	for _, record := range r.list {
		if record["ready"] == true {
			ready++
		}
	}
	told["nodes"], told["nodes_ready"], told["nodes_not_ready"] = number(len(r.list)), number(ready), number(len(r.list)-ready)
	for _, of := range []string{"cpu", "memory"} {
		percent, err := percentage(told[of+"_requested"], told[of+"_capacity"])
		if err != nil {
			return err
		}
		told[of+"_usage_percent"] = percent
	}
	return nil
}

// sum adds the sums of what the records have under the names. A missing number is
// 0.
func (r *records) sum(told map[string]any, names []string) error {
	if r == nil {
		return nil
	}
	for _, name := range names {
		var values []*ast.Term
		for _, record := range r.list {
			if n, ok := record[name].(json.Number); ok {
				values = append(values, ast.NumberTerm(n))
			}
		}
		sum, err := rounded(builtin(ast.Sum, ast.ArrayTerm(values...)))
		if err != nil {
			return err
		}
		if told[name], err = ast.JSON(sum.Value); err != nil {
			return err
		}
	}
	return nil
}

func percentage(part, whole any) (any, error) {
	of, ok1 := part.(json.Number)
	all, ok2 := whole.(json.Number)
	if !ok1 || !ok2 || ast.Number(all).Compare(ast.Number("0")) == 0 {
		return number(0), nil
	}
	hundredfold, err := builtin(ast.Multiply, ast.InternedTerm(100), ast.NumberTerm(of))
	if err != nil {
		return nil, err
	}
	percent, err := rounded(builtin(ast.Divide, hundredfold, ast.NumberTerm(all)))
	if err != nil {
		return nil, err
	}
	return ast.JSON(percent.Value)
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }
