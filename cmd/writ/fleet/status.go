package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// serverStatus is what GET /v1/status shows, as far as it is used here. Members about documents
// are absent for callers that are not auditors.
type serverStatus struct {
	console.Status
	Sources []struct {
		Location string `json:"location"`
		Error    string `json:"error"`
	} `json:"sources"`
	Diagnostics []console.Diagnostic `json:"diagnostics"`

	// At is the time of the server when it answered.
	At time.Time `json:"-"`
}

// problems returns why a server is not as it should be, empty if it is.
func (s *serverStatus) problems() []string {
	var list []string
	switch {
	case !s.Ready:
		list = append(list, "not ready")
	case s.Degraded && s.unreadable():
		list = append(list, "degraded: a source cannot be read, so the last documents that were read stay active")
	case s.Degraded:
		list = append(list, "degraded: the newest documents are not active, an earlier revision is")
	}
	if s.Keys != nil && s.Keys.State == "revoked" {
		list = append(list, fmt.Sprintf("revoked key: the active bundle is signed by %q and is rejected after a restart", s.Keys.SignedBy))
	}
	return list
}

// unreadable reports whether a source of documents cannot be read.
func (s *serverStatus) unreadable() bool {
	for _, source := range s.Sources {
		if source.Error != "" {
			return true
		}
	}
	return false
}

// replica is the answer of one server.
type replica struct {
	URL string `json:"url"`
	// Error is why the status could not be read; empty if it was.
	Error    string  `json:"error,omitempty"`
	Revision string  `json:"revision"`
	Sequence int64   `json:"sequence,omitempty"`
	Age      float64 `json:"ageSeconds"` // since the revision is active
	Behind   float64 `json:"behindSeconds"`
	Ready    bool    `json:"ready"`
	Degraded bool    `json:"degraded"`
	Pinned   bool    `json:"pinned,omitempty"`
	// Revoked states that the key that signed the active bundle is revoked.
	Revoked bool   `json:"revokedKey,omitempty"`
	Errors  int    `json:"errors"`
	Version string `json:"version"`
}

// comparison is of what replicas serve.
type comparison struct {
	Replicas []replica `json:"replicas"`
	// Newest is the revision that the others should have, and Revisions their number.
	Newest    string `json:"newest"`
	Revisions int    `json:"revisions"`
	// Disagreement is for how many seconds some replica has had the newest revision and
	// another one has not; zero if all agree.
	Disagreement float64 `json:"disagreementSeconds"`
	// Unanswered counts replicas without a status, and Unready those that serve nothing.
	Unanswered int `json:"unanswered"`
	Unready    int `json:"unready"`
	// Revoked counts replicas whose active bundle is signed by a revoked key.
	Revoked int `json:"revokedKeys"`
}

// maxQuestions is the number of servers that are asked at a time.
const maxQuestions = 32

// Ask asks all servers and compares their answers, in the order of the servers.
func (c *client) Ask(ctx context.Context, servers []string) *comparison {
	replicas := make([]replica, len(servers))
	places := make(chan struct{}, maxQuestions)
	var work sync.WaitGroup
	for i, server := range servers {
		places <- struct{}{}
		work.Go(func() {
			defer func() { <-places }()
			replicas[i] = c.askOne(ctx, server)
		})
	}
	work.Wait()
	return compare(replicas)
}

func (c *client) askOne(ctx context.Context, server string) replica {
	s, _, err := c.Read(ctx, server)
	if err != nil {
		return replica{URL: server, Error: err.Error()}
	}
	r := replica{
		URL: server, Revision: s.Revision, Behind: s.Behind, Ready: s.Ready, Degraded: s.Degraded, Pinned: s.Pinned != "",
		Revoked: s.Keys != nil && s.Keys.State == "revoked", Errors: s.Errors, Version: s.Version,
	}
	if s.Bundle != nil {
		r.Sequence = s.Bundle.Sequence
	}
	if !s.Since.IsZero() {
		r.Age = max(0, s.At.Sub(s.Since).Seconds())
	}
	return r
}

// compare finds the newest revision: the one with the highest sequence or, without
// sequences, the one that became active last. The age of a revision is that of the
// replica that has had it for longest.
func compare(replicas []replica) *comparison {
	report := &comparison{Replicas: replicas}
	first := make(map[string]replica) // of each revision, the replica that had it first
	for _, r := range replicas {
		switch {
		case r.Error != "":
			report.Unanswered++
			continue
		case !r.Ready:
			report.Unready++
		}
		if r.Revoked {
			report.Revoked++
		}
		if r.Revision == "" {
			continue
		}
		if f, found := first[r.Revision]; !found || r.Age > f.Age {
			first[r.Revision] = r
		}
	}
	report.Revisions = len(first)
	var newest *replica
	for _, r := range first {
		if newest == nil || isNewer(&r, newest) {
			newest = &r
		}
	}
	if newest == nil {
		return report
	}
	report.Newest = newest.Revision
	if slices.ContainsFunc(replicas, func(r replica) bool { return r.Error == "" && r.Revision != newest.Revision }) {
		report.Disagreement = newest.Age
	}
	return report
}

// isNewer orders revisions, and two of one age by name.
func isNewer(a, b *replica) bool {
	switch {
	case a.Sequence != b.Sequence && a.Sequence != 0 && b.Sequence != 0:
		return a.Sequence > b.Sequence
	case a.Age != b.Age:
		return a.Age < b.Age
	}
	return a.Revision > b.Revision
}
