package console

import (
	"fmt"
	"strings"
)

// Mermaid returns the graph in the language of Mermaid.
func (t *Topology) Mermaid() string {
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	numbers := make(map[string]int, len(t.Nodes))
	quote := strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", "<br>")
	for i := range t.Nodes {
		n := &t.Nodes[i]
		numbers[n.ID] = i
		fmt.Fprintf(&out, "  n%d[\"%s\"]\n", i, quote.Replace(n.label()))
	}
	for _, edge := range t.Edges {
		fmt.Fprintf(&out, "  n%d --> n%d\n", numbers[edge[0]], numbers[edge[1]])
	}
	return out.String()
}

// DOT returns the graph in the language of Graphviz.
func (t *Topology) DOT() string {
	var out strings.Builder
	out.WriteString("digraph gateways {\n  rankdir=LR\n")
	quote := func(text string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		fmt.Fprintf(&out, "  %s [shape=box, label=%s]\n", quote(n.ID), quote(n.label()))
	}
	for _, edge := range t.Edges {
		fmt.Fprintf(&out, "  %s -> %s\n", quote(edge[0]), quote(edge[1]))
	}
	out.WriteString("}\n")
	return out.String()
}

// label is the text of a node: what it is, and a line for each policy that targets it.
func (n *Node) label() string {
	text := n.Kind + " " + n.Name
	for _, p := range n.Policies {
		text += "\n" + p.Kind + " " + p.Namespace + "/" + p.Name
	}
	return text
}
