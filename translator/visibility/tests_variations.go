package visibility

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/tables"
)

// selection is a cluster and all rules that select it.
type selection struct {
	Cluster map[string]any `json:"cluster"`
	Rules   []int          `json:"rules"`
}

// writeSelections writes a test of which rules select clusters: those that rules name, those
// with their labels, and others that differ in one character or label.
func writeSelections(out *bytes.Buffer, p *tables.VisibilityPolicy, policy string) {
	if len(p.Rules) == 0 {
		return
	}
	rows := make(map[string]selection)
	add := func(note string, c cluster) {
		row := selection{visibilityRequest(c, "user:u")["cluster"].(map[string]any), []int{}}
		for i := range p.Rules {
			if selects(&p.Rules[i], c) {
				row.Rules = append(row.Rules, i)
			}
		}
		rows[note] = row
	}
	add("another cluster", otherCluster)
	for i := range p.Rules {
		r := &p.Rules[i]
		for _, c := range candidates(r) {
			if len(c.labels) > 0 {
				continue
			}
			for _, name := range []string{c.name, c.name + "z", "z" + c.name} {
				add("cluster "+name, cluster{name: name})
			}
		}
		if r.Labels == nil {
			continue
		}
		add(fmt.Sprintf("labels of rule %d", i), cluster{otherCluster.name, *r.Labels})
		for _, key := range slices.Sorted(maps.Keys(*r.Labels)) {
			labels := maps.Clone(*r.Labels)
			delete(labels, key)
			add(fmt.Sprintf("labels of rule %d, no %s", i, key), cluster{otherCluster.name, labels})
			labels = maps.Clone(*r.Labels)
			labels[key] += "z"
			add(fmt.Sprintf("labels of rule %d, another %s", i, key), cluster{otherCluster.name, labels})
		}
	}
	fmt.Fprintf(out, `
test_selection[note] if {
	some note, row in _selections
	selected := [index | some index in %s.clusters] with input as {"cluster": row.cluster}
	sort(selected) == row.rules
}
`, policy)
	emit.WriteMap(out, "_selections", rows)
}

// writeTimes writes a test of when the policy holds: at its bounds, and beside them.
func writeTimes(out *bytes.Buffer, p *tables.VisibilityPolicy, policy string) {
	rows := make(map[string]bool)
	for _, bound := range []*time.Time{p.NotBefore, p.NotAfter} {
		if bound == nil {
			continue
		}
		for _, at := range []time.Time{bound.Add(-1), *bound, bound.Add(1)} {
			rows[nanoseconds(at)] = (p.NotBefore == nil || !at.Before(*p.NotBefore)) && (p.NotAfter == nil || !at.After(*p.NotAfter))
		}
	}
	if len(rows) == 0 {
		return
	}
	out.WriteString("\n")
	fmt.Fprintf(out, `test_time[at] if {
	some at, holds in _times
	found := [true | %s.holds] with time.now_ns as to_number(at)
	found == [true | holds]
}
`, policy)
	emit.WriteMap(out, "_times", rows)
}
