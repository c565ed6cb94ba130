package console

import "testing"

func TestTopologyText(t *testing.T) {
	topology := &Topology{
		Nodes: []Node{
			{ID: "Gateway/net/edge", Kind: "Gateway", Name: "net/edge", Policies: []NodePolicy{{Kind: "AuthPolicy", Namespace: "net", Name: "p"}}},
			{ID: `Gateway/net/edge#a"b`, Kind: "Listener", Name: "a\"b<#\nc"},
		},
		Edges: [][2]string{{"Gateway/net/edge", `Gateway/net/edge#a"b`}},
	}
	const mermaid = "flowchart LR\n  n0[\"Gateway net/edge<br>AuthPolicy net/p\"]\n  n1[\"Listener a#quot;b#lt;#35;<br>c\"]\n  n0 --> n1\n"
	if got := topology.Mermaid(); got != mermaid {
		t.Errorf("Mermaid: got %s", got)
	}
	const dot = "digraph gateways {\n  rankdir=LR\n  \"Gateway/net/edge\" [shape=box, label=\"Gateway net/edge\\nAuthPolicy net/p\"]\n" +
		"  \"Gateway/net/edge#a\\\"b\" [shape=box, label=\"Listener a\\\"b<#\\nc\"]\n  \"Gateway/net/edge\" -> \"Gateway/net/edge#a\\\"b\"\n}\n"
	if got := topology.DOT(); got != dot {
		t.Errorf("DOT: got %s", got)
	}
}
