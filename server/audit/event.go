// Package audit records the actions of deny policies, and filters. The input is requests and
// their decisions. The output is events, which are written to the log and, if configured, to
// a file and a webhook. The package makes no decisions, and a slow receiver does not
// delay them.
//
// # Design
//
// Events for the webhook wait in a queue of fixed length. If the queue is full, events
// are dropped and counted. The rejected alternative, to delay decisions until their
// events are delivered, would let a failing receiver stop the cluster. The file is
// written synchronously, because it is local.
package audit

import (
	"strings"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// severity is the importance of an event.
type severity string

// The severities.
const (
	severityInfo     severity = "info"
	severityWarning  severity = "warning"
	severityCritical severity = "critical"
)

// The events.
const (
	eventEvaluated  = "pod_security.evaluated"
	eventAllowed    = "pod_security.allowed"
	eventWarned     = "pod_security.warning"
	eventOverridden = "pod_security.override"
	eventDenied     = "pod_security.denied"
	eventRuleDenied = "access.denied.policy"
	eventFilter     = "filter"
)

// event is one audit event. Strings from the request are truncated if they are very
// long.
type event struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	Severity severity  `json:"severity"`

	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	Cluster     string   `json:"cluster"`
	Namespace   string   `json:"namespace"`
	Name        string   `json:"name"`
	Resource    string   `json:"resource"`
	Subresource string   `json:"subresource"`
	Verb        string   `json:"verb"`
	APIGroup    string   `json:"apiGroup"`

	PolicyName string `json:"policyName"`
	// Rule is the index of the rule that denied; nil if no rule denied.
	Rule *int `json:"rule,omitempty"`
	// Action is allow, warn or deny.
	Action string `json:"action"`
	// RiskScore is nil, and RiskFactors is empty, if no pod was evaluated.
	RiskScore       *int     `json:"riskScore,omitempty"`
	RiskFactors     []string `json:"riskFactors"`
	Reason          string   `json:"reason"`
	OverrideApplied bool     `json:"overrideApplied"`
	Escalation      string   `json:"escalation"`

	// Point, Target, Kind and Hash are of a filter. At the point visibility, Resource is the
	// type of its items.
	Point  string `json:"point,omitempty"`
	Target string `json:"target,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Hash   string `json:"hash,omitempty"`
}

const denyPolicy = "DenyPolicy"

// eventsOf returns the events of a decision: one for each policy that computed a score,
// one for the outcome of pod security, and one for a rule that denied. It returns nil
// if no deny policy was involved.
func eventsOf(r *decision.Request, d *decision.Decision, now func() time.Time) []event {
	rule := d.Denied && len(d.Matched) > 0 && d.Matched[0].Kind == denyPolicy
	if len(d.Pods) == 0 && !rule {
		return nil
	}
	base := newEvent(r, now())
	var events []event
	for i := range d.Pods {
		if d.Pods[i].Evaluated {
			e := base
			e.Event, e.Severity = eventEvaluated, severityInfo
			e.setPolicy(&d.Pods[i])
			events = append(events, e)
		}
	}
	if worst := decisive(d.Pods); worst != nil {
		e := base
		e.setPolicy(worst)
		e.setOutcome(worst, d)
		events = append(events, e)
		rule = rule && worst.Action != "deny"
	}
	if rule {
		e := base
		e.Event, e.Severity, e.Action = eventRuleDenied, severityWarning, "deny"
		e.PolicyName, e.Rule, e.Reason = d.Matched[0].Name, &d.Matched[0].Rule, clip(d.Reason)
		events = append(events, e)
	}
	return events
}

// newEvent returns an event with the attributes of the request.
func newEvent(r *decision.Request, now time.Time) event {
	return event{
		Time: now.UTC(), User: clip(r.User), Groups: clipAll(r.Groups), Cluster: clip(r.Cluster),
		Namespace: clip(r.Namespace), Name: clip(r.Name), Resource: clip(r.Resource), Subresource: clip(r.Subresource),
		Verb: clip(r.Verb), APIGroup: clip(r.APIGroup), Escalation: clip(r.Escalation), RiskFactors: []string{},
	}
}

// filterEvent returns the event of a filter.
func filterEvent(f *decision.Filter, now time.Time) event {
	r := f.Access
	if v := f.Visibility; v != nil {
		r = &decision.Request{User: v.User, Groups: v.Groups, Cluster: v.Cluster.Name, Resource: v.Type}
		if a := v.ServiceAccount; r.User == "" && a.Name != "" {
			r.User = "system:serviceaccount:" + a.Namespace + ":" + a.Name
		}
	}
	e := newEvent(r, now)
	e.Event, e.Severity = eventFilter, severityInfo
	e.Point, e.Target, e.Kind, e.Hash = f.Point, f.Target, f.Kind, f.Hash
	return e
}

// decisive returns the policy that determined the outcome: the one that denied, else
// the first that warned, else the first with an override, else the first with a score,
// else the first. It returns nil if pods is empty.
func decisive(pods []decision.PodOutcome) *decision.PodOutcome {
	for _, fits := range []func(*decision.PodOutcome) bool{
		func(p *decision.PodOutcome) bool { return p.Action == "deny" },
		func(p *decision.PodOutcome) bool { return p.Action == "warn" },
		func(p *decision.PodOutcome) bool { return p.Override },
		func(p *decision.PodOutcome) bool { return p.Evaluated },
		func(*decision.PodOutcome) bool { return true },
	} {
		for i := range pods {
			if fits(&pods[i]) {
				return &pods[i]
			}
		}
	}
	return nil
}

// setPolicy sets the policy, its action and the score.
func (e *event) setPolicy(p *decision.PodOutcome) {
	e.PolicyName, e.Action, e.OverrideApplied = p.Policy, p.Action, p.Override
	if p.Evaluated {
		score := p.Score
		e.RiskScore = &score
		e.RiskFactors = append(e.RiskFactors, p.Factors...)
	}
}

// setOutcome sets the event's name, severity and reason. An allowed pod has no reason,
// because the reason of the decision is about grants.
func (e *event) setOutcome(p *decision.PodOutcome, d *decision.Decision) {
	switch {
	case p.Action == "deny":
		e.Event, e.Severity, e.Reason = eventDenied, severityCritical, clip(d.Reason)
		return
	case p.Action == "warn":
		e.Event, e.Severity = eventWarned, severityWarning
	case p.Override:
		e.Event, e.Severity = eventOverridden, severityWarning
	default:
		e.Event, e.Severity = eventAllowed, severityInfo
	}
	for _, warning := range d.Warnings {
		if name := p.Policy + ": "; len(warning) > len(name) && warning[:len(name)] == name {
			e.Reason = clip(warning[len(name):])
			return
		}
	}
}

// Bounds of strings and lists from callers: a request may be much longer than an event
// should be.
const (
	maxText = 1024
	maxList = 256
)

// clip copies a text, which may be a part of a body that is large: an event may wait for long.
func clip(text string) string {
	if len(text) <= maxText {
		return strings.Clone(text)
	}
	cut := maxText
	for cut > 0 && text[cut]&0xc0 == 0x80 { // not inside a character
		cut--
	}
	return text[:cut] + "..."
}

func clipAll(list []string) []string {
	clipped := make([]string, 0, min(len(list), maxList+1))
	for i, text := range list {
		if i == maxList {
			return append(clipped, "...")
		}
		clipped = append(clipped, clip(text))
	}
	return clipped
}
