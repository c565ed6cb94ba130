package server

import (
	"context"
	"sync"
	"time"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/analysis/statement"
)

// probeEvery is how often the companions of clusters are probed.
const probeEvery = 10 * time.Second

// companionStatus is the companion of a cluster in /v1/status.
type companionStatus struct {
	Cluster string `json:"cluster"`
	// Digest is that of the active revision, and Refused how many conditions it lacks.
	Digest  string `json:"digest"`
	Refused int    `json:"refused"`
	// InForce states that each API server refused the last probe with the digest. Reason is
	// why not, and Since the time of the last change of both.
	InForce bool      `json:"inForce"`
	Reason  string    `json:"reason,omitempty"`
	Since   time.Time `json:"since"`
}

// companions probes the companions of the clusters that have one.
type companions struct {
	mu       sync.Mutex // held to read and change what follows
	states   []companionStatus
	revision string
	made     map[string]*companion.Companion // by cluster, of the revision
}

// watchCompanions probes until ctx is done.
func (s *Server) watchCompanions(ctx context.Context) {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		s.probeCompanions(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// probeCompanions probes each companion once.
func (s *Server) probeCompanions(ctx context.Context) {
	var states []companionStatus
	last := s.companions.status()
	for _, of := range s.clusters.Companions() {
		state := companionStatus{Cluster: of.Cluster, Since: s.now()}
		c := s.companionOf(of.Cluster, of.Tenant)
		if c == nil {
			state.Reason = "no revision is active"
		} else {
			state.Digest, state.Refused = c.Digest, len(c.Refused)
			if err := s.clusters.Probe(ctx, of.Cluster, s.config.Clusters.ProbeNamespace, c.Digest, len(c.Slices)); err != nil {
				state.Reason = err.Error()
			}
		}
		state.InForce = state.Reason == ""
		s.noteCompanion(&state, last)
		states = append(states, state)
	}
	if ctx.Err() != nil {
		return
	}
	inForce := make(map[string]bool, len(states))
	for i := range states {
		inForce[states[i].Cluster] = states[i].InForce
	}
	s.metrics.CompanionsProbed(inForce)
	s.companions.mu.Lock()
	defer s.companions.mu.Unlock()
	s.companions.states = states
}

// noteCompanion logs what changed since the last probe.
func (s *Server) noteCompanion(state *companionStatus, last []companionStatus) {
	var before companionStatus
	for _, each := range last {
		if each.Cluster == state.Cluster {
			before = each
		}
	}
	if before.Digest != "" && state.Digest != "" && before.Digest != state.Digest {
		s.log.Warn("this revision changes the companion of a cluster: apply what writ kubernetes admission prints",
			"cluster", state.Cluster, "digest", state.Digest, "before", before.Digest, "refused", state.Refused)
	}
	if before.InForce == state.InForce && before.Reason == state.Reason && before.Cluster != "" {
		state.Since = before.Since
		return
	}
	if state.InForce {
		s.log.Info("the companion is in force", "cluster", state.Cluster, "digest", state.Digest)
	} else {
		s.log.Warn("the companion is not in force", "cluster", state.Cluster, "digest", state.Digest, "reason", state.Reason)
	}
}

// companionOf returns the companion of the active revision for a cluster, nil without a
// revision. It is made once for a revision.
func (s *Server) companionOf(cluster, tenant string) *companion.Companion {
	p := s.reloader.Current()
	c := &s.companions
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.revision != p.Revision() {
		c.revision, c.made = p.Revision(), make(map[string]*companion.Companion)
	}
	key := cluster + "\x00" + tenant
	if c.made[key] == nil {
		world := statement.Of(p)
		if world == nil {
			return nil
		}
		c.made[key] = companion.Make(world, companion.Options{
			Cluster: cluster, Tenant: tenant, SessionKey: s.config.Clusters.SessionKey, EscalationKey: s.config.Clusters.EscalationKey,
		})
	}
	return c.made[key]
}

// status returns what the last probes found.
func (c *companions) status() []companionStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states
}
