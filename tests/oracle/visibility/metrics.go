package visibility

import (
	"math/big"
	"slices"
)

var (
	podMetrics       = []string{"pods", "pods_running", "pods_pending", "pods_failed"}
	namespaceMetrics = []string{"deployments", "services", "statefulsets", "daemonsets"}
	nodeCounts       = []string{"nodes", "nodes_ready", "nodes_not_ready"}
	nodeSums         = []string{
		"cpu_capacity", "cpu_allocatable", "cpu_requested", "memory_capacity", "memory_allocatable", "memory_requested",
		"storage_capacity", "storage_used",
	}
	nodePercents = []string{"cpu_usage_percent", "memory_usage_percent"}
)

// metrics is section 10: of the entries of the deciding rule by type, and of the
// request's metrics.
func metrics(entries map[string]*Entry, given map[string]any) map[string]any {
	m := &counter{entries: entries, out: map[string]any{}}
	m.totals, _ = given["totals"].(map[string]any)
	m.byNamespace, _ = given["byNamespace"].(map[string]any)
	m.byNode, _ = given["byNode"].(map[string]any)
	namespaces, nodes, pods := entries["namespaces"].restricts(), entries["nodes"].restricts(), entries["pods"].restricts()
	filtered := namespaces || nodes || pods
	if !filtered {
		for name, value := range m.totals {
			if value != nil {
				m.out[name] = value
			}
		}
	}
	m.ofNamespaces(namespaces, pods)
	m.ofNodes(nodes)
	m.out["filtered"] = filtered
	if filtered {
		metadata := map[string]any{}
		if namespaces && m.byNamespace != nil {
			metadata["allowed_namespaces"] = integer(len(m.shownNamespaces(true)))
		}
		if nodes && m.byNode != nil {
			metadata["allowed_nodes"] = integer(len(m.shownNodes(true)))
		}
		m.out["filter_metadata"] = metadata
	}
	return m.out
}

type counter struct {
	entries                     map[string]*Entry
	totals, byNamespace, byNode map[string]any
	out                         map[string]any
}

// set writes a metric: from the totals where its group is not restricted and
// they have it, else by its formula over the records, where there are any.
func (m *counter) set(name string, restricted bool, records map[string]any, formula func() any) {
	if value := m.totals[name]; value != nil && !restricted {
		m.out[name] = value
	} else if records != nil {
		m.out[name] = formula()
	}
}

// shownNamespaces are N where restricted, else all.
func (m *counter) shownNamespaces(restricted bool) []string {
	var shown []string
	for name, record := range m.byNamespace {
		if !restricted || m.entries["namespaces"].shows(thing{name: name, labels: labelsOf(record)}) {
			shown = append(shown, name)
		}
	}
	return shown
}

// shownNodes are D where restricted, else all.
func (m *counter) shownNodes(restricted bool) []string {
	var shown []string
	for name, record := range m.byNode {
		roles, _ := record.(map[string]any)["roles"].([]any)
		if !restricted || m.entries["nodes"].shows(thing{name: name, labels: labelsOf(record), roles: roles}) {
			shown = append(shown, name)
		}
	}
	return shown
}

func labelsOf(record any) map[string]string {
	labels := map[string]string{}
	written, _ := record.(map[string]any)["labels"].(map[string]any)
	for key, value := range written {
		labels[key] = value.(string)
	}
	return labels
}

func (m *counter) ofNamespaces(namespaces, pods bool) {
	shown := m.shownNamespaces(namespaces)
	m.set("namespaces", namespaces, m.byNamespace, func() any { return integer(len(shown)) })
	for _, name := range namespaceMetrics {
		m.set(name, namespaces, m.byNamespace, func() any { return total(m.byNamespace, shown, name) })
	}
	for _, name := range podMetrics {
		m.set(name, namespaces || pods, m.byNamespace, func() any { return m.pods(name, shown) })
	}
}

// pods is the row of the pods: what the entry lets through of the namespaces.
func (m *counter) pods(name string, shown []string) any {
	entry := m.entries["pods"]
	switch {
	case !entry.restricts():
		return total(m.byNamespace, shown, name)
	case entry.Visibility == "none":
		return integer(0)
	case entry.Names.given() || len(entry.Labels) > 0:
		return nil
	}
	return total(m.byNamespace, slices.DeleteFunc(slices.Clone(shown), func(namespace string) bool {
		return !entry.shows(thing{name: "any", namespaces: []string{namespace}})
	}), name)
}

func (m *counter) ofNodes(restricted bool) {
	shown := m.shownNodes(restricted)
	ready := 0
	for _, node := range shown {
		if m.byNode[node].(map[string]any)["ready"] == true {
			ready++
		}
	}
	for i, count := range []int{len(shown), ready, len(shown) - ready} {
		m.set(nodeCounts[i], restricted, m.byNode, func() any { return integer(count) })
	}
	for _, name := range nodeSums {
		m.set(name, restricted, m.byNode, func() any { return total(m.byNode, shown, name) })
	}
	for i, what := range []string{"cpu", "memory"} {
		m.set(nodePercents[i], restricted, m.byNode, func() any {
			requested, capacity := total(m.byNode, shown, what+"_requested"), total(m.byNode, shown, what+"_capacity")
			if capacity.Sign() == 0 {
				return integer(0)
			}
			percent := requested.Mul(requested.Rat, big.NewRat(100, 1))
			return Number{Rat: percent.Quo(percent, capacity.Rat), About: true}
		})
	}
}

// total sums a key of some records. What is missing is 0.
func total(records map[string]any, names []string, key string) Number {
	var numbers []*big.Rat
	for _, name := range names {
		if n, ok := numberOf(records[name].(map[string]any)[key]); ok {
			numbers = append(numbers, n)
		}
	}
	return summed(numbers)
}
