package decision

import (
	"cmp"
	"fmt"
	"time"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// Decision is the answer to a Request. Its zero value allows nothing and denies
// nothing. Its lists and pointers may be shared with other callers and must not be
// written.
type Decision struct {
	Allowed bool `json:"allowed"`
	// Denied means an explicit denial or an evaluation error. Never true beside
	// Allowed.
	Denied   bool      `json:"denied"`
	Reason   string    `json:"reason"`
	Warnings []string  `json:"warnings"`
	Matched  []Matched `json:"matched"`
	// PodSecurity is the result of pod security; nil if none was evaluated.
	PodSecurity *PodSecurity `json:"podSecurity,omitempty"`
	// ImpliedGroups are the groups that were added to those of the request, because
	// Kubernetes implies them; see Request.Completed.
	ImpliedGroups []string `json:"impliedGroups,omitempty"`
	// Pods holds the result of each deny policy that evaluated the pod, in order of
	// evaluation; policies after the first denial are not evaluated.
	Pods []PodOutcome `json:"-"`
	// Unknown are the facts that the decision depends on and the request lacks: the labels
	// of the namespace, if a deny rule matched only because they are unknown, and what the
	// restrictions of undecided rules read of the object. Nothing for a request that names
	// no object which exists already.
	Unknown Facts `json:"-"`
	// EvaluationError describes why the evaluation failed; empty if it succeeded. A
	// decision with an evaluation error denies and must not be cached.
	EvaluationError string `json:"-"`
	// IsWorded means that the Rego of the bundle has written Reason: For leaves it.
	IsWorded bool `json:"-"`
	// Sufficient ends the reason that no rule allows a list: the selectors with which one does.
	Sufficient string `json:"-"`
	// Deferred states that admission decides on the object: the decision is right only
	// together with the companion of its revision, and is never kept.
	Deferred bool `json:"-"`
	// Revision is the revision of the bundle that answered.
	Revision string `json:"-"`
	// Cached states that the decision was made for an earlier request.
	Cached bool `json:"-"`
	// Expires is when the decision stops being valid, because policies read the
	// clock. Zero means that it is valid as long as the revision.
	Expires time.Time `json:"-"`
	// Span is the time in which the decision is valid: no document that matters to the
	// request begins or ends to hold within it.
	Span dates.Span `json:"-"`
}

// Matched is one rule that matched, joined with the binding that applies it. Policies of
// the visibility point have neither effect nor API version.
type Matched struct {
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	Rule       int      `json:"rule"`
	Source     string   `json:"source"`
	Effect     string   `json:"effect,omitempty"`
	APIVersion string   `json:"apiVersion,omitempty"`
	Role       *RoleRef `json:"role,omitempty"`
	// Binding is the binding that applies the rule of Role.
	Binding BindingRef `json:"binding,omitzero"`
	// Until is the instant at which the match ends, as text; empty for one without an end.
	Until string `json:"until,omitempty"`
	// Via are the sessions through which alone the binding applies, by name; nil for one that
	// applies to the user or a group of the request itself.
	Via []Via `json:"via,omitempty"`
	// Selector is "implied" if a restriction of the rule holds because of the selectors of the
	// request, else empty.
	Selector string `json:"selector,omitempty"`
	// Deferred states that admission decides whether the restrictions of the rule hold.
	Deferred bool `json:"deferred,omitempty"`
}

// RuleText names the rule of a binding, as reasons do. Role must be set.
func (m *Matched) RuleText() string {
	binding := tables.Title(m.Kind, m.Namespace, m.Name)
	role := tables.Title(m.Role.Kind, m.Role.Namespace, m.Role.Name)
	return fmt.Sprintf("%s (%s, rule %d)", binding, role, m.Rule)
}

// Hit is a rule of a binding that a request fits, its restrictions aside.
type Hit struct {
	Matched
	Step int // in the order of evaluation
	// Verdict is whether the restrictions hold, as far as the request states what they read.
	Verdict selector.Verdict
}

// Holds reports whether the rule counts: an unknown restriction does not allow, and does not
// keep a denial from denying.
func (h *Hit) Holds() bool {
	return h.Verdict == selector.All || h.Effect == tables.EffectDeny && h.Verdict == selector.Unknown
}

// Via is a session whose group a binding names.
type Via struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Until is when the session ends, empty for one without an end.
	Until string `json:"until,omitempty"`
}

// BindingRef describes the document of a binding. It is empty for rules without one.
type BindingRef struct {
	// Source is the place of the document, FILE:LINE, or the name of an object.
	Source string `json:"source"`
}

// Place returns what a person edits to change the match: the binding, or the document of
// the rule itself.
func (m *Matched) Place() string { return cmp.Or(m.Binding.Source, m.Source) }

// PodSecurity is the result of one policy's pod security for a pod.
type PodSecurity struct {
	Policy  string   `json:"policy"`
	Action  string   `json:"action"` // allow, warn or deny
	Score   int      `json:"score"`
	Factors []string `json:"factors"`
}

// PodOutcome is the result of one deny policy with pod security for a pod.
type PodOutcome struct {
	Policy string
	// Action is allow, warn or deny. It is allow for an exempt pod and for a fail mode
	// that is open, deny for one that is closed.
	Action string
	// Evaluated reports whether factors and a score were computed.
	Evaluated bool
	Score     int
	Factors   []string
	// Override reports whether the override of an escalation determined Action.
	Override bool
}

// Facts selects facts about a request that only its cluster can provide.
type Facts struct {
	// Pod is the pod of the request, which pod security evaluates.
	Pod bool
	// NamespaceLabels are the labels of the request's namespace.
	NamespaceLabels bool
	// Labels are those of the object that the request names.
	Labels bool
	// Node is the node on which the pod that the request names runs.
	Node bool
}

// Lacking returns those of the facts that r does not have, nor a reason why not.
func (f Facts) Lacking(r *Request) Facts {
	return Facts{
		Pod:             f.Pod && r.Pod == nil && r.PodError == "",
		NamespaceLabels: f.NamespaceLabels && r.NamespaceLabels == nil,
		Labels:          f.Labels && r.Labels == nil,
		Node:            f.Node && r.Pod == nil && r.Attributes[AttributePodNode] == nil,
	}
}

// Keys of a request's attributes that sameMinionRestriction reads.
const (
	AttributeNode    = "minion"    // the requester's node
	AttributePodNode = "podMinion" // the node of the pod
)

// RoleRef names the role that a binding refers to.
type RoleRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// For returns the decision as an answer to r, a request that the same rules match as the
// request it was made for: the reason that no rule allows a request repeats values of the
// request, and so do the implied groups.
func (d Decision) For(r *Request) Decision {
	if !d.Allowed && !d.Denied && len(d.Matched) == 0 && d.EvaluationError == "" && !d.IsWorded {
		d.Reason = NoRuleReason(r) + d.Sufficient
	}
	d.ImpliedGroups = r.implied
	return d
}

// DecidedBy returns the rules that matched, and whether the decision was cached.
func (d *Decision) DecidedBy() (matched []Matched, cached bool) { return d.Matched, d.Cached }

// NoRuleReason is the reason of a decision if no rule matches r.
func NoRuleReason(r *Request) string {
	const none = "not allowed: no rule allows "
	switch {
	case r.Path != "":
		return none + r.Verb + " " + r.Path
	case r.Subresource != "" && r.Namespace != "":
		return none + r.Verb + " " + r.Resource + "/" + r.Subresource + " in " + r.Namespace
	case r.Subresource != "":
		return none + r.Verb + " " + r.Resource + "/" + r.Subresource + " at cluster scope"
	case r.Namespace != "":
		return none + r.Verb + " " + r.Resource + " in " + r.Namespace
	}
	return none + r.Verb + " " + r.Resource + " at cluster scope"
}
