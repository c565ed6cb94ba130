package visibility

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
)

// Metrics that are sums over records, and metrics that are hidden together.
var (
	sumsOfNamespaces = []string{"deployments", "services", "statefulsets", "daemonsets"}
	sumsOfPods       = []string{"pods", "pods_running", "pods_pending", "pods_failed"}
	sumsOfNodes      = []string{
		"cpu_capacity", "cpu_allocatable", "cpu_requested",
		"memory_capacity", "memory_allocatable", "memory_requested",
		"storage_capacity", "storage_used",
	}
	namespaceMetrics = append([]string{"namespaces"}, sumsOfNamespaces...)
	nodeMetrics      = append([]string{"nodes", "nodes_ready", "nodes_not_ready", "cpu_usage_percent", "memory_usage_percent"}, sumsOfNodes...)
)

// restrictMetrics returns the metrics that the rule allows the principal to see, instead
// of writ.visibility.metrics.seen: OPA would take seconds for a cluster with thousands of
// namespaces and nodes. It uses OPA's arithmetic, so that both give the same numbers. It
// returns an error if a computation fails.
func (r *rule) restrictMetrics(metrics map[string]any) (map[string]any, error) {
	restricts := r.restricts
	namespaces := r.visibleRecords(typeNamespaces, metrics["byNamespace"], restricts(typeNamespaces))
	nodes := r.visibleRecords(typeNodes, metrics["byNode"], restricts(typeNodes))
	totals, _ := metrics["totals"].(map[string]any)
	hidesPods := restricts(typeNamespaces) || restricts(typePods)
	filtered := hidesPods || restricts(typeNodes)
	answer := map[string]any{"filtered": filtered}
	if err := namespaces.addSums(answer, sumsOfNamespaces); err != nil {
		return nil, err
	}
	if err := r.addPodMetrics(answer, namespaces, hidesPods); err != nil {
		return nil, err
	}
	if err := nodes.addNodeMetrics(answer); err != nil {
		return nil, err
	}
	metadata := map[string]any{}
	if namespaces != nil {
		answer["namespaces"] = number(len(namespaces.list))
		if restricts(typeNamespaces) {
			metadata["allowed_namespaces"] = answer["namespaces"]
		}
	}
	if nodes != nil && restricts(typeNodes) {
		metadata["allowed_nodes"] = answer["nodes"]
	}
	if filtered {
		answer["filter_metadata"] = metadata
	}
	for name, value := range totals {
		hidden := filtered
		switch {
		case slices.Contains(namespaceMetrics, name):
			hidden = restricts(typeNamespaces)
		case slices.Contains(sumsOfPods, name):
			hidden = hidesPods
		case slices.Contains(nodeMetrics, name):
			hidden = restricts(typeNodes)
		case name == "filtered" || name == "filter_metadata" && filtered:
			hidden = true // writ sets these keys itself
		}
		if !hidden && value != nil {
			answer[name] = value
		}
	}
	return answer, nil
}

// recordList holds the records of visible namespaces or nodes, sorted by name: sums of
// fractions depend on the order.
type recordList struct {
	names []string
	list  []map[string]any
}

// visibleRecords returns the records that the rule shows, nil if the request has no
// records of the type.
func (r *rule) visibleRecords(typ string, records any, restricted bool) *recordList {
	all, ok := records.(map[string]any)
	if !ok {
		return nil
	}
	visible := &recordList{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		record, _ := all[name].(map[string]any)
		if restricted {
			item := decision.Item{Name: name, Labels: recordLabels(record), Fields: map[string]any{"roles": record["roles"]}}
			if r.hidesStandard(typ, &item).hides() {
				continue
			}
		}
		visible.names, visible.list = append(visible.names, name), append(visible.list, record)
	}
	return visible
}

// recordLabels returns the labels of a record. A label that is not a string gets a value
// that no policy can match.
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

// addPodMetrics adds the pod metrics. They are null if the entry of pods selects pods by
// more than their namespace, because the counts are by namespace only.
func (r *rule) addPodMetrics(answer map[string]any, namespaces *recordList, restricted bool) error {
	entry := r.entryOf(typePods)
	if namespaces == nil || !restricted || entry == nil {
		return namespaces.addSums(answer, sumsOfPods)
	}
	if r.countsPodsByMore() {
		for _, name := range sumsOfPods {
			answer[name] = nil
		}
		return nil
	}
	visible := &recordList{}
	for i, namespace := range namespaces.names {
		// The entry has no criteria for names, so the name does not matter.
		if !entry.hidesItem("pod", location{namespaces: []string{namespace}}, &unlabeledNamespace).hides() {
			visible.list = append(visible.list, namespaces.list[i])
		}
	}
	return visible.addSums(answer, sumsOfPods)
}

// countsPodsByMore reports whether the entry of pods selects pods by more than their
// namespace.
func (r *rule) countsPodsByMore() bool {
	entry := r.entryOf(typePods)
	return entry != nil && (entry.Visibility == "filtered" && (hasCriteria(&entry.Names) || len(entry.Labels) > 0) ||
		entry.Visibility == "all" && !entry.Names.Denied.IsEmpty())
}

func (r *recordList) addNodeMetrics(answer map[string]any) error {
	if r == nil {
		return nil
	}
	if err := r.addSums(answer, sumsOfNodes); err != nil {
		return err
	}
	ready := 0
	for _, record := range r.list {
		if record["ready"] == true {
			ready++
		}
	}
	answer["nodes"], answer["nodes_ready"], answer["nodes_not_ready"] = number(len(r.list)), number(ready), number(len(r.list)-ready)
	for _, resource := range []string{"cpu", "memory"} {
		percent, err := percentage(answer[resource+"_requested"], answer[resource+"_capacity"])
		if err != nil {
			return err
		}
		answer[resource+"_usage_percent"] = percent
	}
	return nil
}

// addSums adds the sum over the records for each of the names; a missing number counts
// as 0. A nil list adds nothing. It returns an error if a computation fails.
func (r *recordList) addSums(answer map[string]any, names []string) error {
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
		sum, err := asWritten(callBuiltin(ast.Sum, ast.ArrayTerm(values...)))
		if err != nil {
			return err
		}
		if answer[name], err = ast.JSON(sum.Value); err != nil {
			return err
		}
	}
	return nil
}

func percentage(part, whole any) (any, error) {
	used, ok1 := part.(json.Number)
	capacity, ok2 := whole.(json.Number)
	if !ok1 || !ok2 || ast.Number(capacity).Compare(ast.Number("0")) == 0 {
		return number(0), nil
	}
	hundredfold, err := callBuiltin(ast.Multiply, ast.InternedTerm(100), ast.NumberTerm(used))
	if err != nil {
		return nil, err
	}
	percent, err := asWritten(callBuiltin(ast.Divide, hundredfold, ast.NumberTerm(capacity)))
	if err != nil {
		return nil, err
	}
	return ast.JSON(percent.Value)
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }
