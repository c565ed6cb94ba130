package match

import (
	"cmp"
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// Sessions indexes sessions by their users. It is immutable and safe for concurrent use. Nil
// has no sessions.
type Sessions struct {
	table *tables.Sessions
	held  holders
}

// holder is whom sessions are for, on which cluster.
type holder struct{ cluster, user string }

// Held is what a user may hold on a cluster at some time, in the order of the keys.
type Held struct {
	holder
	Sessions []Session
	Debug    []*tables.DebugSession
}

// Session is a session as decisions read it: what all of them need is in one line of memory.
type Session struct {
	dates  dates.Period
	bounds [2]dates.Instant // those of dates
	groups []lentGroup
	*tables.Session
	End string // when it ends, as text; empty for never
}

// lentGroup is a group of a session, with its hash in the cluster.
type lentGroup struct {
	hash uint64
	name string
}

// set makes s the session of a row. It must stay where it is.
func (s *Session) set(row *tables.Session) {
	s.Session, s.End = row, row.Dates.End()
	for _, group := range row.Groups {
		s.groups = append(s.groups, lentGroup{boundSubject{group: true, name: group}.hash(), group})
	}
	if row.Dates == nil {
		return
	}
	s.dates = *row.Dates
	for i, bound := range [...]**dates.Instant{&s.dates.From, &s.dates.Until} {
		if *bound != nil {
			s.bounds[i] = **bound
			*bound = &s.bounds[i]
		}
	}
}

// Holds reports whether the session is valid at an instant.
func (s *Session) Holds(at dates.Instant) bool { return s.dates.Holds(at) }

// Around returns a span narrowed about an instant by the bounds of the session.
func (s *Session) Around(span dates.Span, at dates.Instant) dates.Span {
	return span.Around(at, &s.dates)
}

func (h *Held) isEmpty() bool { return len(h.Sessions)+len(h.Debug) == 0 }

// IndexSessions indexes a table, which may be nil. It shares equal parts with before, the
// index of an earlier table or nil.
func IndexSessions(t *tables.Sessions, before *Sessions) *Sessions {
	if t == nil || t.IsEmpty() {
		return nil
	}
	before = cmp.Or(before, &Sessions{table: new(tables.Sessions)})
	held := before.held.clone()
	for h := range changedHolders(t, before.table) {
		held.set(heldBy(t, h))
	}
	return &Sessions{t, held}
}

// holders finds what users hold by a hash of their names, so that a user without a session,
// as most are, costs one line of memory.
type holders struct {
	entries []heldEntry // half of them are free, and their number is a power of two
	used    int
}

// heldEntry is free without held. One that holds nothing any more stays until the entries
// grow.
type heldEntry struct {
	hash uint64
	held *Held
}

func (e *holders) clone() holders { return holders{slices.Clone(e.entries), e.used} }

// at returns the entry of a holder, or the free one for it.
func (e *holders) at(hash uint64, h holder) *heldEntry {
	mask := len(e.entries) - 1
	i := int(hash) & mask
	for e.entries[i].held != nil && (e.entries[i].hash != hash || e.entries[i].held.holder != h) {
		i = (i + 1) & mask
	}
	return &e.entries[i]
}

func (e *holders) find(h holder) *Held {
	if len(e.entries) > 0 {
		if held := e.at(maphash.String(shardSeed, h.user), h).held; held != nil && !held.isEmpty() {
			return held
		}
	}
	return noneHeld
}

// set adds what a holder holds to a copy that set owns, or replaces it.
func (e *holders) set(held *Held) {
	if 2*e.used >= len(e.entries) {
		e.grow()
	}
	hash := maphash.String(shardSeed, held.user)
	entry := e.at(hash, held.holder)
	if entry.held == nil {
		e.used++
	}
	*entry = heldEntry{hash, held}
}

// grow makes room, and leaves out those that hold nothing.
func (e *holders) grow() {
	holding := slices.DeleteFunc(slices.Clone(e.entries), func(entry heldEntry) bool { return entry.held == nil || entry.held.isEmpty() })
	e.entries, e.used = make([]heldEntry, 16<<bits.Len(uint(len(holding)/4))), len(holding)
	for _, entry := range holding {
		*e.at(entry.hash, entry.held.holder) = entry
	}
}

// heldBy returns the rows of a table for a holder.
func heldBy(t *tables.Sessions, h holder) *Held {
	names, rows := t.Holders.At(h.cluster).At(h.user), &Held{holder: h}
	rows.Sessions = make([]Session, len(names.Sessions))
	for i, name := range names.Sessions {
		rows.Sessions[i].set(t.Sessions.Find(name))
	}
	for _, key := range names.Debug {
		rows.Debug = append(rows.Debug, t.Debug.Find(key))
	}
	return rows
}

// changedHolders are the holders of rows that differ between two tables.
func changedHolders(t, before *tables.Sessions) map[holder]bool {
	changed := make(map[holder]bool)
	t.Sessions.Since(before.Sessions, func(_ string, now, was *tables.Session) {
		for _, s := range [...]*tables.Session{now, was} {
			if s != nil {
				changed[holder{s.Cluster, s.User}] = true
			}
		}
	})
	t.Debug.Since(before.Debug, func(_ string, now, was *tables.DebugSession) {
		for _, s := range [...]*tables.DebugSession{now, was} {
			if s != nil {
				for _, p := range s.Participants {
					changed[holder{s.Cluster, p.User}] = true
				}
			}
		}
	})
	return changed
}

var noneHeld = new(Held)

// Of returns what a user may hold on a cluster, which must not be modified.
func (s *Sessions) Of(cluster, user string) *Held {
	if s == nil {
		return noneHeld
	}
	return s.held.find(holder{cluster, user})
}

// Named returns the BreakglassSession with a name, or nil.
func (s *Sessions) Named(name string) *tables.Session {
	if s == nil || name == "" {
		return nil
	}
	return s.table.Sessions.Find(name)
}
