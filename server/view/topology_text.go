package view

import (
	"strconv"
	"strings"
)

// Mermaid returns the graph in the language of Mermaid.
func (t *Topology) Mermaid() string {
	text := "flowchart LR\n"
	numbers := make(map[string]string, len(t.Nodes))
	for i := range t.Nodes {
		n := &t.Nodes[i]
		numbers[n.ID] = "n" + strconv.Itoa(i)
		text += "  " + numbers[n.ID] + "[\"" + mermaidText(n.Kind+" "+n.Name) + "\"]\n"
	}
	for _, edge := range t.Edges {
		text += "  " + numbers[edge[0]] + " --> " + numbers[edge[1]] + "\n"
	}
	return text
}

// mermaidText writes characters of Mermaid's own as entities.
func mermaidText(text string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", " ").Replace(text)
}

// DOT returns the graph in the language of Graphviz.
func (t *Topology) DOT() string {
	quote := func(text string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(text) + `"`
	}
	text := "digraph gateways {\n  rankdir=LR\n"
	for i := range t.Nodes {
		n := &t.Nodes[i]
		text += "  " + quote(n.ID) + " [shape=box, label=" + quote(n.Kind+" "+n.Name) + "]\n"
	}
	for _, edge := range t.Edges {
		text += "  " + quote(edge[0]) + " -> " + quote(edge[1]) + "\n"
	}
	return text + "}\n"
}
