package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// Bounds where Options leave them at zero.
const (
	DefaultTimeout = 1500 * time.Millisecond
	DefaultPlaces  = 64
)

// maxFile is how large the clusters file and each kubeconfig may be.
const maxFile = 4 << 20

// Options bound the reading. The zero value means the defaults.
type Options struct {
	// Timeout bounds all that is read for one request, waiting for a place
	// included.
	Timeout time.Duration
	// Places is for how many requests one cluster is read at a time.
	Places int
}

// Clusters are the clusters of a file. They are safe for concurrent use.
type Clusters struct {
	path    string
	options Options

	mu     sync.Mutex // held to read the files
	active atomic.Pointer[listing]
}

// listing is one reading of the file.
type listing struct {
	hash     [sha256.Size]byte
	clusters map[string]*reached
	fallback *reached // the default; nil without one
}

// reached is a cluster and the way to it.
type reached struct {
	Cluster
	hash   [sha256.Size]byte // of the kubeconfig
	client *client           // nil where nothing is ever read
}

// Read reads the clusters file at path and the kubeconfigs it names.
func Read(path string, o Options) (*Clusters, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Places <= 0 {
		o.Places = DefaultPlaces
	}
	c := &Clusters{path: path, options: o}
	if _, err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Reload reads the files again and says whether any was another than before.
// After an error the clusters are those of the last reading that was in order.
// A cluster of which nothing changed keeps its connections.
func (c *Clusters) Reload() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	content, err := readBounded(c.path)
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
	}
	return changed, nil
}

// at says which file and line an error is about.
func (c *Clusters) at(err error) error {
	var m *mistake
	if errors.As(err, &m) {
		return fmt.Errorf("read clusters: %s:%d: %w", c.path, m.line, err)
	}
	return fmt.Errorf("read clusters: %s: %w", c.path, err)
}

// reach is before, where entry and its kubeconfig are what they were.
func reach(entry *Cluster, before *reached, o Options) (*reached, error) {
	r := &reached{Cluster: *entry}
	if entry.Kubeconfig != "" {
		content, err := readBounded(entry.Kubeconfig)
		if err != nil {
			return nil, err
		}
		r.hash = sha256.Sum256(content)
	}
	if before != nil && before.hash == r.hash {
		same := before.Cluster
		same.line = entry.line
		if reflect.DeepEqual(same, r.Cluster) {
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
	errNoCluster = errors.New("the review names no cluster, and none is the default")
	errUnlisted  = errors.New("the review's cluster is not listed")
)

// Place says which cluster a request is about, where its door does not, and of
// which tenant. A request of a cluster that is not listed has no place.
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

// Labels are what the file says of the cluster of that name; nil where it is not
// listed. They are shared, and not to be written.
func (c *Clusters) Labels(name string) map[string]string {
	if found := c.active.Load().clusters[name]; found != nil {
		return found.Labels
	}
	return nil
}

// Complete reads what is wanted into r: its Pod, or PodError, and its
// NamespaceLabels, which stay unknown where they cannot be read. It ends before
// ctx does, so that there is time to decide.
func (c *Clusters) Complete(ctx context.Context, r *decision.Request, w decision.Wants) {
	found := c.active.Load().clusters[r.Cluster]
	if found == nil || found.client == nil || !w.Pod && !w.NamespaceLabels {
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

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return content, err
}
