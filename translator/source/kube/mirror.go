package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/writ-policy/writ/translator/source"
)

// mirror holds the objects of one kind. A Reflector keeps it like the API server's; it
// implements cache.ReflectorStore.
type mirror struct {
	resource resource
	// changed is called without mu held after objects or err have changed.
	changed func()
	stop    context.CancelFunc

	mu       sync.Mutex
	files    map[string]source.File
	sorted   []source.File // files by path, without the changes of dirty; never modified
	dirty    map[string]bool
	isSynced bool  // files have been complete once
	err      error // of the last request; nil if it succeeded
}

// backoff is the pause between failed requests. An API server that returns is noticed
// within its cap.
func backoff() *wait.Backoff {
	return &wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 8 * time.Second}
}

// Reflect starts to keep a store like the objects of a resource in an API server, until ctx is
// done. report is called with the result of each list or watch, nil if it succeeded; objects
// that are too old to continue from are listed again, so that is not a failure.
func Reflect(
	ctx context.Context, client dynamic.Interface, from dynamic.ResourceInterface, o cache.ReflectorOptions,
	store cache.ReflectorStore, report func(verb string, err error),
) {
	result := func(ctx context.Context, verb string, err error) {
		if ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			report(verb, err)
		}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.ResourceVersion == "0" {
				o.ResourceVersion = "" // the newest objects, not those that a cache happens to have
			}
			list, err := from.List(ctx, o)
			result(ctx, "list", err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := from.Watch(ctx, o)
			if o.SendInitialEvents == nil || !apierrors.IsInvalid(err) { // else the API server cannot send them, and lists
				result(ctx, "watch", err)
			}
			return w, err
		},
	}
	log := logr.Discard() // what matters is reported
	o.Logger, o.Backoff = &log, backoff()
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, client), nil, store, o)
	go reflector.RunWithContext(klog.NewContext(ctx, log))
}

// startMirror starts to mirror a kind until ctx is done or stop is called.
func (s *Source) startMirror(ctx context.Context, r resource, changed func()) *mirror {
	m := &mirror{resource: r, changed: changed, files: make(map[string]source.File), dirty: make(map[string]bool)}
	ctx, m.stop = context.WithCancel(ctx)
	from := s.client.objects.Resource(r.gvr).Namespace(r.namespace)
	Reflect(ctx, s.client.objects, from, cache.ReflectorOptions{Name: r.gvr.String(), TypeDescription: r.Kind}, m, m.report)
	return m
}

// report records the result of a request.
func (m *mirror) report(verb string, err error) {
	if err != nil {
		err = resourceError(verb, m.resource, err)
	}
	m.change(func() bool {
		isNew := (err == nil) != (m.err == nil) || err != nil && err.Error() != m.err.Error()
		m.err = err
		return isNew
	})
}

// change calls f with mu held, and then changed if f reports a change.
func (m *mirror) change(f func() bool) {
	m.mu.Lock()
	isChanged := f()
	m.mu.Unlock()
	if isChanged {
		m.changed()
	}
}

// state returns the objects sorted by path, whether they are complete, and the error of
// the last request. The list must not be modified.
func (m *mirror) state() (files []source.File, isSynced bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil || !m.isSynced {
		return nil, m.isSynced, m.err
	}
	m.sort()
	return m.sorted, true, nil
}

// sort applies the changes to a new sorted list.
func (m *mirror) sort() {
	if len(m.dirty) == 0 {
		return
	}
	changes := slices.Sorted(maps.Keys(m.dirty))
	out := make([]source.File, 0, len(m.files))
	old := m.sorted
	for _, path := range changes {
		at, found := slices.BinarySearchFunc(old, path, func(f source.File, path string) int { return strings.Compare(f.Path, path) })
		out = append(out, old[:at]...)
		if old = old[at:]; found {
			old = old[1:]
		}
		if f, ok := m.files[path]; ok {
			out = append(out, f)
		}
	}
	m.sorted = append(out, old...)
	clear(m.dirty)
}

// drop removes a file and returns whether there was one. m.mu is held.
func (m *mirror) drop(path string) bool {
	_, found := m.files[path]
	if found {
		delete(m.files, path)
		m.dirty[path] = true
	}
	return found
}

// set stores a file and returns whether it is new or has other content. m.mu is held.
func (m *mirror) set(f source.File) bool {
	if old, ok := m.files[f.Path]; ok && old.Hash == f.Hash {
		return false
	}
	m.files[f.Path] = f
	m.dirty[f.Path] = true
	return true
}

// Add implements cache.ReflectorStore.
func (m *mirror) Add(object any) error { return m.Update(object) }

// Update implements cache.ReflectorStore.
func (m *mirror) Update(object any) error {
	f, err := m.fileOf(object)
	if err != nil {
		return err
	}
	m.change(func() bool { return m.set(f) })
	return nil
}

// Delete implements cache.ReflectorStore.
func (m *mirror) Delete(object any) error {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return errNotObject
	}
	m.change(func() bool { return m.drop(m.resource.path(u)) })
	return nil
}

// Replace implements cache.ReflectorStore: the objects are complete.
func (m *mirror) Replace(objects []any, _ string) error {
	files := make(map[string]source.File, len(objects))
	for _, object := range objects {
		f, err := m.fileOf(object)
		if err != nil {
			return err
		}
		files[f.Path] = f
	}
	m.change(func() bool {
		isChanged := !m.isSynced
		m.isSynced = true
		for path := range m.files {
			if _, ok := files[path]; !ok {
				isChanged = m.drop(path) || isChanged
			}
		}
		for _, f := range files {
			isChanged = m.set(f) || isChanged
		}
		return isChanged
	})
	return nil
}

// Resync implements cache.ReflectorStore.
func (m *mirror) Resync() error { return nil }

// Transformer implements cache.TransformingStore.
func (m *mirror) Transformer() cache.TransformFunc { return transform }

func (m *mirror) fileOf(object any) (source.File, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return source.File{}, errNotObject
	}
	f, err := m.resource.file(u)
	if err != nil {
		// The reflector drops what the store rejects: it would be missing silently.
		m.change(func() bool {
			m.err = fmt.Errorf("list %s: %w", m.resource.gvr.GroupResource(), err)
			return true
		})
	}
	return f, err
}
