package deny

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// Valid are the sessions that are valid for the request, by name.
func (w *Denials) Valid(r oracle.Request) []*oracle.Session {
	var valid []*oracle.Session
	for _, s := range w.Sessions {
		if r.User != "" && r.Cluster != "" && s.Problem(r, w.Now) == "" {
			valid = append(valid, s)
		}
	}
	slices.SortFunc(valid, func(a, b *oracle.Session) int { return strings.Compare(a.Name, b.Name) })
	return valid
}

// Named is the warning about the session that the request names, empty for a valid or an
// unknown one.
func (w *Denials) Named(r oracle.Request) string {
	for _, s := range w.Sessions {
		if s.Name == r.Session {
			if problem := s.Problem(r, w.Now); problem != "" {
				return s.Name + ": session is not valid: " + problem
			}
		}
	}
	return ""
}

// owner is the first escalation of the session's namespace among its owners.
func (w *Denials) owner(s *oracle.Session) *Escalation {
	for _, name := range s.Owners {
		for _, e := range w.Escalations {
			if e.Name == name && e.Namespace == s.Namespace {
				return e
			}
		}
	}
	return nil
}

// InScope reports whether a policy is in scope for the request, or for it with the name of a
// valid session and of its owner, or attached by one.
func (w *Denials) InScope(p *Policy, r oracle.Request) bool {
	if w.inScope(p, r) {
		return true
	}
	for _, s := range w.Valid(r) {
		named := r
		named.Session, named.Escalation = s.Name, ""
		if e := w.owner(s); e != nil {
			named.Escalation = e.Name
		}
		attached := *p
		if slices.Contains(s.Policies, p.Name) {
			attached.Sessions, attached.EscalationRefs = nil, nil
		}
		if w.inScope(&attached, named) {
			return true
		}
	}
	return false
}

// override is the one in force: that of the escalation which the request names, else that of
// the owner of the first session which has one.
func (w *Denials) override(r oracle.Request) *Overrides {
	if o := w.namedOverride(r); o != nil {
		return o
	}
	for _, s := range w.Valid(r) {
		e := w.owner(s)
		if e == nil || e.Overrides == nil {
			continue
		}
		o := e.Overrides
		if o.Enabled && !o.RequireApproval && (o.NamespaceScope.empty() || o.NamespaceScope.fits(r) == oracle.Yes) {
			return o
		}
	}
	return nil
}

// LetIn decides by the first DebugSession that covers the request, and reports whether one
// does.
func (w *Denials) LetIn(r oracle.Request, d *oracle.Decision) bool {
	sessions := slices.SortedFunc(slices.Values(w.Debug), func(a, b *oracle.Debug) int {
		return strings.Compare(a.Namespace+" "+a.Name, b.Namespace+" "+b.Name)
	})
	for _, s := range sessions {
		i := s.Covers(r, w.Now)
		if i < 0 {
			continue
		}
		dates := oracle.Dates{NotBefore: s.Starts, NotAfter: s.Ends}
		name := s.Name
		if s.Namespace != "" {
			name = s.Namespace + "/" + s.Name
		}
		d.Allowed = true
		d.Reason = fmt.Sprintf("allowed by DebugSession %s (%s, %s)%s", name, s.Participants[i].Role, r.Subresource, dates.Words())
		d.Matched = []oracle.Entry{{
			Kind: "DebugSession", Namespace: s.Namespace, Name: s.Name, Rule: i, Source: s.Source,
			Effect: "allow", APIVersion: Version, Until: dates.Until(),
		}}
		return true
	}
	return false
}
