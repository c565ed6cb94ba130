package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/decision"
)

// Defaults of Options.
const (
	DefaultTimeout = 1500 * time.Millisecond
	DefaultPlaces  = 64
)

// maxFile bounds the size of the clusters file and of each kubeconfig.
const maxFile = 4 << 20

// Options bound fetching. The zero value means the defaults.
type Options struct {
	// Timeout bounds all fetches for one request, including the wait for a place.
	Timeout time.Duration
	// Places is the number of requests for which one cluster is read concurrently.
	Places int
}

// Clusters are the clusters of a file. They are safe for concurrent use.
type Clusters struct {
	path    string
	options Options

	mu     sync.Mutex // held to read the files
	active atomic.Pointer[listing]
}

// listing is the content of the file at one time.
type listing struct {
	hash     [sha256.Size]byte
	clusters map[string]*reached
	fallback *reached // the default; nil without one
}

// reached is a cluster and its client.
type reached struct {
	clusterEntry
	hash   [sha256.Size]byte // of the kubeconfig
	client *client           // nil if nothing is fetched from the cluster
}

// Read reads the clusters file at path and the kubeconfigs it names. It returns an error
// with the line if one of them cannot be read or is invalid.
func Read(path string, o Options) (*Clusters, error) {
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.Places = cmp.Or(max(o.Places, 0), DefaultPlaces)
	c := &Clusters{path: path, options: o}
	if _, err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Reload reads the files again and reports whether any of them changed. If it returns
// an error, the previous clusters stay in use. A cluster that did not change keeps its
// connections.
func (c *Clusters) Reload() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	content, err := limits.ReadFile(c.path, maxFile)
	if err != nil {
		return false, fmt.Errorf("read clusters: %w", err)
	}
	list, err := parse(content, filepath.Dir(c.path))
	if err != nil {
		return false, c.at(err)
	}
	last := c.active.Load()
	next := &listing{hash: sha256.Sum256(content), clusters: make(map[string]*reached, len(list))}
	changed = last == nil || last.hash != next.hash
	for _, entry := range list {
		var before *reached
		if last != nil {
			before = last.clusters[entry.Name]
		}
		r, err := reach(entry, before, c.options)
		if err != nil {
			return false, c.at(mistakef(entry.line, "cluster %q: %v", entry.Name, err))
		}
		changed = changed || r != before
		next.clusters[entry.Name] = r
		if entry.Default {
			next.fallback = r
		}
	}
	if changed {
		c.active.Store(next)
		last.leave(next)
	}
	return changed, nil
}

// leave stops what is mirrored of clusters that are not the same in the next listing.
func (l *listing) leave(next *listing) {
	if l == nil {
		return
	}
	for name, r := range l.clusters {
		if r.client != nil && next.clusters[name] != r {
			r.client.namespaces.stop()
		}
	}
}

// at adds the file and line to an error.
func (c *Clusters) at(err error) error {
	if m, ok := errors.AsType[*mistake](err); ok {
		return fmt.Errorf("read clusters: %s:%d: %w", c.path, m.line, err)
	}
	return fmt.Errorf("read clusters: %s: %w", c.path, err)
}

// reach returns before if the entry and its kubeconfig did not change, or else a new
// client. It returns an error if the kubeconfig cannot be read.
func reach(entry *clusterEntry, before *reached, o Options) (*reached, error) {
	r := &reached{clusterEntry: *entry}
	if entry.Kubeconfig != "" {
		content, err := limits.ReadFile(entry.Kubeconfig, maxFile)
		if err != nil {
			return nil, err
		}
		r.hash = sha256.Sum256(content)
	}
	if before != nil && before.hash == r.hash {
		same := before.clusterEntry
		same.line = entry.line
		if reflect.DeepEqual(same, r.clusterEntry) {
			return before, nil
		}
	}
	var err error
	if entry.Kubeconfig != "" || entry.InCluster {
		r.client, err = newClient(entry, o)
	}
	return r, err
}

// Errors of Place.
var (
	errNoCluster = errors.New("the review names no cluster, and no cluster is the default")
	errUnlisted  = errors.New("the cluster of the review is not listed")
)

// Place sets the cluster of a request, if the endpoint did not, and its tenant. It
// returns an error if the cluster is not listed, or if it is missing and so is a default cluster.
func (c *Clusters) Place(r *decision.Request) error {
	list := c.active.Load()
	found := list.clusters[r.Cluster]
	if r.Cluster == "" {
		found = list.fallback
	}
	switch {
	case found != nil:
		r.Cluster, r.Tenant = found.Name, found.Tenant
		return nil
	case r.Cluster == "":
		return errNoCluster
	}
	return errUnlisted
}

// Names returns the names of the clusters, sorted.
func (c *Clusters) Names() []string {
	return decision.SortedKeys(c.active.Load().clusters)
}

// Labels returns the labels of a cluster, or nil if it is not listed. The map is shared
// and must not be modified.
func (c *Clusters) Labels(name string) map[string]string {
	if found := c.active.Load().clusters[name]; found != nil {
		return found.Labels
	}
	return nil
}

// Complete fetches the missing facts into r: Pod or PodError, and the others, which stay
// unknown if they cannot be read. Labels and Node are read only if the file asks for them.
// It returns before the deadline of ctx, so that there is time left for the decision.
func (c *Clusters) Complete(ctx context.Context, r *decision.Request, w decision.Facts) {
	found := c.active.Load().clusters[r.Cluster]
	if found == nil || found.client == nil {
		return
	}
	w.Labels, w.Node = w.Labels && found.Facts.Labels, w.Node && found.Facts.Node
	if w == (decision.Facts{}) {
		return
	}
	bound := c.options.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(deadline)*3/4)
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	found.client.complete(ctx, r, w)
}
