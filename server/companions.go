package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/cluster"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/vocabulary"
)

const (
	// probeEvery is how often the companions of clusters are probed, and how long a probe of
	// all API servers of one may take. A new revision, or another listing, is probed at once.
	probeEvery = 10 * time.Second
	// goodFor is how long a success shows that a companion is in force.
	goodFor = 30 * time.Second
)

// companionStatus is the companion of a cluster in /v1/status.
type companionStatus struct {
	Cluster string `json:"cluster"`
	// Digest is that of the active revision, and Refused how many conditions it lacks.
	Digest  string `json:"digest"`
	Refused int    `json:"refused"`
	// InForce states that each API server has refused a probe with the digest for the active
	// revision within goodFor: reviews of writes are deferred to admission. Reason is why
	// not, and Since the time of the last change of both.
	InForce bool      `json:"inForce"`
	Reason  string    `json:"reason,omitempty"`
	Since   time.Time `json:"since"`
}

// success is a probe to which all API servers of a cluster answered that they have a companion in
// force.
type success struct {
	of       cluster.Companion
	revision string // whose companion it is
	made     *companion.Companion
	at       time.Time // when the probe began
	// groups are the API groups that the API servers serve themselves; nil if they are not known.
	groups map[string]bool
}

// admits reports whether API servers check the objects of a resource: an aggregated one may
// have no admission policies. Where API services cannot be listed, only resources of Kubernetes
// are known to be their own.
func (p *success) admits(group, resource string) bool {
	switch {
	case group == "*" || resource == "*" || strings.ToLower(resource) != resource:
		return false // a review of no API server
	case p.groups != nil:
		return p.groups[group]
	}
	return slices.Contains(vocabulary.Served([]string{group}), resource)
}

// isFresh reports whether the success counts at a time. The clock of the machine may jump, and
// that of the process stops while the machine sleeps: both must agree.
func (p *success) isFresh(now time.Time) bool {
	for _, age := range []time.Duration{now.Sub(p.at), now.Round(0).Sub(p.at.Round(0))} {
		if age < 0 || age >= goodFor {
			return false
		}
	}
	return true
}

// companions probes the companions of the clusters that have one. It implements
// access.Companions.
type companions struct {
	clusters *cluster.Clusters // nil without a clusters file
	now      func() time.Time

	mu        sync.Mutex // held to read and change what follows
	states    map[string]companionStatus
	successes map[string]*success // by cluster: those of the last probe that succeeded
	revision  string              // of the last probes
	listed    []cluster.Companion

	made map[cluster.Companion]*companion.Companion // of that revision; read and changed by probeCompanions alone
}

// InForce implements access.Companions.
func (c *companions) InForce(revision string, r *decision.Request) *companion.Companion {
	if p := c.success(revision, r); p != nil && p.admits(r.APIGroup, r.Resource) {
		return p.made
	}
	return nil
}

// success returns the last success for the cluster of a request, nil without a fresh one. It is
// of this very revision, and of the cluster as it is listed now.
func (c *companions) success(revision string, r *decision.Request) *success {
	c.mu.Lock()
	p := c.successes[r.Cluster]
	c.mu.Unlock()
	if p == nil || revision == "" || p.revision != revision || !p.isFresh(c.now()) {
		return nil
	}
	if listed, ok := c.clusters.Companion(r.Cluster); !ok || listed != p.of || r.Tenant != p.of.Tenant {
		return nil
	}
	return p
}

// status returns the companions of the listed clusters, by name, as they are for a revision.
func (c *companions) status(revision string) (out []companionStatus) {
	if c.clusters == nil {
		return nil
	}
	for _, of := range c.clusters.Companions() {
		c.mu.Lock()
		state, isProbed := c.states[of.Cluster]
		c.mu.Unlock()
		if !isProbed {
			continue
		}
		if state.InForce && c.success(revision, &decision.Request{Cluster: of.Cluster, Tenant: of.Tenant}) == nil {
			state.InForce, state.Reason = false, fmt.Sprintf("the last probe of this revision is older than %s, or the cluster was listed anew", goodFor)
		}
		out = append(out, state)
	}
	return out
}

// inForce returns which companions are in force, by cluster.
func (s *Server) inForce() map[string]bool {
	out := make(map[string]bool)
	for _, state := range s.companions.status(s.reloader.Current().Loaded().Revision) {
		out[state.Cluster] = state.InForce
	}
	return out
}

// watchCompanions probes until ctx is done.
func (s *Server) watchCompanions(ctx context.Context) {
	for last := time.Now(); ; last = time.Now() {
		s.probeCompanions(ctx)
		for time.Since(last) < probeEvery && !s.companions.isOutdated(s.reloader.Current().Loaded().Revision) {
			if !pause(ctx, refreshEvery) {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// isOutdated reports whether the last probes were for another revision or another listing.
func (c *companions) isOutdated(revision string) bool {
	listed := c.clusters.Companions()
	c.mu.Lock()
	defer c.mu.Unlock()
	return revision != c.revision || !slices.Equal(listed, c.listed)
}

// probeCompanions probes each companion once.
func (s *Server) probeCompanions(ctx context.Context) {
	p, listed := s.reloader.Current(), s.clusters.Companions()
	s.companions.begin(p.Loaded().Revision, listed)
	var probing sync.WaitGroup
	for _, of := range listed {
		c := s.companions.made[of]
		if c == nil && p.Loaded().Revision != "" {
			if world := statement.Of(p); world != nil {
				c = companion.Make(world, companion.Options{
					Cluster: of.Cluster, Tenant: of.Tenant, SessionKey: s.config.Clusters.SessionKey, EscalationKey: s.config.Clusters.EscalationKey,
				})
				s.companions.made[of] = c
			}
		}
		probing.Go(func() { s.probeCompanion(ctx, of, p.Loaded().Revision, c) })
	}
	probing.Wait()
}

// begin notes what is probed, and forgets clusters that are not listed any more, and what was
// made for another revision.
func (c *companions) begin(revision string, listed []cluster.Companion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states == nil {
		c.states, c.successes = make(map[string]companionStatus), make(map[string]*success)
	}
	isGone := func(name string) bool {
		return !slices.ContainsFunc(listed, func(of cluster.Companion) bool { return of.Cluster == name })
	}
	maps.DeleteFunc(c.states, func(name string, _ companionStatus) bool { return isGone(name) })
	maps.DeleteFunc(c.successes, func(name string, _ *success) bool { return isGone(name) })
	if c.made == nil || c.revision != revision {
		c.made = make(map[cluster.Companion]*companion.Companion)
	}
	maps.DeleteFunc(c.made, func(of cluster.Companion, _ *companion.Companion) bool { return !slices.Contains(listed, of) })
	c.revision, c.listed = revision, listed
}

// probeCompanion probes the companion of a cluster, made for a revision; nil without one.
func (s *Server) probeCompanion(ctx context.Context, of cluster.Companion, revision string, made *companion.Companion) {
	ctx, cancel := context.WithTimeout(ctx, probeEvery)
	defer cancel()
	found := &success{of: of, revision: revision, made: made, at: s.now()}
	state := companionStatus{Cluster: of.Cluster, Since: found.at}
	if made == nil {
		state.Reason = "no revision is active"
	} else {
		state.Digest, state.Refused = made.Digest, len(made.Refused)
		if err := of.Probe(ctx, s.config.Clusters.ProbeNamespace, made.Digest, len(made.Slices)); err != nil {
			state.Reason = err.Error()
		}
	}
	if state.InForce = state.Reason == ""; state.InForce {
		var err error
		if found.groups, err = of.Groups(ctx); err != nil {
			s.log.Debug("API services cannot be listed: reviews of custom resources are strict", "cluster", of.Cluster, "error", err)
		}
	}
	c := &s.companions
	c.mu.Lock()
	before := c.states[of.Cluster]
	if before.InForce == state.InForce && before.Reason == state.Reason && before.Cluster != "" {
		state.Since = before.Since
	}
	c.states[of.Cluster] = state
	if delete(c.successes, of.Cluster); state.InForce {
		c.successes[of.Cluster] = found
	}
	c.mu.Unlock()
	s.logCompanion(&state, &before)
}

// logCompanion logs what changed since the last probe.
func (s *Server) logCompanion(state, before *companionStatus) {
	if before.Digest != "" && state.Digest != "" && before.Digest != state.Digest {
		s.log.Warn("this revision changes the companion of a cluster: apply what writ kubernetes admission prints",
			"cluster", state.Cluster, "digest", state.Digest, "before", before.Digest, "refused", state.Refused)
	}
	if before.InForce == state.InForce && before.Reason == state.Reason && before.Cluster != "" {
		return
	}
	if state.InForce {
		s.log.Info("the companion is in force: reviews of writes are deferred to admission", "cluster", state.Cluster, "digest", state.Digest)
	} else {
		s.log.Warn("the companion is not in force: reviews are decided strictly", "cluster", state.Cluster, "digest", state.Digest, "reason", state.Reason)
	}
}
