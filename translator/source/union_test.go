package source

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/translator/diag"
)

// fixed is a source with the snapshot or the error that a test sets.
type fixed struct {
	snapshot Snapshot
	list     diag.List
	err      error
	reads    int
	panics   bool
	notify   func() // of Watch
}

func (f *fixed) Snapshot(context.Context) (Snapshot, diag.List, error) {
	f.reads++
	if f.panics {
		panic("an index out of range")
	}
	return f.snapshot, f.list, f.err
}

func (f *fixed) Watch(ctx context.Context, notify func()) error {
	if f.err != nil {
		return f.err
	}
	f.notify = notify
	notify()
	<-ctx.Done()
	return nil
}

func files(paths ...string) Snapshot {
	var s Snapshot
	for _, p := range paths {
		s.Files = append(s.Files, File{Path: p})
	}
	return s
}

func locations(t *testing.T, texts ...string) []Location {
	t.Helper()
	out := make([]Location, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = ParseLocation(text); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestNamesOfSources(t *testing.T) {
	for _, row := range []struct {
		name  string
		given []string
		want  string
		err   string
	}{
		{"the only one", []string{"policies"}, "", ""},
		{"last segments", []string{"/srv/a", "/srv/b/"}, "a b", ""},
		{"as many segments as necessary", []string{"/x/one/policies", "/x/two/policies", "/x/two/other"}, "one/policies two/policies other", ""},
		{"relative paths as they are", []string{"policies", "./more/policies/", "/x/policies"}, "policies more/policies x/policies", ""},
		{"a repository and its folder", []string{"git+https://h/team/shop.git", "git+https://h/team/shop//prod"}, "shop prod", ""},
		{"a repository like a folder", []string{"/srv/policies", "git+https://h/policies.git"}, "srv/policies h/policies", ""},
		{"a directory and a cluster", []string{"/srv/a", "kube:"}, "a kube:", ""},
		{"two clusters", []string{"kube:", "kube:prod"}, "kube: kube:prod", ""},
		{"the same twice", []string{"/srv/a", "/srv/a/."}, "", "two of them are the same"},
		{"the same cluster twice", []string{"kube:a", "kube:a"}, "", "two of them are the same"},
		{"the top of the file system", []string{"/", "/srv/a"}, "root a", ""},
		{"control characters", []string{"/srv/a\n", "/srv/b"}, `a\n b`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			names, err := uniqueNames(locations(t, row.given...))
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Errorf("got error %v, want %q", err, row.err)
				}
				return
			}
			check(t, err)
			if got := strings.Join(names, " "); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func union(t *testing.T, now *time.Time, sources map[string]*fixed) *Union {
	t.Helper()
	var members []Member
	for name, s := range sources {
		members = append(members, Member{locations(t, name)[0], s})
	}
	u, err := Join(members, UnionOptions{Now: func() time.Time { return *now }})
	check(t, err)
	return u
}

func TestUnionPaths(t *testing.T) {
	now := time.Now()
	cluster := files("kube:Role/a/r")
	cluster.Origins = []Origin{{Cluster: true, Unserved: []string{"Gateway.g"}}}
	u := union(t, &now, map[string]*fixed{
		"/srv/b": {snapshot: files("x.yaml", "y.yaml"), list: diag.List{{Position: diag.Position{File: "bad.yaml"}}}},
		"/srv/a": {snapshot: files("x.yaml")},
		"kube:":  {snapshot: cluster},
	})
	got, list, err := u.Snapshot(t.Context())
	check(t, err)
	var paths []string
	for _, f := range got.Files {
		paths = append(paths, got.Origins[f.Origin].Name+" "+f.Path)
	}
	wantEqual(t, "paths", paths, []string{"a a/x.yaml", "b b/x.yaml", "b b/y.yaml", "kube: kube:Role/a/r"})
	if len(list) != 1 || list[0].File != "b/bad.yaml" {
		t.Errorf("got %v, want a diagnostic of b/bad.yaml", list)
	}
	if o := got.Origins[2]; !o.Cluster || len(o.Unserved) != 1 {
		t.Errorf("got %+v, want what the cluster reported", o)
	}
}

// The only source is not named: paths are what they are in it.
func TestUnionOfOne(t *testing.T) {
	now := time.Now()
	failing := &fixed{snapshot: files("x.yaml")}
	u := union(t, &now, map[string]*fixed{"/srv/a": failing})
	got, _, err := u.Snapshot(t.Context())
	check(t, err)
	if got.Files[0].Path != "x.yaml" {
		t.Errorf("got %q", got.Files[0].Path)
	}
	failing.err = errors.New("gone")
	if _, _, err := u.Snapshot(t.Context()); err == nil || err.Error() != "gone" {
		t.Errorf("got %v, want the error of the source", err)
	}
}

func TestUnreadableSourceKeepsItsLastSnapshot(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	a, b := &fixed{snapshot: files("x.yaml")}, &fixed{err: errors.New("forbidden")}
	u := union(t, &now, map[string]*fixed{"/srv/a": a, "/srv/b": b})
	if _, _, err := u.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "b: forbidden") {
		t.Fatalf("got %v, want an error: nothing is known of b", err)
	}
	b.snapshot, b.err = files("y.yaml"), nil
	_, _, err := u.Snapshot(t.Context())
	check(t, err)
	before := now
	now = now.Add(time.Minute)
	a.snapshot, b.err = files("x.yaml", "z.yaml"), errors.New("gone")
	got, _, err := u.Snapshot(t.Context())
	check(t, err)
	if len(got.Files) != 3 || got.Stale == nil || !strings.Contains(got.Stale.Error(), "b: gone") {
		t.Errorf("got %d files, stale %v; want 3 files, and b named", len(got.Files), got.Stale)
	}
	s := u.Status()
	if s[0].Stale != 0 || !s[0].ReadAt.Equal(now) || s[1].Stale != 60 || s[1].Error != "gone" || !s[1].ReadAt.Equal(before) || s[1].Files != 1 {
		t.Errorf("got %+v", s)
	}
	a.err = errors.New("gone too")
	if _, _, err := u.Snapshot(t.Context()); err == nil {
		t.Error("no source can be read: got no error")
	}
	a.err, b.err = nil, nil
	if got, _, err = u.Snapshot(t.Context()); err != nil || got.Stale != nil {
		t.Errorf("got %v, stale %v after recovery", err, got.Stale)
	}
}

func TestUnionWatch(t *testing.T) {
	now := time.Now()
	a, b := &fixed{}, &fixed{}
	u := union(t, &now, map[string]*fixed{"/srv/a": a, "/srv/b": b})
	ctx, cancel := context.WithCancel(t.Context())
	notices := make(chan struct{}, 8)
	ended := make(chan error, 1)
	go func() { ended <- u.Watch(ctx, func() { notices <- struct{}{} }) }()
	<-notices
	<-notices
	cancel()
	check(t, <-ended)
	b.err = errors.New("no watches left")
	if err := u.Watch(t.Context(), func() {}); err == nil || err.Error() != "b: no watches left" {
		t.Errorf("got %v, want the error of b", err)
	}
}

// A change of one source does not fetch another.
func TestUnionReadsWhatChanged(t *testing.T) {
	now := time.Now()
	a, b := &fixed{snapshot: files("x.yaml")}, &fixed{snapshot: files("y.yaml")}
	u := union(t, &now, map[string]*fixed{"/srv/a": a, "/srv/b": b})
	ctx, cancel := context.WithCancel(t.Context())
	notices := make(chan struct{}, 8)
	ended := make(chan error, 1)
	read := func(what string, wantA, wantB int) {
		t.Helper()
		if _, _, err := u.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.reads != wantA || b.reads != wantB {
			t.Errorf("%s: got %d and %d reads, want %d and %d", what, a.reads, b.reads, wantA, wantB)
		}
	}
	read("without a watch", 1, 1)
	read("without a watch, again", 2, 2)
	go func() { ended <- u.Watch(ctx, func() { notices <- struct{}{} }) }()
	<-notices
	<-notices
	read("at the begin of the watch", 3, 3)
	read("without a change", 3, 3)
	a.notify()
	read("after a change of a", 4, 3)
	a.notify()
	a.err = errors.New("gone")
	read("a fails", 5, 3)
	read("a may be readable again", 6, 3)
	cancel()
	check(t, <-ended)
	a.err = nil
	read("after the watch", 7, 4)
}

func TestPanicOfASourceIsAnError(t *testing.T) {
	now := time.Now()
	u := union(t, &now, map[string]*fixed{"/srv/a": {panics: true}})
	if _, _, err := u.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "an index out of range") {
		t.Errorf("got %v", err)
	}
}

// The order of the arguments does not change what is read.
func TestUnionKeepsOrder(t *testing.T) {
	dirs := []string{newTree(t, map[string]string{"a.yaml": "a"}), newTree(t, map[string]string{"a.yaml": "b"})}
	var keys []string
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		var members []Member
		for _, i := range order {
			dir := filepath.Join(dirs[i])
			members = append(members, Member{Location{Dir: dir}, Dir(dir, DirOptions{})})
		}
		u, err := Join(members, UnionOptions{})
		check(t, err)
		s, _, err := u.Snapshot(t.Context())
		check(t, err)
		keys = append(keys, s.Key())
	}
	if keys[0] != keys[1] {
		t.Error("the key depends on the order of the sources")
	}
}

// Files are sorted by their paths in the union, whatever the names of the sources are.
func TestUnionSortsFiles(t *testing.T) {
	snapshots := map[string]Snapshot{"a": files("b/z.yaml", "x.yaml"), "a-b": files("y.yaml"), "a/b": files("x.yaml"), "a0": files("x.yaml")}
	var members []Member
	for name, snapshot := range snapshots {
		members = append(members, Member{Location{Dir: name}, &fixed{snapshot: snapshot}})
	}
	u, err := Join(members, UnionOptions{})
	check(t, err)
	s, _, err := u.Snapshot(t.Context())
	check(t, err)
	var got []string
	for _, f := range s.Files {
		got = append(got, s.Origins[f.Origin].Name+" "+f.Path)
	}
	if want := "a-b a-b/y.yaml, a/b a/b/x.yaml, a a/b/z.yaml, a a/x.yaml, a0 a0/x.yaml"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}
