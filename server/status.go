package server

import (
	"encoding/json"
	"slices"

	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/proofs"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/translator/source"
)

// serverStatus is what GET /v1/status shows: what is served, and how reading the
// documents went.
type serverStatus struct {
	Version  string `json:"version"`
	Draining bool   `json:"draining"`
	// Sequence is the sequence number of the active revision; zero without one.
	Sequence int64 `json:"sequence"`
	// Location is where what is served comes from, and Feed how its bundles come; nil
	// where it is documents.
	Location string         `json:"location"`
	Feed     *remote.Status `json:"feed,omitempty"`
	// Sources is the state of each source of documents.
	Sources []source.MemberStatus `json:"sources,omitempty"`
	// Keys is the state of the keys of bundles; nil if none are configured.
	Keys *keysStatus `json:"keys,omitempty"`
	// Dated is what the clock changes in the active revision.
	Dated datedStatus `json:"dated"`
	// Companions are those of the clusters that have one; nil before the first probe. Degraded
	// is set while one of them is not in force, too.
	Companions []companionStatus `json:"companions,omitempty"`
	// Assertions are those of the revision that was refused last, or of the active one; nil
	// without a revision.
	Assertions *proofs.Status `json:"assertions,omitempty"`
	// Behind is for how many seconds the active revision has not been confirmed to be
	// the newest of the source.
	Behind float64 `json:"behindSeconds"`
	reload.Status
}

// status is the status. Without details it names no documents and shows none of their
// text.
func (s *Server) status(details bool) any {
	status := serverStatus{
		Version: s.config.Version, Draining: s.draining.Load(), Location: s.sources.location, Status: s.reloader.Status(),
	}
	status.Ready = status.Ready && !status.Draining
	status.Sequence = s.reloader.Current().Loaded().Sequence
	status.Behind = s.reloader.Behind().Seconds()
	status.Companions = s.companions.status(s.reloader.Current().Loaded().Revision)
	isStrict := func(c companionStatus) bool { return !c.InForce }
	status.Degraded = status.Degraded || slices.ContainsFunc(status.Companions, isStrict)
	status.Dated, status.Assertions = s.periods.at(s), s.proofs.Status()
	if s.sources.documents != nil {
		status.Sources = s.sources.documents.Status()
	}
	if s.sources.feed != nil {
		feed := s.sources.feed.Status()
		status.Feed = &feed
	}
	status.Keys = s.sources.keys.status()
	if details {
		return status
	}
	return withoutDetails(status)
}

// withoutDetails returns the status as JSON without members that name sources and
// documents, or show their text.
func withoutDetails(status serverStatus) any {
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(jsontext.Marshal(status), &members); err != nil {
		panic(err) // it is an object
	}
	for _, name := range []string{
		"location", "sources", "feed", "diagnostics", "policyConditions", "lastError", "stateError", "assertions", "companions",
	} {
		delete(members, name)
	}
	return members
}
