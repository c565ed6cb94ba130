package match

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/writ-policy/writ/translator/tables"
)

// Sessions come, change and go, and the index of each table made from that of the one before
// has what an index made anew has.
func TestSessionsAreIndexedAgain(t *testing.T) {
	table := func(sessions, debug []string) *tables.Sessions {
		rows, pods, held := map[string]tables.Session{}, map[string]tables.DebugSession{}, map[string]tables.Held{}
		for _, user := range sessions {
			rows["s-"+user] = tables.Session{Name: "s-" + user, Cluster: "c", User: user, Issuer: user}
			held[user] = tables.Held{Sessions: []string{"s-" + user}}
		}
		for _, user := range debug {
			pods["d-"+user] = tables.DebugSession{Name: "d-" + user, Cluster: "c", Participants: []tables.Participant{{User: user}}}
			held[user] = tables.Held{Sessions: held[user].Sessions, Debug: []string{"d-" + user}}
		}
		return &tables.Sessions{
			Sessions: tables.MapOf(rows), Debug: tables.MapOf(pods),
			Holders: tables.MapOf(map[string]tables.Map[tables.Held]{"c": tables.MapOf(held)}),
		}
	}
	var last *Sessions
	for i, now := range []*tables.Sessions{
		table([]string{"a", "b"}, []string{"b"}),
		table([]string{"a"}, []string{"b", "c"}),
		table([]string{"b", "c"}, nil),
		table(nil, nil),
		table([]string{"a"}, []string{"a"}),
	} {
		last = IndexSessions(now, last)
		anew := IndexSessions(now, nil)
		for _, user := range []string{"a", "b", "c", "d"} {
			if got, want := last.Of("c", user), anew.Of("c", user); !reflect.DeepEqual(got, want) {
				t.Errorf("table %d, %s: got %+v, want %+v", i, user, got, want)
			}
			held := now.Holders.At("c").At(user)
			if got := last.Of("c", user); len(got.Sessions) != len(held.Sessions) || len(got.Debug) != len(held.Debug) {
				t.Errorf("table %d, %s: got %+v, want those of %+v", i, user, got, held)
			}
			if named := last.Named("s-" + user); (named != nil) != now.Sessions.Has("s-"+user) {
				t.Errorf("table %d: s-%s is %+v", i, user, named)
			}
		}
		if got := last.Of("d", "a"); len(got.Sessions)+len(got.Debug) > 0 {
			t.Errorf("table %d, another cluster: got %+v", i, got)
		}
	}
}

// Sessions of ever new users, on the same and on other clusters, do not fill the index, and each
// is found while it is held.
func TestUsersComeAndGo(t *testing.T) {
	var held holders
	for i := range 10_000 {
		h := holder{cluster: string(rune('a' + i%3)), user: strconv.Itoa(i / 3)}
		before := held
		held = held.clone()
		held.set(&Held{holder: h, Sessions: []Session{{Session: &tables.Session{User: h.user, Cluster: h.cluster}}}})
		if got := held.find(h); len(got.Sessions) != 1 || got.Sessions[0].User != h.user || got.Sessions[0].Cluster != h.cluster {
			t.Fatalf("%+v is held, got %+v", h, got)
		}
		if got := before.find(h); len(got.Sessions) != 0 {
			t.Fatalf("%+v is held before: %+v", h, got)
		}
		held.set(&Held{holder: h})
		if got := held.find(h); len(got.Sessions) != 0 {
			t.Fatalf("%+v is not held any more, got %+v", h, got)
		}
	}
	if len(held.entries) > 64 {
		t.Errorf("%d entries of none", len(held.entries))
	}
}
