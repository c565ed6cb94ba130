package console

import (
	"cmp"
	"encoding/json"
)

// Explanation is a decision with its reasons.
type Explanation struct {
	// Decision is the decision of the point as JSON; Facts has what all points share.
	Decision json.RawMessage `json:"decision"`
	Facts
	// Steps are the steps of evaluation at the access point, in their order; at other
	// points, the policies that were considered.
	Steps []Step `json:"steps"`
	// Excerpts are the documents behind the decisive rule, the rule first and then its
	// binding. They are empty for a caller who is not an auditor.
	Excerpts []Excerpt `json:"excerpts"`
	// Note is why an excerpt is missing; empty if none is.
	Note string `json:"note,omitempty"`
	// PodSecurity has each policy that scored the pod, the decisive one first.
	PodSecurity []Score `json:"podSecurity"`
	// Nearest are allow rules that lack one thing to allow the request.
	Nearest []Nearest `json:"nearest"`
	// Items explains each item of a request at the visibility point, in order.
	Items []Item `json:"items,omitempty"`
	// WhatIf is the same request with one thing changed.
	WhatIf []WhatIf `json:"whatIf"`
	// Request is the request as it was decided.
	Request json.RawMessage `json:"request"`
}

// The outcomes of decisions.
const (
	Allow   = "allow"
	Deny    = "deny"
	None    = "none"
	Partial = "partial" // at the visibility point
	Failed  = "error"
)

// Facts are what decisions of all points have.
type Facts struct {
	Outcome  string    `json:"outcome"`
	Reason   string    `json:"reason"`
	Warnings []string  `json:"warnings"`
	Matched  []Matched `json:"matched"`
	Revision string    `json:"revision"`
	// Microseconds is how long the decision took, and Cached whether it was kept.
	Microseconds float64 `json:"microseconds"`
	Cached       bool    `json:"cached"`
}

// Matched is a rule that matched, joined with the binding that applies it.
type Matched struct {
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Rule       any    `json:"rule"` // a number, or the key of a gateway rule
	Source     string `json:"source"`
	Effect     string `json:"effect,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	Role       *Named `json:"role,omitempty"`
	// Until is when the match ends, empty if it does not, and Via are the sessions through
	// which alone it applies.
	Until string `json:"until,omitempty"`
	Via   []Via  `json:"via,omitempty"`
	// Binding is empty for rules without one.
	Binding Written `json:"binding,omitzero"`
}

// Via is a session that lends the group of a match.
type Via struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Until     string `json:"until,omitempty"`
}

// Written is where a document is written: FILE:LINE, or the name of an object.
type Written struct {
	Source string `json:"source"`
}

// Place returns what a person edits to change the match: the binding, or the document of
// the rule itself.
func (m *Matched) Place() string { return cmp.Or(m.Binding.Source, m.Source) }

// Named names a document.
type Named struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// The states of a step.
const (
	Decides  = "decides"
	Late     = "late"     // rules match, but an earlier step decides
	NoMatch  = "none"     // no rule matches
	NotAsked = "notAsked" // an earlier step decides, and the step was not evaluated
)

// Step is one step of evaluation.
type Step struct {
	// Step is its number; deny policies are 1 and 2, not allowed is 7.
	Step  int    `json:"step"`
	Title string `json:"title"`
	State string `json:"state"`
	// Why is why a policy of the visibility point cannot decide; empty if it can.
	Why string `json:"why,omitempty"`
	// Source is FILE:LINE of a policy that was considered; empty at the access point.
	Source string `json:"source,omitempty"`
	// Matched are the rules that matched, in the order of precedence.
	Matched []Matched `json:"matched"`
	// Dated are the rules that match at another time alone, at the access point: those that
	// begin, the first one first, then those that ended, the last one first. Callers who may
	// ask about themselves alone see those that allow.
	Dated []Dated `json:"dated,omitempty"`
	// Policies are the deny policies in the order of evaluation, at the first step, for
	// auditors. MorePolicies is how many are left out.
	Policies     []StepPolicy `json:"policies,omitempty"`
	MorePolicies int          `json:"morePolicies,omitempty"`
}

// Dated is a rule that does not match at the time of an explanation.
type Dated struct {
	Matched
	// Why is "begins T" or "ended T".
	Why string `json:"why"`
}

// StepPolicy is a deny policy that is asked before rules are.
type StepPolicy struct {
	Name       string `json:"name"`
	Precedence int    `json:"precedence"`
	Source     string `json:"source"`
	State      string `json:"state"` // Decides, NoMatch or NotAsked
	// Why is why the policy does not hold at the time: that it begins or ended; empty if it
	// does.
	Why string `json:"why,omitempty"`
}

// Excerpt is a part of a document.
type Excerpt struct {
	// Source is FILE:LINE of the marked rule or binding.
	Source string `json:"source"`
	// From is the number of the first line.
	From  int      `json:"from"`
	Lines []string `json:"lines"`
	// Mark are the first and the last line of what Source names.
	Mark [2]int `json:"mark"`
	// Tokens has the tokens of each line.
	Tokens [][]Token `json:"tokens"`
}

// Token is a part of a line that has a colour. From and To count bytes.
type Token struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Class string `json:"class"` // key, value, string or comment
}

// Score is the result of the pod security of a policy.
type Score struct {
	Policy     string      `json:"policy"`
	Action     string      `json:"action"` // allow, warn or deny
	Factors    []Factor    `json:"factors"`
	Score      int         `json:"score"`
	Overrides  []string    `json:"overrides"`
	Thresholds []Threshold `json:"thresholds"`
}

// Factor is a risk of a pod with its points.
type Factor struct {
	Factor string `json:"factor"`
	Points int    `json:"points"`
}

// Threshold is the score up to which an action is taken.
type Threshold struct {
	MaxScore int    `json:"maxScore"`
	Action   string `json:"action"`
}

// Item is an item of a request with what hides it. The first of Matched is the policy whose
// rule decides about all of them.
type Item struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Shown     bool   `json:"shown"`
	// Policy names the policy that hides the item, and Source is FILE:LINE of its rule;
	// both are empty if the item is shown, or if no policy decides.
	Policy string `json:"policy,omitempty"`
	Source string `json:"source,omitempty"`
	// HiddenBy is the criterion that hides the item, as the policy names it; empty if it
	// is shown.
	HiddenBy string `json:"hiddenBy,omitempty"`
}

// Nearest is an allow rule that lacks one thing to allow a request.
type Nearest struct {
	// Lacks is another verb, namespace, name or label, or the groups that Kubernetes implies.
	Lacks   string  `json:"lacks"`
	Text    string  `json:"text"`
	Matched Matched `json:"matched"`
	// Request is the request that the rule would allow.
	Request json.RawMessage `json:"request"`
}

// WhatIf is a request with one thing changed, with its outcome.
type WhatIf struct {
	Text    string          `json:"text"`
	Request json.RawMessage `json:"request"`
	// At is the time of the decision as RFC 3339; empty means now.
	At      string `json:"at,omitempty"`
	Outcome string `json:"outcome"`
	// Reason is that of the decision.
	Reason  string    `json:"reason"`
	Matched []Matched `json:"matched"`
}
