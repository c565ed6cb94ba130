package session

import (
	"slices"
	"time"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// lowerer creates the table of one directory and updates it when documents change: the cost
// depends on the sessions that differ. The zero value has no documents.
type lowerer struct {
	seen  resolution
	table tables.Sessions
}

// holder is who a session is for, on which cluster.
type holder struct{ cluster, user string }

// change is what differs from the last table.
type change struct {
	sessions map[string]*tables.Session
	debug    map[string]*tables.DebugSession
	// holders states which sessions a holder has, and has no more. The latter are first.
	holders map[holder]map[string]bool
	debugs  map[holder]map[string]bool
}

func (l *lowerer) lower(r *resolution) *tables.Sessions {
	if l.seen.Cluster != r.Cluster || !slices.Equal(l.seen.Prefixes, r.Prefixes) {
		*l = lowerer{}
	}
	c := change{
		make(map[string]*tables.Session), make(map[string]*tables.DebugSession),
		make(map[holder]map[string]bool), make(map[holder]map[string]bool),
	}
	gone, come := directory.Changes(l.seen.Sessions, r.Sessions, func(a, b sessionDocument) bool { return a == b })
	for _, s := range gone {
		c.sessions[s.Document.Name] = nil
		note(c.holders, s.Document.Cluster, s.Document.User, s.Document.Name, false)
	}
	for _, s := range come {
		row := sessionRow(s, r.Prefixes)
		c.sessions[row.Name] = &row
		note(c.holders, row.Cluster, row.User, row.Name, row.MayHold())
	}
	ended, began := directory.Changes(l.seen.Debug, r.Debug, func(a, b debugDocument) bool { return a == b })
	for _, s := range ended {
		c.debug[debugKey(&s.Document.Header)] = nil
		c.noteDebug(s.Document, false)
	}
	for _, s := range began {
		if row, isActive := debugRow(s); isActive {
			c.debug[debugKey(&s.Document.Header)] = &row
			c.noteDebug(s.Document, true)
		}
	}
	l.seen = *r
	c.apply(&l.table)
	made := l.table
	return &made
}

// note records whether a holder has a session. A session that is replaced is noted twice.
func note(holders map[holder]map[string]bool, cluster, user, key string, has bool) {
	h := holder{cluster, user}
	if holders[h] == nil {
		holders[h] = make(map[string]bool)
	}
	holders[h][key] = has
}

func (c *change) noteDebug(s *DebugSession, has bool) {
	for _, p := range s.Participants {
		note(c.debugs, s.Cluster, p.User, debugKey(&s.Header), has)
	}
}

// debugKey orders DebugSessions by namespace, then name: the separator is before all
// characters of both.
func debugKey(h *syntax.Header) string { return h.Namespace + " " + h.Name }

func sessionRow(s sessionDocument, prefixes []string) tables.Session {
	d := s.Document
	row := tables.Session{
		Namespace: d.Namespace, Name: d.Name, Source: d.At.Source(),
		Cluster: d.Cluster, User: d.User, Groups: []string{d.Group},
		Issuer: d.Issuer, AnyIssuer: d.AnyIssuer, Unreadable: s.Wrong,
		NoEnd: d.Expires == nil, Dates: dates.Between(d.Start(), d.End()),
	}
	for _, prefix := range prefixes {
		row.Groups = append(row.Groups, prefix+d.Group)
	}
	switch {
	case d.State == "":
		row.Refused = "no state"
	case d.State != StateApproved:
		row.Refused = "state " + d.State
	case d.Rejected:
		row.Refused = "rejected"
	}
	row.Never = never(row.Dates, d.Start(), d.End())
	if s.Owner != nil {
		row.Owner = s.Owner.Name
	}
	for _, ref := range d.DenyPolicyRefs {
		row.Policies = append(row.Policies, ref.Value)
	}
	if row.Policies != nil {
		row.Policies = tables.Entries(row.Policies)
	}
	return row
}

// never states why a session without an instant of the clock is not valid.
func never(p *dates.Period, start, end *time.Time) string {
	switch {
	case p == nil || !p.Never:
		return ""
	case start != nil && start.After(dates.Of(*start).Time()):
		return "begins " + dates.Format(*start)
	}
	return "ended " + dates.Format(*end)
}

// debugRow returns the row of a DebugSession, if it may let anybody in.
func debugRow(s debugDocument) (row tables.DebugSession, isActive bool) {
	d := s.Document
	row = tables.DebugSession{
		Namespace: d.Namespace, Name: d.Name, Source: d.At.Source(), Cluster: d.Cluster,
		Dates: dates.Between(d.Starts, d.Ends), Pods: d.Pods, Subresources: d.Subresources, Participants: d.Participants,
	}
	return row, !s.Wrong && d.State == StateActive && d.Cluster != ""
}

// apply applies the changes. It does not modify existing maps.
func (c *change) apply(t *tables.Sessions) {
	t.Sessions, t.Debug = t.Sessions.With(c.sessions), t.Debug.With(c.debug)
	byCluster := make(map[string]map[string]*tables.Held)
	held := func(h holder) *tables.Held {
		if byCluster[h.cluster] == nil {
			byCluster[h.cluster] = make(map[string]*tables.Held)
		}
		if byCluster[h.cluster][h.user] == nil {
			now := t.Holders.At(h.cluster).At(h.user)
			byCluster[h.cluster][h.user] = &now
		}
		return byCluster[h.cluster][h.user]
	}
	for h, keys := range c.holders {
		of := held(h)
		of.Sessions = changed(of.Sessions, keys)
	}
	for h, keys := range c.debugs {
		of := held(h)
		of.Debug = changed(of.Debug, keys)
	}
	clusters := make(map[string]*tables.Map[tables.Held])
	for cluster, users := range byCluster {
		for user, of := range users {
			if len(of.Sessions)+len(of.Debug) == 0 {
				users[user] = nil
			}
		}
		clusters[cluster] = nil
		if of := t.Holders.At(cluster).With(users); of.Len() > 0 {
			clusters[cluster] = &of
		}
	}
	t.Holders = t.Holders.With(clusters)
}

// changed returns a list with the keys that it must have and without those that it must not.
func changed(before []string, keys map[string]bool) []string {
	list := slices.DeleteFunc(slices.Clone(before), func(key string) bool {
		_, known := keys[key]
		return known
	})
	for key, has := range keys {
		if has {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}
