package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

const (
	defaultRescan  = 30 * time.Second
	defaultTimeout = 2 * time.Minute
	// maxSettles bounds, in settle times, how long Watch waits for a cluster in which
	// objects change all the time: an approved session counts within a second also then.
	maxSettles = 3
)

// Options describe a cluster and what is read of it. Location and Kinds are required.
type Options struct {
	Location source.KubeLocation
	// Kinds are the kinds that writ reads.
	Kinds []source.Kind
	// Annotations are names of annotations that a snapshot keeps, beside those that documents
	// can mean something by. A Source that watches keeps none of them.
	Annotations []string
	Limits      source.Limits
	// Settle is how long the objects must stay unchanged before Watch notifies. Zero
	// notifies at once.
	Settle time.Duration
	// Rescan is the interval of discovery, which finds kinds that are served since. Zero
	// means 30 seconds.
	Rescan time.Duration
	// Timeout bounds a snapshot. Zero means two minutes.
	Timeout time.Duration
	// Config is the configuration of the client; nil means that of the location.
	Config *rest.Config
}

// Source is the documents of a cluster. It is safe for concurrent use.
type Source struct {
	o      Options
	client *client
	kinds  []kind // those of the location

	mu    sync.Mutex // held to read and write watch
	watch *mirrors   // nil unless Watch is running
}

// kind is a kind that may be served, and how its objects are named.
type kind struct {
	schema.GroupVersionKind
	// label is the kind in paths: its name, with the group if another kind has the name.
	label string
	// mustBeServed is set for a kind that the location names.
	mustBeServed bool
}

// Open returns the documents of a cluster. It reads the kubeconfig or the service account,
// but does not connect. It returns an error if these cannot be read, or if the location
// names a kind that writ does not read.
func Open(o Options) (*Source, error) {
	o.Limits = o.Limits.WithDefaults()
	o.Rescan = cmp.Or(max(o.Rescan, 0), defaultRescan)
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	kinds, err := selectKinds(o.Kinds, o.Location.Kinds)
	if err != nil {
		return nil, err
	}
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	return &Source{o: o, client: c, kinds: kinds}, nil
}

// selectKinds returns the kinds whose name, or name and group, is among the wanted ones;
// all if none is wanted.
func selectKinds(known []source.Kind, wanted []string) ([]kind, error) {
	var kinds []kind
	named := make(map[string]bool)
	found := make(map[string]bool)
	for _, k := range known {
		version, err := schema.ParseGroupVersion(k.APIVersion)
		if err != nil {
			return nil, fmt.Errorf("kind %s: %w", k.Name, err)
		}
		next := kind{GroupVersionKind: version.WithKind(k.Name), label: k.Name}
		if named[k.Name] {
			next.label = next.GroupKind().String()
		}
		named[k.Name] = true
		full := next.GroupKind().String()
		next.mustBeServed = slices.Contains(wanted, k.Name) || slices.Contains(wanted, full)
		if len(wanted) == 0 || next.mustBeServed {
			kinds = append(kinds, next)
		}
		found[k.Name], found[full] = true, true
	}
	for _, name := range wanted {
		if !found[name] {
			return nil, fmt.Errorf("kinds: %q is not a kind that writ reads%s", name, suggestion(name, found))
		}
	}
	return kinds, nil
}

func suggestion(name string, found map[string]bool) string {
	names := slices.Sorted(maps.Keys(found))
	if near := diag.Suggest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// Snapshot returns the objects of all kinds. While Watch is running they are those of its
// mirrors, as soon as each of them is complete; otherwise each kind is listed. It returns
// an error if a list fails or is forbidden, if the API server cannot be reached, or if ctx
// or the timeout ends.
func (s *Source) Snapshot(ctx context.Context) (source.Snapshot, diag.List, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.Timeout, fmt.Errorf("no complete answer of the API server within %s", s.o.Timeout))
	defer cancel()
	s.mu.Lock()
	watch := s.watch
	s.mu.Unlock()
	if watch != nil {
		return watch.snapshot(ctx)
	}
	return s.list(ctx)
}

// collect returns a snapshot of the objects of each kind, which are sorted by path.
func (s *Source) collect(d *discovered, objects [][]source.File) (source.Snapshot, diag.List, error) {
	total := 0
	for _, files := range objects {
		total += len(files)
	}
	snapshot := source.Snapshot{Origins: []source.Origin{{Cluster: true, Unserved: d.unserved, MayBeEmpty: hasSessionsAlone(s.kinds)}}}
	list := slices.Clone(d.list)
	if total > s.o.Limits.MaxEntries {
		list.Add(source.TooManyEntries(s.o.Limits.MaxEntries).At(diag.ObjectPrefix))
		return snapshot, list, nil
	}
	slices.SortFunc(objects, func(a, b []source.File) int { return strings.Compare(firstPath(a), firstPath(b)) })
	snapshot.Files = slices.Concat(objects...)
	if int64(source.Size(snapshot.Files)) > s.o.Limits.MaxBytes {
		list.Add(source.TotalTooLarge(s.o.Limits.MaxBytes).At(diag.ObjectPrefix))
	}
	return snapshot, list, nil
}

func firstPath(files []source.File) string {
	if len(files) == 0 {
		return ""
	}
	return files[0].Path
}
