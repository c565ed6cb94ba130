package match

import (
	"github.com/writ-policy/writ/translator/tables"
)

// Sessions indexes sessions by their users. It is immutable and safe for concurrent use. Nil
// has no sessions.
type Sessions struct {
	table *tables.Sessions
	held  shards[holder, *Held]
}

// holder is whom sessions are for, on which cluster.
type holder struct{ cluster, user string }

// Held is what a user may hold on a cluster at some time, in the order of the keys.
type Held struct {
	Sessions []*tables.Session
	Debug    []*tables.DebugSession
}

// IndexSessions indexes a table, which may be nil. It shares equal parts with before, the
// index of an earlier table or nil.
func IndexSessions(t *tables.Sessions, before *Sessions) *Sessions {
	if t == nil || t.IsEmpty() {
		return nil
	}
	if before == nil {
		before = &Sessions{table: new(tables.Sessions)}
	}
	held := before.held.edit()
	for h := range changedHolders(t, before.table) {
		names := t.Holders.At(h.cluster).At(h.user)
		if len(names.Sessions)+len(names.Debug) == 0 {
			held.drop(h)
			continue
		}
		rows := new(Held)
		for _, name := range names.Sessions {
			rows.Sessions = append(rows.Sessions, t.Sessions.Find(name))
		}
		for _, key := range names.Debug {
			rows.Debug = append(rows.Debug, t.Debug.Find(key))
		}
		held.set(h, rows)
	}
	return &Sessions{t, held.shards}
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
	if s != nil {
		if held, ok := s.held.find(holder{cluster, user}); ok {
			return held
		}
	}
	return noneHeld
}

// Named returns the BreakglassSession with a name, or nil.
func (s *Sessions) Named(name string) *tables.Session {
	if s == nil || name == "" {
		return nil
	}
	return s.table.Sessions.Find(name)
}
