package cache

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

func newAuthorizations(n *worlds, o VisibilityOptions) *Cache {
	return New(Options{Now: n.now, Visibility: o}, metrics.New())
}

func see(user string, groups ...string) *decision.VisibilityRequest {
	return &decision.VisibilityRequest{User: user, Groups: groups, Cluster: decision.Cluster{Name: "c"}}
}

func at(second int64) time.Time { return time.Unix(second, 0) }

// Requests share an entry if and only if principal, cluster, action and type are equal.
func TestAuthorizationKey(t *testing.T) {
	same := []decision.VisibilityRequest{
		{User: "u", Groups: []string{"a", "b"}, Cluster: decision.Cluster{Name: "c"}},
		{User: "u", Groups: []string{"b", "", "a", "b"}, Cluster: decision.Cluster{Name: "c", Labels: map[string]string{}}},
		{User: "u", Groups: []string{"a", "b"}, Action: "view", Cluster: decision.Cluster{Name: "c"}, ServiceAccount: decision.ServiceAccount{Name: "n"}},
		{User: "u", Groups: []string{"a", "b"}, Cluster: decision.Cluster{Name: "c"}, Items: &[]decision.Item{{}}, Metrics: map[string]any{}},
	}
	for i := range same {
		if string(same[i].AppendKey(nil)) != string(same[0].AppendKey(nil)) {
			t.Errorf("request %d has another key than the first", i)
		}
	}
	keys := map[string]int{}
	for i, r := range []decision.VisibilityRequest{
		{},
		{User: "u"},
		{User: "u", Groups: []string{"a", "b"}},
		{User: "u", Groups: []string{"a,b"}},
		{User: "u:a", Groups: []string{"b"}},
		{User: "u", Groups: []string{"a:b"}},
		{User: "u", Groups: []string{"a"}, Action: "b"},
		{User: "u", Groups: []string{"a"}, Type: "b"},
		{User: "u", ServiceAccount: decision.ServiceAccount{Namespace: "a", Name: "b"}},
		{User: "u", ServiceAccount: decision.ServiceAccount{Namespace: "ab", Name: "b"}},
		{ServiceAccount: decision.ServiceAccount{Namespace: "a", Name: "b"}},
		{User: "system:serviceaccount:a:b"},
		{User: "u", Action: "viewMetrics"},
		{User: "u", Cluster: decision.Cluster{Name: "c"}},
		{User: "u", Type: "c"},
		{User: "u", Cluster: decision.Cluster{Labels: map[string]string{"c": ""}}},
		{User: "u", Cluster: decision.Cluster{Labels: map[string]string{"": "c"}}},
		{User: "u", Cluster: decision.Cluster{Labels: map[string]string{"a": "b", "c": "d"}}},
		{User: "u", Cluster: decision.Cluster{Labels: map[string]string{"a": "b", "cd": ""}}},
		{User: "u", Groups: []string{"a", "b"}, Cluster: decision.Cluster{Labels: map[string]string{"c": "d"}}},
		{User: "u", Groups: []string{"a"}, Cluster: decision.Cluster{Labels: map[string]string{"b": "c", "d": ""}}},
	} {
		key := string(r.AppendKey(nil))
		if j, found := keys[key]; found {
			t.Errorf("requests %d and %d have the same key", j, i)
		}
		keys[key] = i
	}
}

func TestShown(t *testing.T) {
	for _, row := range []struct {
		r    decision.VisibilityRequest
		want string
	}{
		{decision.VisibilityRequest{User: "u", Groups: []string{"b", "a", "b", ""}, Cluster: decision.Cluster{Name: "c"}}, "rbac:decision:u:a,b:view:c"},
		{decision.VisibilityRequest{User: "u", Action: "viewMetrics", Type: "pods", Cluster: decision.Cluster{Name: "c"}}, "rbac:decision:u::viewMetrics:c/pods"},
		{decision.VisibilityRequest{User: "u", Groups: []string{"g"}, Type: "pvc", Cluster: decision.Cluster{Name: "c"}}, "rbac:custom:u:g:pvc:c:view"},
		{decision.VisibilityRequest{User: "u", Groups: []string{"g"}, Type: "pvc"}, "rbac:custom:u:g:pvc:all:view"},
		{decision.VisibilityRequest{ServiceAccount: decision.ServiceAccount{Namespace: "n", Name: "a"}, Type: "pvc"}, "rbac:custom:system:serviceaccount:n:a::pvc:all:view"},
	} {
		if got := shown(&row.r); got != row.want {
			t.Errorf("got %s, want %s", got, row.want)
		}
	}
}

// An authorization is cached until its TTL ends or a policy of the principal begins or
// has ended. It is not used before the instant of its evaluation if the clock is set
// back.
func TestAuthorizationExpiry(t *testing.T) {
	bounded := map[string]pass{"p": {names: []string{"u"}, from: at(100), until: at(200)}}
	for _, row := range []struct {
		name   string
		passes map[string]pass
		asked  []int64 // at these seconds
		want   int64   // evaluations
	}{
		{"the same instant", nil, []int64{5, 5, 5}, 1},
		{"until the TTL", nil, []int64{5, 64, 65, 66}, 2},
		{"a policy begins", bounded, []int64{50, 99, 100, 101}, 2},
		{"at its last instant", bounded, []int64{190, 200}, 1},
		{"just after it", bounded, []int64{190, 201, 202}, 2},
		{"the clock is set back", bounded, []int64{150, 99, 149, 150, 120}, 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := newWorlds(&world{revision: "1", passes: row.passes})
			c := newAuthorizations(n, VisibilityOptions{Entries: 10, TTL: time.Minute})
			for _, second := range row.asked {
				n.clock.Store(second)
				got := c.Of(n.current()).Visibility(t.Context(), see("u"))
				count := n.asked.Load()
				if want := n.current().Visibility(t.Context(), see("u")); got.Decision != want.Decision || got.Reason != want.Reason {
					t.Errorf("at %d: got %+v, want %+v", second, got, want)
				}
				n.asked.Store(count)
			}
			if got := n.asked.Load(); got != row.want {
				t.Errorf("got %d evaluations, want %d", got, row.want)
			}
		})
	}
}

// A new revision drops the authorizations of principals that a changed policy named or
// names, and no others.
func TestAuthorizationsOutliveRevisions(t *testing.T) {
	account := &decision.VisibilityRequest{ServiceAccount: decision.ServiceAccount{Namespace: "n", Name: "a"}, Cluster: decision.Cluster{Name: "c"}}
	custom := &decision.VisibilityRequest{User: "other", Type: "pvc", Cluster: decision.Cluster{Name: "c"}}
	everywhere := &decision.VisibilityRequest{User: "other", Type: "pvc"}
	requests := map[string]*decision.VisibilityRequest{
		"alice": see("alice"), "al*": see("al*"), "bob of dev": see("bob", "dev"), "bob of dev and ops": see("bob", "ops", "dev"),
		"carol of DEV": see("carol", "DEV"), "account": account, "pvc": custom, "any pvc": everywhere, "unbound": see("unbound"),
	}
	before := &world{revision: "1", passes: map[string]pass{
		"named": {names: []string{"alice"}, says: "x"}, "grouped": {groups: []string{"dev"}, says: "x"},
		"accounts": {names: []string{"system:serviceaccount:n:a"}, says: "x"},
	}, sources: map[string]string{"pvc": "x"}}
	for _, row := range []struct {
		name   string
		change func(w *world)
		want   []string // asked anew
	}{
		{"nothing", func(*world) {}, nil},
		{"lines", func(w *world) { w.passes["named"] = pass{names: []string{"alice"}, says: "x", line: 7} }, nil},
		{"the decision of a policy", func(w *world) { w.passes["named"] = pass{names: []string{"alice"}, says: "y"} }, []string{"alice"}},
		{"a pattern of a name", func(w *world) { w.passes["star"] = pass{names: []string{"al*"}} }, []string{"al*"}},
		{"a group", func(w *world) { w.passes["grouped"] = pass{groups: []string{"dev"}, says: "y"} }, []string{"bob of dev", "bob of dev and ops"}},
		{"a policy begins later", func(w *world) { w.passes["named"] = pass{names: []string{"alice"}, says: "x", from: at(99)} }, []string{"alice"}},
		{"a policy is removed", func(w *world) { delete(w.passes, "accounts") }, []string{"account"}},
		{"a policy names another principal", func(w *world) { w.passes["named"] = pass{names: []string{"unbound"}, says: "x"} }, []string{"alice", "unbound"}},
		{"a policy is renamed", func(w *world) { w.passes["renamed"] = w.passes["named"]; delete(w.passes, "named") }, []string{"alice"}},
		{"a source", func(w *world) { w.sources["pvc"] = "y" }, []string{"any pvc", "pvc"}},
		{"no source", func(w *world) { delete(w.sources, "pvc") }, []string{"any pvc", "pvc"}},
		{"a source of another type", func(w *world) { w.sources["vm"] = "y" }, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := newWorlds(before)
			c := newAuthorizations(n, VisibilityOptions{Entries: 100})
			for _, r := range requests {
				c.Of(n.current()).Visibility(t.Context(), r)
			}
			after := before.copy("2")
			row.change(after)
			n.world.Store(after)
			var asked []string
			for name, r := range requests {
				count := n.asked.Load()
				got := c.Of(n.current()).Visibility(t.Context(), r)
				if n.asked.Load() > count {
					asked = append(asked, name)
				} else if !got.Cached {
					t.Errorf("%s: a kept authorization is not marked", name)
				}
				got.Cached = false
				if want := n.current().Visibility(t.Context(), r); !isSame(got, want) {
					t.Errorf("%s: got %+v, want %+v", name, got, want)
				}
			}
			slices.Sort(asked)
			if !slices.Equal(asked, row.want) {
				t.Errorf("evaluated again for %q, want %q", asked, row.want)
			}
		})
	}
}

// An authorization is not cached for a revision that was activated during its
// evaluation.
func TestAuthorizationOfEarlierRevision(t *testing.T) {
	first := &world{revision: "1", passes: map[string]pass{"p": {names: []string{"u"}, says: "old"}}}
	n := newWorlds(first)
	c := newAuthorizations(n, VisibilityOptions{Entries: 10})
	second := first.copy("2")
	second.passes["p"] = pass{names: []string{"u"}, says: "new"}
	n.meanwhile = func() {
		n.meanwhile = nil
		n.world.Store(second)
		c.Of(n.current()).Visibility(t.Context(), see("another")) // the cache learns of it
	}
	if got := c.Of(n.current()).Visibility(t.Context(), see("u")); got.Revision != "1" {
		t.Fatalf("got an answer of %s, want 1", got.Revision)
	}
	if got := c.Of(n.current()).Visibility(t.Context(), see("u")); got.Revision != "2" || !strings.HasPrefix(got.Reason, "new") {
		t.Errorf("got %+v, want the new answer", got)
	}
}

// A request that began on an earlier revision is answered by that revision, and does not
// affect requests on the later one.
func TestAuthorizationsOfTwoRevisions(t *testing.T) {
	first := &world{revision: "1", passes: map[string]pass{"p": {names: []string{"u"}, says: "old"}, "q": {names: []string{"v"}, says: "same"}}}
	n := newWorlds(first)
	c := newAuthorizations(n, VisibilityOptions{Entries: 10})
	before := n.current()
	second := first.copy("2")
	second.passes["p"] = pass{names: []string{"u"}, says: "new"}
	n.world.Store(second)
	for range 3 {
		for _, p := range []revision{before, n.current()} {
			for _, user := range []string{"u", "v"} {
				got, want := c.Of(p).Visibility(t.Context(), see(user)), p.Visibility(t.Context(), see(user))
				got.Cached = false
				if !isSame(got, want) {
					t.Errorf("revision %s, %s: got %+v, want %+v", p.Loaded().Revision, user, got, want)
				}
			}
		}
	}
}

// If the clock is set back after an evaluation, the authorization is not used.
func TestAuthorizationOfLaterTime(t *testing.T) {
	n := newWorlds(&world{revision: "1", passes: map[string]pass{"p": {names: []string{"u"}, from: at(100)}}})
	c := newAuthorizations(n, VisibilityOptions{Entries: 10})
	n.clock.Store(150)
	n.afterwards = func() { n.clock.Store(99) }
	c.Of(n.current()).Visibility(t.Context(), see("u"))
	if got := c.Of(n.current()).Visibility(t.Context(), see("u")); got.Decision != decision.VisibleNone {
		t.Errorf("got %s before the policy begins", got.Decision)
	}
}

func TestForget(t *testing.T) {
	n := newWorlds(&world{revision: "1"})
	var log bytes.Buffer
	c := newAuthorizations(n, VisibilityOptions{
		Entries: 100, TTL: time.Minute, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	fill := func() {
		for _, user := range []string{"alice", "al*", "a?", "bob", "[ab]", `b\`, "ALICE", "system:serviceaccount:n:a"} {
			c.Of(n.current()).Visibility(t.Context(), see(user))
			c.Of(n.current()).Visibility(t.Context(), see(user, "g"))
			c.Of(n.current()).Visibility(t.Context(), &decision.VisibilityRequest{User: user, Groups: []string{"alice"}, Type: "pvc"})
		}
		c.Of(n.current()).Visibility(t.Context(), &decision.VisibilityRequest{ServiceAccount: decision.ServiceAccount{Namespace: "n", Name: "a"}})
	}
	for _, row := range []struct {
		user string
		want int
	}{{"alice", 3}, {"al*", 3}, {"*", 0}, {"", 0}, {"a?", 3}, {"[ab]", 3}, {`b\`, 3}, {"system:serviceaccount:n:a", 4}, {"a", 0}} {
		fill()
		before := c.authorizations.kept.Len()
		got := c.Forget(n.current(), row.user)
		if left := before - c.authorizations.kept.Len(); got != row.want || left != row.want {
			t.Errorf("%q: got %d, and %d are gone, want %d", row.user, got, left, row.want)
		}
	}
	if want := "key=rbac:custom:alice:alice:pvc:all:view"; !strings.Contains(log.String(), want) {
		t.Errorf("the log has no %s", want)
	}
	fill()
	n.clock.Add(3600)
	if got := c.Forget(n.current(), "alice"); got != 0 {
		t.Errorf("got %d expired entries, want none", got)
	}
	if got := newAuthorizations(n, VisibilityOptions{}).Forget(n.current(), "alice"); got != 0 {
		t.Errorf("got %d without a cache", got)
	}
}

// Every caller may drop its entries, so that it takes no time for those of others; and no name
// outlives its entries.
func TestForgetDoesNotVisitOthers(t *testing.T) {
	n := newWorlds(&world{revision: "1"})
	c := newAuthorizations(n, VisibilityOptions{Entries: 1000, TTL: time.Minute})
	for i := range 2000 {
		c.Of(n.current()).Visibility(t.Context(), see("user"+strconv.Itoa(i%1500)))
	}
	kept, named := c.authorizations.kept, c.authorizations.named
	if got := testing.AllocsPerRun(10, func() { c.Forget(n.current(), "another") }); got > 5 {
		t.Errorf("got %g allocations beside %d entries of others", got, kept.Len())
	}
	if len(named) != kept.Len() {
		t.Errorf("got %d names of %d entries", len(named), kept.Len())
	}
	for _, key := range kept.Keys() {
		kept.Remove(key)
	}
	if len(named) != 0 {
		t.Errorf("got %d names without entries", len(named))
	}
}

func TestAuthorizationsAreNotCachedByDefault(t *testing.T) {
	n := newWorlds(&world{revision: "1"})
	c := New(Options{Entries: 10, Now: n.now}, metrics.New())
	for range 2 {
		c.Of(n.current()).Visibility(t.Context(), see("u"))
	}
	if got := n.asked.Load(); got != 2 {
		t.Errorf("got %d evaluations, want 2", got)
	}
}

// An authorization is cached for any items, unless it has an evaluation error.
func TestAuthorizationsAreCounted(t *testing.T) {
	n := newWorlds(&world{revision: "1", passes: map[string]pass{"p": {names: []string{"u"}}}})
	m := metrics.New()
	c := New(Options{Now: n.now, Visibility: VisibilityOptions{Entries: 10}}, m)
	r := see("u")
	for _, items := range [][]decision.Item{nil, {{Name: "a"}, {Name: "b"}}, {{Name: "a"}}} {
		r.Items = &items
		c.Of(n.current()).Visibility(t.Context(), r)
	}
	if got := n.asked.Load(); got != 1 {
		t.Errorf("got %d evaluations, want 1", got)
	}
	r.Action = "fail"
	for range 2 {
		c.Of(n.current()).Visibility(t.Context(), r)
	}
	if got := n.asked.Load(); got != 3 {
		t.Errorf("got %d evaluations, want those that failed to be repeated", got)
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{"writ_cache_hits_total 2", "writ_cache_misses_total 3", "writ_cache_entries 1"} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("got no line %q", want)
		}
	}
}

func TestAuthorizationMemoryIsBounded(t *testing.T) {
	const bound = 256 << 10
	n := newWorlds(&world{revision: "1", passes: map[string]pass{"p": {groups: []string{"g"}}}})
	c := newAuthorizations(n, VisibilityOptions{Entries: 1 << 20, Bytes: bound})
	for i := range 2000 {
		c.Of(n.current()).Visibility(t.Context(), see(fmt.Sprint(i, strings.Repeat("n", i%900)), "g"))
		sum := 0
		for _, e := range c.authorizations.kept.Values() {
			sum += e.weight
		}
		if sum != c.authorizations.weight || sum > bound {
			t.Fatalf("got %d bytes of entries, counted as %d, want at most %d", sum, c.authorizations.weight, bound)
		}
	}
	kept := c.authorizations.kept.Len()
	if kept < 50 {
		t.Errorf("got only %d entries", kept)
	}
	c.Of(n.current()).Visibility(t.Context(), see(strings.Repeat("n", bound/64), "g"))
	if got := c.authorizations.kept.Len(); got != kept {
		t.Errorf("got %d entries after one that is too large, want %d", got, kept)
	}
}

// After any changes of documents, clock and cache, a cached authorization equals a new
// one.
func TestCachedAuthorizationsAreFresh(t *testing.T) {
	hits := int64(0)
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		names := []string{"a", "b", "a*", "system:serviceaccount:n:a", "d"}
		groups := []string{"g", "h", "g,h", ""}
		some := func(list []string) (out []string) {
			for _, name := range list {
				if random.IntN(3) == 0 {
					out = append(out, name)
				}
			}
			return out
		}
		instant := func() time.Time {
			if random.IntN(2) == 0 {
				return time.Time{}
			}
			return at(random.Int64N(300))
		}
		requests := make([]*decision.VisibilityRequest, 30)
		for i := range requests {
			requests[i] = &decision.VisibilityRequest{
				User: append(names, "")[random.IntN(len(names)+1)], Groups: some(groups),
				Type: []string{"", "pvc", "pods"}[random.IntN(3)], Cluster: decision.Cluster{Name: "c"},
			}
			if random.IntN(4) == 0 {
				requests[i].ServiceAccount = decision.ServiceAccount{Namespace: "n", Name: "a"}
			}
		}
		n := newWorlds(&world{revision: "0"})
		c := newAuthorizations(n, VisibilityOptions{Entries: 20, TTL: 50 * time.Second})
		for step := range 600 {
			switch random.IntN(40) {
			case 0:
				w := n.world.Load().copy(fmt.Sprint(step))
				w.passes[fmt.Sprint(random.IntN(4))] = pass{some(names), some(groups), instant(), instant(), fmt.Sprint(random.IntN(2)), random.IntN(9)}
				n.world.Store(w)
			case 1:
				w := n.world.Load().copy(fmt.Sprint(step))
				delete(w.passes, fmt.Sprint(random.IntN(4)))
				w.sources["pvc"] = fmt.Sprint(random.IntN(3))
				n.world.Store(w)
			case 2:
				n.clock.Add(random.Int64N(30))
			case 3:
				n.clock.Store(random.Int64N(300))
			case 4:
				c.Forget(n.current(), names[random.IntN(len(names))])
			default:
				r := requests[random.IntN(len(requests))]
				before := n.asked.Load()
				got := c.Of(n.current()).Visibility(t.Context(), r)
				if n.asked.Load() == before {
					hits++
				}
				want := n.current().Visibility(t.Context(), r)
				if got.Cached != (n.asked.Load() == before+1) {
					t.Fatalf("seed %d, step %d: got cached %t", seed, step, got.Cached)
				}
				got.Expires, got.Cached = want.Expires, false // of an earlier request, and no matter of the answer
				if !isSame(got, want) {
					t.Fatalf("seed %d, step %d: got %+v, want %+v of %+v", seed, step, got, want, r)
				}
			}
		}
	}
	if hits < 2000 {
		t.Errorf("got %d cached answers, want more", hits)
	}
}

// With concurrent callers and changes, each answer is that of a revision that was
// current between request and answer.
func TestAuthorizationsConcurrently(t *testing.T) {
	n := newWorlds(&world{revision: "0", passes: map[string]pass{"p": {names: []string{"u"}, says: "0"}}})
	c := newAuthorizations(n, VisibilityOptions{Entries: 8})
	var callers sync.WaitGroup
	var oldest, newest atomic.Int64
	for caller := range 8 {
		callers.Go(func() {
			for i := range 1000 {
				if caller == 0 && i%20 == 0 {
					next := newest.Add(1)
					w := n.world.Load().copy(fmt.Sprint(next))
					w.passes["p"] = pass{names: []string{"u"}, says: fmt.Sprint(next)}
					n.world.Store(w)
					oldest.Store(next)
				}
				from := oldest.Load()
				a := c.Of(n.current()).Visibility(t.Context(), see("u"))
				to := newest.Load()
				var said int64
				if _, err := fmt.Sscan(a.Reason, &said); err != nil || said < from || said > to {
					t.Errorf("got %+v between %d and %d", a, from, to)
				}
				c.Of(n.current()).Visibility(t.Context(), see(fmt.Sprint(i%13)))
				if i%50 == 0 {
					c.Forget(n.current(), "3")
				}
			}
		})
	}
	callers.Wait()
}

func BenchmarkAuthorizationHit(b *testing.B) {
	n := newWorlds(&world{revision: "1", passes: map[string]pass{"p": {groups: []string{"dev"}}}})
	c := newAuthorizations(n, VisibilityOptions{Entries: 10})
	r := see("alice@example.com", "dev", "ops", "all")
	r.Cluster.Labels = map[string]string{"env": "prod", "region": "eu"}
	var p decision.Policies = n.current()
	b.ReportAllocs()
	for b.Loop() {
		if c.Of(p).Visibility(b.Context(), r).Decision == decision.VisibleNone {
			b.Fatal("denied")
		}
	}
}

// isSame compares authorizations and their JSON forms: one that got has already must be that
// of its fields.
func isSame(got, want decision.Authorization) bool {
	if got.Encoded == nil {
		got.Encode()
	}
	want.Encode()
	return reflect.DeepEqual(got, want)
}
