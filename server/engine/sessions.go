package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// lent is what sessions give to a request, as writ.access.sessions finds it in the tables.
// The zero value is that of a request without a session.
type lent struct {
	valid []match.Session   // by name
	via   [][]match.Session // those of each hit that applies through sessions, by Hit.Lent
	// warning is that of a request that names a session which is not valid for it.
	warning string
	// debug is the first DebugSession that lets the user into the pod, participant who that is.
	debug       *tables.DebugSession
	participant tables.Participant
	// span is the time in which the same sessions are valid.
	span dates.Span
}

// concerned returns a function that reports whether sessions may decide a request at some
// time. Keys of requests then have all attributes. own is the only cluster of the tables, or
// empty.
func concerned(sessions *match.Sessions, own string) func(*decision.Request) bool {
	if sessions == nil {
		return nil
	}
	return func(r *decision.Request) bool {
		held := sessions.Of(cmp.Or(r.Cluster, own), r.User)
		return len(held.Sessions)+len(held.Debug) > 0 || sessions.Named(r.Session) != nil
	}
}

// lend returns what sessions give to a request, which names its cluster.
func (e *Engine) lend(r *decision.Request, at dates.Instant) (l lent) {
	if e.sessions == nil {
		return l
	}
	if named := e.sessions.Named(r.Session); named != nil {
		l.name(named, r, at)
	}
	held := e.sessions.Of(r.Cluster, r.User)
	for _, s := range held.Debug {
		if i := covering(s, r); i >= 0 {
			l.span = l.span.Around(at, s.Dates)
			if l.debug == nil && s.Dates.Holds(at) {
				l.debug, l.participant = s, s.Participants[i]
			}
		}
	}
	for i := range held.Sessions {
		s := &held.Sessions[i]
		if !fitsIssuer(s.Session, r) {
			continue
		}
		l.span = s.Around(l.span, at)
		switch {
		case !s.Holds(at):
		case len(l.valid) == i:
			l.valid = held.Sessions[: i+1 : i+1] // all of them so far, without a copy
		default:
			l.valid = append(l.valid, *s)
		}
	}
	return l
}

// name sets the warning about the session that a request names.
func (l *lent) name(s *tables.Session, r *decision.Request, at dates.Instant) {
	why := s.Invalid(at)
	switch {
	case s.Unreadable:
	case s.User != r.User || s.Cluster != r.Cluster:
		why = "for another user or cluster"
	case s.Refused != "":
	case !fitsIssuer(s, r):
		why = "from another identity provider"
	case !s.NoEnd && s.Never == "":
		l.span = l.span.Around(at, s.Dates)
	}
	if why != "" {
		l.warning = s.Name + ": session is not valid: " + why
	}
}

func fitsIssuer(s *tables.Session, r *decision.Request) bool {
	stated := r.Extra[tables.IssuerKey]
	differs := func(issuer string) bool { return issuer != "" && issuer != s.Issuer }
	return len(stated) == 0 || s.AnyIssuer || !slices.ContainsFunc(stated, differs)
}

// covering returns the index of the participant whom a DebugSession lets into the pod of the
// request while it is active, or -1.
func covering(s *tables.DebugSession, r *decision.Request) int {
	if r.APIGroup != "" || r.Resource != podResource || r.Namespace == "" || r.Name == "" ||
		!slices.Contains(s.Subresources, r.Subresource) || !slices.Contains(s.Pods, tables.PodName{Namespace: r.Namespace, Name: r.Name}) {
		return -1
	}
	return slices.IndexFunc(s.Participants, func(p tables.Participant) bool { return p.User == r.User })
}

// warnings returns the warning and then those of a decision.
func (l *lent) warnings(others []string) []string {
	if l.warning == "" {
		return others
	}
	return append([]string{l.warning}, others...)
}

// decision returns the decision that a DebugSession allows.
func (l *lent) decision(r *decision.Request) decision.Decision {
	s, until := l.debug, l.debug.Dates.End()
	name := tables.FullName(s.Namespace, s.Name)
	text := fmt.Sprintf("allowed by DebugSession %s (%s, %s)", name, l.participant.Role, r.Subresource)
	if until != "" {
		text += " until " + until
	}
	return decision.Decision{
		Allowed: true, Reason: text, Warnings: l.warnings([]string{}), Span: l.span,
		Matched: []decision.Matched{{
			Kind: "DebugSession", Namespace: s.Namespace, Name: s.Name, Rule: l.participant.Index, Source: s.Source,
			Effect: "allow", APIVersion: tables.BreakglassVersion, Until: until,
		}},
	}
}

// find returns the hits of the request's own subjects, and those of the groups of valid
// sessions alone, for which via then has the sessions.
func (l *lent) find(tree *match.Tree, r *decision.Request) []match.Hit {
	search := tree.Search(r)
	search.Lend(l.valid)
	l.via = search.Via
	return search.Hits
}

// of returns the sessions through which a hit applies, none for one of the request's own.
func (l *lent) of(h match.Hit) []match.Session {
	if h.Lent == 0 {
		return nil
	}
	return l.via[h.Lent-1]
}

// end completes the description of a hit that applies through sessions: of several the
// latest end counts.
func end(m *decision.Matched, h match.Hit, via []match.Session) {
	if len(via) == 0 {
		return
	}
	m.Via = make([]decision.Via, len(via))
	bound, last := endOf(h.Binding.Dates), latest(via)
	for i := range via {
		s := &via[i]
		m.Via[i] = decision.Via{Kind: "BreakglassSession", Namespace: s.Namespace, Name: s.Name, Until: s.End}
		if ends := endOf(s.Dates); s == last && (bound == nil || ends != nil && *ends < *bound) {
			m.Until = s.End
		}
	}
}

// endOf returns the end of a period, nil for one without.
func endOf(p *dates.Period) *dates.Instant {
	if p == nil {
		return nil
	}
	return p.Until
}

// latest returns the first of the sessions that end last.
func latest(via []match.Session) *match.Session {
	last := &via[0]
	for i := range via[1:] {
		s := &via[i+1]
		if until, most := endOf(s.Dates), endOf(last.Dates); most != nil && (until == nil || *until > *most) {
			last = s
		}
	}
	return last
}

var (
	keySessions = ast.StringTerm("sessions")
	keyOwner    = ast.StringTerm("owner")
	keyPolicies = ast.StringTerm("policies")
)

// sessionTerms are valid sessions as the library reads them for deny policies.
func sessionTerms(valid []match.Session) *ast.Term {
	terms := make([]*ast.Term, len(valid))
	for i, s := range valid {
		terms[i] = ast.ObjectTerm(
			[2]*ast.Term{keyName, text(s.Name)},
			[2]*ast.Term{keyOwner, text(s.Owner)},
			[2]*ast.Term{keyPolicies, list(s.Policies)},
		)
	}
	return ast.ArrayTerm(terms...)
}
