package console

import (
	"encoding/json"

	"github.com/writ-policy/writ/analysis/question"
)

// SessionsQuery asks for sessions and escalations. Empty fields select all.
type SessionsQuery struct {
	// User is a part of the name of a holder, in any case, and Cluster the name of a cluster.
	User, Cluster string
	// State is one of those of Session.
	State string
	// Limit is the most sessions; zero means 50. After is Sessions.After of the page before.
	Limit int
	After string
}

// The states of a session.
const (
	SessionHolds   = "holds"   // it is valid now
	SessionBegins  = "begins"  // it is valid later
	SessionEnded   = "ended"   // it was valid
	SessionRefused = "refused" // it is valid at no time
)

// Sessions are the sessions of a revision: those that hold first, by their end, then those
// that begin, those that are not valid, and those that ended.
type Sessions struct {
	Sessions []Session `json:"sessions"`
	// Total is the number of sessions of all pages.
	Total int    `json:"total"`
	After string `json:"after,omitempty"`
	// States counts all sessions of the revision by state, and EndSoon those that hold and end
	// within a day.
	States  map[string]int `json:"states"`
	EndSoon int            `json:"endSoon"`
	// Escalations are who may request which group: those for the cluster of the query, with
	// the terms there.
	Escalations []Escalation `json:"escalations"`
	// At is the time of the answer.
	At       string `json:"at"`
	Revision string `json:"revision"`
}

// Escalation is who may request a group, and who may approve that.
type Escalation = question.EscalationTerms

// Session is a BreakglassSession or an active DebugSession.
type Session struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Users are the user of a BreakglassSession, or the participants of a DebugSession.
	Users   []string `json:"users"`
	Cluster string   `json:"cluster"`
	// Group is what a BreakglassSession lends.
	Group string `json:"group,omitempty"`
	// Pods, NAMESPACE/NAME, and Subresources are what a DebugSession is for.
	Pods         []string `json:"pods,omitempty"`
	Subresources []string `json:"subresources,omitempty"`
	State        string   `json:"state"`
	// Why says why it does not hold: "begins T", "ended T", "state Pending"; empty if it holds.
	Why   string `json:"why,omitempty"`
	From  string `json:"from,omitempty"`
	Until string `json:"until,omitempty"`
	// Issuer is the only identity provider that its user may come from, null for any.
	Issuer *string `json:"issuer"`
	// Escalation is the name of the one that owns it, and DenyPolicies those that it attaches.
	Escalation   string   `json:"escalation,omitempty"`
	DenyPolicies []string `json:"denyPolicies,omitempty"`
	Source       string   `json:"source"`
	// Request is one that is allowed because of the session; absent for one that does not
	// hold, or if none was found.
	Request json.RawMessage `json:"request,omitempty"`
}
