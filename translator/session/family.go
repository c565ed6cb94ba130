package session

import (
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// family is the family of sessions, and references that of the documents they refer to.
const (
	family     = "session"
	references = "denypolicy"
)

// BreakglassSession is a BreakglassSession of breakglass.t-caas.telekom.com/v1alpha1. Times
// that are absent are nil.
type BreakglassSession struct {
	// Header is shared: Resolve reports two sessions of one name, because that is a warning
	// in an export of a cluster.
	syntax.Header
	// Wrong is set for a session with mistakes, which is never valid.
	Wrong                bool
	Cluster, User, Group string
	Issuer               string
	AnyIssuer            bool // allowIDPMismatch
	// Provider is identityProviderName; its Value is empty where it is absent.
	Provider       syntax.Text
	DenyPolicyRefs []syntax.Text
	Owners         []Owner // the escalations among ownerReferences
	State          string
	Rejected       bool
	// Scheduled, Approved, Started are the times after which the session begins.
	Scheduled, Approved, Started *time.Time
	Expires, LastActivity        *time.Time
	ExpiresAt                    diag.Position // of Expires
	// IdleTimeout is zero where it is absent, MaxValidFor is the default then.
	IdleTimeout, MaxValidFor time.Duration
}

// Owner is a reference to an escalation. UID may be empty.
type Owner struct{ Name, UID string }

// StateApproved is the only state in which a BreakglassSession may be valid, and StateActive
// that of a DebugSession.
const (
	StateApproved = "Approved"
	StateActive   = "Active"
)

// Start returns the latest of the times at which the session begins, nil without one.
func (s *BreakglassSession) Start() *time.Time {
	var latest *time.Time
	for _, t := range []*time.Time{s.Scheduled, s.Approved, s.Started} {
		if t != nil && (latest == nil || t.After(*latest)) {
			latest = t
		}
	}
	return latest
}

// End returns when the session ends: when it expires, or has been idle for too long. It is
// nil where the session does not expire.
func (s *BreakglassSession) End() *time.Time {
	if s.Expires == nil || s.LastActivity == nil || s.IdleTimeout == 0 {
		return s.Expires
	}
	if idle := s.LastActivity.Add(s.IdleTimeout); idle.Before(*s.Expires) {
		return &idle
	}
	return s.Expires
}

// DebugSession is a DebugSession of the same API.
type DebugSession struct {
	syntax.Header // shared, as that of a BreakglassSession
	Wrong         bool
	Cluster       string
	State         string
	Starts, Ends  *time.Time
	EndsAt        diag.Position // of Ends
	Pods          []tables.PodName
	Subresources  []string // those that allowedPodOperations allow, in a fixed order
	Participants  []tables.Participant
}

// Family is sessions. The zero value has seen no documents. It is not safe for concurrent
// use.
type Family struct {
	lowerer lowerer
}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return kinds }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Sessions) }

// Lower returns the table of the documents.
func (f *Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	return f.lowerer.lower(resolve(d)), nil
}

// Emit returns generated tests alone: sessions are data.
func (*Family) Emit(t tables.Table, o emit.Options) map[string][]byte {
	sessions, _ := t.(*tables.Sessions)
	if sessions == nil || !o.Tests {
		return nil
	}
	return sessionTests(sessions)
}
