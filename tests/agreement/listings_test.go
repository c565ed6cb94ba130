package agreement

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/oracle/visibility"
)

// eachView activates random worlds and calls ask with each request of them, at
// the request's time.
func eachView(t *testing.T, ask func(seed uint64, e *engine.Engine, views *visibility.World, r visibility.Request)) {
	for seed := firstWorld(); seed < firstWorld()+uint64(max(2, visibilityWorlds())); seed++ {
		files, views := visibility.Generate(seed)
		var now time.Time
		e, err := engine.Activate(context.Background(), build(t, seed, files), engine.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range views.Requests(requestsPerWorld * 2 / 5) {
			now = r.Now
			ask(seed, e, views, r)
		}
	}
}

// An authorization that is kept until it expires is never another than a fresh
// one: what the oracle decides at each instant before is the same.
func TestKeptVisibilityIsAsFresh(t *testing.T) {
	expiring, ended := 0, 0
	eachView(t, func(seed uint64, e *engine.Engine, views *visibility.World, r visibility.Request) {
		request, err := decodeVisibility([]byte(r.JSON()))
		if err != nil {
			t.Fatal(err)
		}
		expires := e.Visibility(context.Background(), request).Expires
		if !expires.IsZero() {
			expiring++
			if !expires.After(r.Now) {
				t.Fatalf("world %d at %s %s: expires at %s", seed, r.Now, r.JSON(), expires)
			}
		}
		r.Items, r.Metrics, r.Aggregations = nil, nil, nil
		want := written(t, views.Decide(r))
		for _, at := range views.Instants() {
			if !at.After(r.Now) {
				continue
			}
			fresh := r
			if fresh.Now = at; written(t, views.Decide(fresh)) == want {
				continue
			}
			if expires.IsZero() || at.Before(expires) {
				t.Fatalf("world %d at %s %s: kept until %s, but another at %s", seed, r.Now, r.JSON(), expires, at)
			}
			ended++
		}
	})
	if expiring == 0 || ended == 0 {
		t.Errorf("%d expired, %d became others", expiring, ended)
	}
}

// Who may discover which types, and which of their aggregations.
func TestTypesAgreeOnVisibility(t *testing.T) {
	t.Parallel()
	found := 0
	eachView(t, func(seed uint64, e *engine.Engine, views *visibility.World, r visibility.Request) {
		r.Account = visibility.ScopeAccount{}
		if r.User == "" {
			return
		}
		want := views.Types(r)
		listing := e.Lists().ListCustomTypes(context.Background(), decision.Principal{User: r.User, Groups: r.Groups})
		if listing.EvaluationError != "" || len(listing.Types) != len(want) {
			t.Fatalf("world %d at %s, %s of %q: got %+v, want %v", seed, r.Now, r.User, r.Groups, listing, want)
		}
		for i, kind := range listing.Types {
			names, there := want[kind.Type]
			slices.Sort(kind.Aggregations)
			if !there || !slices.Equal(kind.Aggregations, names) || i > 0 && listing.Types[i-1].Type >= kind.Type {
				t.Fatalf("world %d at %s, %s of %q: got %+v, want %v", seed, r.Now, r.User, r.Groups, kind, want)
			}
			found++
		}
	})
	if found == 0 {
		t.Error("no principal may discover anything")
	}
}
