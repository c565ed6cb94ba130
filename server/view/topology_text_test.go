package view

import "testing"

func TestTopologyText(t *testing.T) {
	topology := &Topology{
		Nodes: []Node{{ID: "Gateway/net/edge", Kind: "Gateway", Name: "net/edge"}, {ID: `Gateway/net/edge#a"b`, Kind: "Listener", Name: `a"b<#`}},
		Edges: [][2]string{{"Gateway/net/edge", `Gateway/net/edge#a"b`}},
	}
	const mermaid = "flowchart LR\n  n0[\"Gateway net/edge\"]\n  n1[\"Listener a#quot;b#lt;#35;\"]\n  n0 --> n1\n"
	if got := topology.Mermaid(); got != mermaid {
		t.Errorf("Mermaid: got %s", got)
	}
	const dot = "digraph gateways {\n  rankdir=LR\n  \"Gateway/net/edge\" [shape=box, label=\"Gateway net/edge\"]\n" +
		"  \"Gateway/net/edge#a\\\"b\" [shape=box, label=\"Listener a\\\"b<#\"]\n  \"Gateway/net/edge\" -> \"Gateway/net/edge#a\\\"b\"\n}\n"
	if got := topology.DOT(); got != dot {
		t.Errorf("DOT: got %s", got)
	}
}
