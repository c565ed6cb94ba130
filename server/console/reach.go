package console

import "encoding/json"

// ReachQuery asks who can become whom. From and To are as GET /v1/reach has them; an empty From
// stands for every subject.
type ReachQuery struct{ From, To string }

// Reach is the paths from a subject to a target, those that denials cut last.
type Reach struct {
	Paths []ReachPath `json:"paths"`
	// More is how many paths are left out.
	More int `json:"more"`
	// SVG is a picture of the paths, whose arrows lead to "#hop-PATH-HOP", both from 0.
	SVG string `json:"svg"`
	// NotCovered are ways that are not looked at.
	NotCovered []string `json:"notCovered"`
	Revision   string   `json:"revision"`
}

// ReachPath leads from a subject to a target.
type ReachPath struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Class is certain, assumed or possible.
	Class string `json:"class"`
	// Why is on what it depends whether who the last hop leads to has all of a role.
	Why []string `json:"why,omitempty"`
	// Denied is true if denials cut the path.
	Denied bool       `json:"denied"`
	Hops   []ReachHop `json:"hops"`
}

// ReachHop is one step of a path.
type ReachHop struct {
	Edge  string `json:"edge"`
	Class string `json:"class"`
	// What is the requests in words, and Result what they lead to.
	What   string `json:"what"`
	Result string `json:"result"`
	// Assumes is what must exist or run, and Why the facts that the hop depends on.
	Assumes  []string          `json:"assumes,omitempty"`
	Why      []string          `json:"why,omitempty"`
	Requests []json.RawMessage `json:"requests"`
	// Grants allow the requests, and Denies deny them.
	Grants []ReachGrant `json:"grants"`
	Denies []ReachGrant `json:"denies,omitempty"`
}

// ReachGrant is a rule in words, and FILE:LINE of it; the place is empty for what an earlier
// hop writes.
type ReachGrant struct {
	Text   string `json:"text"`
	Source string `json:"source"`
}
