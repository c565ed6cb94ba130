package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
)

// Member is one source of a Union.
type Member struct {
	// Location is where the documents are.
	Location Location
	Source   Source
}

// UnionOptions configure a Union. The zero value is valid.
type UnionOptions struct {
	// Now is the clock of MemberStatus; nil means time.Now.
	Now func() time.Time
}

// Union is the union of several sources. A source that cannot be read keeps its last
// good snapshot. It is safe for concurrent use.
type Union struct {
	members []*member // sorted by name
	o       UnionOptions
}

type member struct {
	Member
	name string // unique among several members; empty for the only one

	mu     sync.Mutex // held to read and write the fields below
	last   *reading   // nil before the first good snapshot
	readAt time.Time  // when the source was last read without an error
	err    error      // of the last attempt
	// isWatched is set while the source reports its changes, and isChanged after it did.
	isWatched, isChanged bool
}

// reading is a snapshot of a member, with the paths and diagnostics of the union.
type reading struct {
	snapshot Snapshot
	list     diag.List
}

// Join returns the union of members. Their order does not matter. It returns an error if
// members is empty, or if two have the same location.
func Join(members []Member, o UnionOptions) (*Union, error) {
	if len(members) == 0 {
		return nil, errors.New("there must be at least one source")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	locations := make([]Location, len(members))
	for i := range members {
		locations[i] = members[i].Location
	}
	names, err := uniqueNames(locations)
	if err != nil {
		return nil, err
	}
	u := &Union{o: o}
	for i := range members {
		u.members = append(u.members, &member{Member: members[i], name: names[i]})
	}
	slices.SortFunc(u.members, func(a, b *member) int { return strings.Compare(a.name, b.name) })
	return u, nil
}

// Snapshot reads the sources. While they are watched, those are read that have changed or
// could not be read, so that a change of one does not fetch another. A source that cannot
// be read keeps its last good snapshot, which Status reports. Snapshot returns an error if
// a source cannot be read that has no snapshot yet, or if no source can be read.
func (u *Union) Snapshot(ctx context.Context) (Snapshot, diag.List, error) {
	var group sync.WaitGroup
	for _, m := range u.members {
		group.Go(func() { u.read(ctx, m) })
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return Snapshot{}, nil, err
	}
	return u.combine()
}

// read takes a snapshot of one member unless its last one is known to be current.
func (u *Union) read(ctx context.Context, m *member) {
	if !m.begin() {
		return
	}
	snapshot, list, err := m.snapshot(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		m.isChanged = true // cancelled by the caller: the source did not fail
		return
	}
	if m.err = err; err != nil {
		return
	}
	m.readAt = u.o.Now()
	m.last = m.named(snapshot, list)
}

// begin reports whether the source must be read. A change from here on is another one.
func (m *member) begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isWatched && !m.isChanged && m.err == nil && m.last != nil {
		return false
	}
	m.isChanged = false
	return true
}

// snapshot returns a panic of the source as an error: it would end the process, because no
// caller is on this goroutine.
func (m *member) snapshot(ctx context.Context) (snapshot Snapshot, list diag.List, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic while reading the documents: %v", cause)
		}
	}()
	return m.Source.Snapshot(ctx)
}

// watch watches one member, which reports its first state as a change.
func (m *member) watch(ctx context.Context, notify func()) error {
	set := func(isWatched bool) {
		m.mu.Lock()
		m.isWatched, m.isChanged = isWatched, true
		m.mu.Unlock()
	}
	set(true)
	defer set(false)
	return m.Source.Watch(ctx, func() {
		m.mu.Lock()
		m.isChanged = true
		m.mu.Unlock()
		notify()
	})
}

// named returns a snapshot with the paths that it has in the union.
func (m *member) named(snapshot Snapshot, list diag.List) *reading {
	origin := Origin{}
	if len(snapshot.Origins) > 0 {
		origin = snapshot.Origins[0]
	}
	origin = origin.named(m)
	snapshot.Origins = []Origin{origin}
	if m.name == "" {
		return &reading{snapshot, list}
	}
	snapshot.Files = slices.Clone(snapshot.Files)
	for i := range snapshot.Files {
		snapshot.Files[i].Path = m.path(snapshot.Files[i].Path)
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].File = m.path(list[i].File)
	}
	return &reading{snapshot, list}
}

// Named returns a snapshot of the source at a location, in the form of MemberStatus, with the
// paths that it has in the union.
func (u *Union) Named(location string, snapshot Snapshot, list diag.List) (Snapshot, diag.List) {
	for _, m := range u.members {
		if m.Location.String() == location {
			named := m.named(snapshot, list)
			return named.snapshot, named.list
		}
	}
	return snapshot, list
}

// named returns the origin with the name and the paths that it has in the union.
func (o Origin) named(m *member) Origin {
	o.Name = m.name
	if m.name == "" {
		return o
	}
	renamed := make(settings.Settings, len(o.Settings))
	for key, value := range o.Settings {
		if value.At.File != "" {
			value.At.File = m.path(value.At.File)
		}
		renamed[key] = value
	}
	o.Settings = renamed
	o.Accepted = slices.Clone(o.Accepted)
	for i := range o.Accepted {
		o.Accepted[i].At.File = m.path(o.Accepted[i].At.File)
	}
	if o.SettingsFile.Path != "" {
		o.SettingsFile.Path = m.path(o.SettingsFile.Path)
	}
	return o
}

// path returns a path of the member as it is in the union.
func (m *member) path(path string) string {
	switch {
	case m.name == diag.ObjectPrefix, path == "" && m.Location.Kube != nil:
		return path
	case m.Location.Kube != nil:
		path = strings.TrimPrefix(path, diag.ObjectPrefix)
	}
	return m.name + "/" + path
}

// combine joins the last snapshots of all members.
func (u *Union) combine() (Snapshot, diag.List, error) {
	var all Snapshot
	var list diag.List
	var failed []error
	commits := 0
	for i, m := range u.members {
		m.mu.Lock()
		last, err := m.last, m.err
		m.mu.Unlock()
		if err != nil && (last == nil || len(u.members) == 1) {
			return Snapshot{}, nil, u.explain(m, err)
		}
		if err != nil {
			failed = append(failed, u.explain(m, err))
		}
		for _, f := range last.snapshot.Files {
			f.Origin = i
			all.Files = append(all.Files, f)
		}
		all.Origins = append(all.Origins, last.snapshot.Origins...)
		list = append(list, last.list...)
		if last.snapshot.Commit != "" {
			all.Commit = last.snapshot.Commit
			commits++
		}
	}
	if len(failed) == len(u.members) {
		return Snapshot{}, nil, errors.Join(failed...)
	}
	// "a/x" is after "a-b/y", and "a/b/x" within "a".
	if byPath := func(a, b File) int { return strings.Compare(a.Path, b.Path) }; !slices.IsSortedFunc(all.Files, byPath) {
		slices.SortStableFunc(all.Files, byPath)
	}
	all.Stale, all.Aside = errors.Join(failed...), u.aside
	if commits > 1 {
		all.Commit = "" // one commit does not describe several repositories
	}
	return all, list, nil
}

// explain names the member in its error if there are several.
func (u *Union) explain(m *member, err error) error {
	if m.name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", strings.TrimSuffix(m.name, ":"), err)
}

// Watch watches all sources.
func (u *Union) Watch(ctx context.Context, notify func()) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, m := range u.members {
		group.Go(func() error {
			if err := m.watch(ctx, notify); err != nil {
				return u.explain(m, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// MemberStatus is the state of one source of a union.
type MemberStatus struct {
	// Location is the source, without credentials.
	Location string `json:"location"`
	// Name is what the paths of its files begin with, empty for the only source.
	Name string `json:"name,omitempty"`
	// Files is the number of files or objects that were read.
	Files int `json:"files"`
	// ReadAt is when the source was last read. Its documents are of that time while Error
	// is set, and Stale is their age in seconds.
	ReadAt time.Time `json:"readAt,omitzero"`
	Stale  float64   `json:"staleSeconds,omitempty"`
	Error  string    `json:"error,omitempty"`
	// Unserved are the kinds that an API server does not serve.
	Unserved []string `json:"unserved,omitempty"`
}

// Status returns the state of each source.
func (u *Union) Status() []MemberStatus {
	out := make([]MemberStatus, len(u.members))
	for i, m := range u.members {
		out[i] = m.status(u.o.Now())
	}
	return out
}

func (m *member) status(now time.Time) MemberStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := MemberStatus{Location: m.Location.String(), Name: m.name, ReadAt: m.readAt}
	if m.last != nil {
		s.Files, s.Unserved = len(m.last.snapshot.Files), m.last.snapshot.Origins[0].Unserved
	}
	if m.err != nil {
		s.Error = m.err.Error()
		if m.last != nil {
			s.Stale = max(now.Sub(m.readAt).Seconds(), 0)
		}
	}
	return s
}
