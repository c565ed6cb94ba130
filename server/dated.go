package server

import (
	"slices"
	"sync"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// datedStatus is what the clock changes in the active revision, in /v1/status.
type datedStatus struct {
	// Documents is how many bindings and deny policies begin or end at some time.
	Documents int `json:"documents"`
	// Sessions and DebugSessions are those that are in force.
	Sessions      int `json:"sessions"`
	DebugSessions int `json:"debugSessions"`
	// EndSoon is how many documents and sessions are in force and end within a day.
	EndSoon int `json:"endSoon"`
	// Next is when the next of all these begins or ends; nil if none does.
	Next *time.Time `json:"next"`
}

// periods are the periods of one revision. They are collected once: a revision may have
// hundreds of thousands of documents, and few have dates.
type periods struct {
	mu                         sync.Mutex // held to collect
	revision                   string
	documents, sessions, debug []*dates.Period
}

// at returns the status of the active revision at an instant.
func (p *periods) at(s *Server) datedStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	if current := s.reloader.Current(); p.revision != current.Loaded().Revision {
		p.revision, p.documents, p.sessions, p.debug = current.Loaded().Revision, nil, nil, nil
		if world := statement.Of(current); world != nil {
			for _, d := range world.Whole().Dated() {
				p.documents = append(p.documents, d.Dates)
			}
			p.collectSessions(tables.Of[*tables.Sessions](world.Whole().Revision.Tables))
		}
	}
	now := dates.Of(s.now())
	inForce := func(list []*dates.Period) (n int) {
		for _, period := range list {
			if period.Holds(now) {
				n++
			}
		}
		return n
	}
	out := datedStatus{Documents: len(p.documents), Sessions: inForce(p.sessions), DebugSessions: inForce(p.debug)}
	var span dates.Span
	soon := dates.Of(s.now().Add(24 * time.Hour))
	for _, period := range slices.Concat(p.documents, p.sessions, p.debug) {
		if span = span.Around(now, period); period.Holds(now) && period != nil && period.Until != nil && *period.Until <= soon {
			out.EndSoon++
		}
	}
	if span.End != nil {
		next := span.End.Time()
		out.Next = &next
	}
	return out
}

func (p *periods) collectSessions(t *tables.Sessions) {
	if t == nil {
		return
	}
	for _, s := range t.Sessions.All() {
		if s.MayHold() {
			p.sessions = append(p.sessions, s.Dates)
		}
	}
	for _, s := range t.Debug.All() {
		p.debug = append(p.debug, s.Dates)
	}
}

// now returns the time by the clock of the configuration.
func (s *Server) now() time.Time {
	if s.config.Now != nil {
		return s.config.Now()
	}
	return time.Now()
}

// dated returns the numbers of the instruments about dates.
func (s *Server) dated() metrics.Dated {
	status := s.periods.at(s)
	out := metrics.Dated{Sessions: status.Sessions, DebugSessions: status.DebugSessions}
	if status.Next != nil {
		out.Next = *status.Next
	}
	return out
}
