package tables

import (
	"iter"
	"reflect"

	"github.com/writ-policy/writ/translator/dates"
)

// IssuerKey is the key of the extra values of a request that state who has authenticated its user.
const IssuerKey = "identity.t-caas.telekom.com/issuer"

// Sessions holds sessions in the form that goes into a bundle as data.compiled.sessions.
// Rego and the embedded engine decide by it. Equal documents give equal tables.
type Sessions struct {
	// Sessions are the BreakglassSessions by name, those that can never be valid included:
	// a request that names one gets a warning.
	Sessions Map[Session] `json:"sessions"`
	// Debug are the DebugSessions that are active. The order of the keys is that of
	// namespaces, then names.
	Debug Map[DebugSession] `json:"debug"`
	// Holders lead from a cluster and a user to the sessions that may be valid for them at
	// some time.
	Holders Map[Map[Held]] `json:"holders"`
}

// Held are the keys of what a user holds on a cluster, in their order.
type Held struct {
	Sessions []string `json:"sessions,omitempty"`
	Debug    []string `json:"debug,omitempty"`
}

// Session is a BreakglassSession.
type Session struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"` // file:line of the document
	Cluster   string `json:"cluster"`
	User      string `json:"user"`
	// Groups are the granted one, first, and those that count with it.
	Groups []string `json:"groups"`
	// Issuer is the only issuer of users that the session is for, unless AnyIssuer is set.
	Issuer    string `json:"issuer"`
	AnyIssuer bool   `json:"anyIssuer,omitempty"`
	// Unreadable is set for a document with mistakes, in an export of a cluster.
	Unreadable bool `json:"unreadable,omitempty"`
	// Refused says why the session is not valid at any time: its state, or "rejected". NoEnd
	// is set for a session that does not expire, which is never valid either.
	Refused string `json:"refused,omitempty"`
	NoEnd   bool   `json:"noEnd,omitempty"`
	// Dates is when the session is valid; nil: always. Never is the reason of one whose
	// bounds the clock does not reach.
	Dates *dates.Period `json:"dates,omitempty"`
	Never string        `json:"never,omitempty"`
	// Owner is the name of the escalation that owns the session, empty without one.
	Owner string `json:"owner,omitempty"`
	// Policies are the names of deny policies that the session attaches, sorted.
	Policies []string `json:"policies,omitempty"`
}

// MayHold reports whether the session can be valid at some time.
func (s *Session) MayHold() bool {
	return !s.Unreadable && s.Refused == "" && !s.NoEnd && s.Cluster != "" && s.User != ""
}

// Invalid says why the session is not valid at an instant for anybody: "not readable", its
// state, "rejected", "no end", "begins T" or "ended T"; empty if it is valid for its user.
func (s *Session) Invalid(at dates.Instant) string {
	switch {
	case s.Unreadable:
		return "not readable"
	case s.Refused != "":
		return s.Refused
	case s.NoEnd:
		return "no end"
	case s.Never != "":
		return s.Never
	}
	return s.Dates.Status(at)
}

// Same reports whether two sessions are the same, wherever they are written.
func (s Session) Same(o Session) bool {
	s.Source, o.Source = "", ""
	return reflect.DeepEqual(s, o)
}

// Same reports whether two sessions are the same, wherever they are written.
func (s DebugSession) Same(o DebugSession) bool {
	s.Source, o.Source = "", ""
	return reflect.DeepEqual(s, o)
}

// at returns the table without the sessions that are not valid. Holders still lead to these.
func (t *Sessions) at(at dates.Instant) *Sessions {
	gone, ended := make(map[string]*Session), make(map[string]*DebugSession)
	for key, s := range t.Sessions.All() {
		if !s.MayHold() || !s.Dates.Holds(at) {
			gone[key] = nil
		}
	}
	for key, s := range t.Debug.All() {
		if !s.Dates.Holds(at) {
			ended[key] = nil
		}
	}
	if len(gone)+len(ended) == 0 {
		return t
	}
	return &Sessions{Sessions: t.Sessions.With(gone), Debug: t.Debug.With(ended), Holders: t.Holders}
}

// Valid returns the BreakglassSessions that are valid at an instant for their users, in no
// particular order; none for nil.
func (t *Sessions) Valid(at dates.Instant) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		if t == nil {
			return
		}
		for _, s := range t.Sessions.All() {
			if s.MayHold() && s.Dates.Holds(at) && !yield(s) {
				return
			}
		}
	}
}

// DebugSession is a DebugSession that is active.
type DebugSession struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"`
	Cluster   string `json:"cluster"`
	// Dates is when the session lets its participants in; nil: always.
	Dates        *dates.Period `json:"dates,omitempty"`
	Pods         []PodName     `json:"pods,omitempty"`
	Subresources []string      `json:"subresources,omitempty"`
	// Participants are those who may use the pods.
	Participants []Participant `json:"participants,omitempty"`
}

// PodName names a pod.
type PodName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Participant is a user of a DebugSession.
type Participant struct {
	User string `json:"user"`
	Role string `json:"role"` // owner or participant
	// Index is the position in the document.
	Index int `json:"index"`
}

// Key implements Table.
func (*Sessions) Key() string { return "sessions" }

// IsEmpty implements Table.
func (s *Sessions) IsEmpty() bool { return s.Sessions.Len()+s.Debug.Len() == 0 }

// Features implements Table.
func (s *Sessions) Features() Features { return Features{featureSessions: !s.IsEmpty()} }

// Entrypoint is empty: sessions are part of the access decision.
func (*Sessions) Entrypoint() string { return "" }

// JSON implements Table.
func (s *Sessions) JSON() (Text, error) {
	out := s.Debug.text(TextOf([]byte(`{"debug":`)))
	out = s.Holders.text(out.with([]byte(`,"holders":`)))
	out = s.Sessions.text(out.with([]byte(`,"sessions":`)))
	return out.with([]byte("}")), nil
}
