package agreement

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/settings"
)

// timelines are random worlds with dates, decided at the instants around each bound.
func timelines() int { return max(2, gate.Times(1)/5) }

// Requests and instants of one world, and how many of the decisions a stock OPA makes too:
// one of so many.
const (
	requestsOnTimeline = 150
	stepsOnTimeline    = 12
	stockOnTimeline    = 25
)

// TestTimelines wants the engine, a stock OPA and the oracle to decide alike around each
// instant at which a document begins or ends, and a cache to answer as the engine does while
// the clock goes forth and back.
func TestTimelines(t *testing.T) {
	t.Parallel()
	instants := access.Instants()
	differ, kept := 0, 0
	for seed := firstWorld(); seed < firstWorld()+uint64(timelines()); seed++ {
		g := random.New(seed, 10)
		files, world := access.GenerateDated(seed)
		if g.Once(2) {
			world.Prefixes = []string{"system:", "d"} // with which groups of sessions are those of bindings
		}
		now := instants[0]
		clock := func() time.Time { return now }
		r := revised{t: t, world: world, clock: clock, cache: cache.New(cache.Options{Entries: 10_000, Now: clock}, metrics.New())}
		for i, list := range r.sessions(g) {
			r.bundles[i] = r.build(files, list)
			r.stocks[i] = stockOPA(t, r.bundles[i])
		}
		r.next()
		for i, request := range world.Requests(requestsOnTimeline) {
			text := request.JSON()
			seen := make(map[string]bool)
			at := g.IntN(len(instants))
			for step := range stepsOnTimeline {
				if g.Once(6) {
					r.next()
				}
				embedded, cached, stock := r.engine, r.cached, r.stocks[r.at]
				if g.Once(4) {
					at = g.IntN(len(instants))
				} else {
					at = (at + 1) % len(instants)
				}
				now = instants[at]
				world.Now = now
				where := fmt.Sprintf("world %d, request %d at %s %s", seed, i, now.Format(time.RFC3339Nano), text)
				want := ofOracle(world.Decide(request))
				got, _ := ofEngine(t, embedded, text)
				if !begin(got.Warnings, want.Warnings) {
					t.Fatalf("%s\nengine %q\noracle %q", where, got.Warnings, want.Warnings)
				}
				if want.Warnings = got.Warnings; !reflect.DeepEqual(got, want) {
					t.Fatalf("%s\nengine %+v\noracle %+v", where, got, want)
				}
				seen[got.outcome()+got.Reason] = true
				if r, err := decision.Decode([]byte(text)); err == nil {
					d := cached.Access(context.Background(), r)
					if of := ofDecision(d); !reflect.DeepEqual(of, got) {
						t.Fatalf("%s\ncache  %+v\nengine %+v", where, of, got)
					}
					if d.Cached {
						kept++
					}
				}
				if (i*stepsOnTimeline+step)%stockOnTimeline == 0 {
					if of := ofStockAt(t, stock, text, now); !reflect.DeepEqual(of, got) {
						t.Fatalf("%s\nOPA    %+v\nengine %+v", where, of, got)
					}
				}
			}
			if len(seen) > 1 {
				differ++
			}
		}
	}
	if differ == 0 || kept == 0 {
		t.Errorf("the time changed %d decisions, and %d were cached", differ, kept)
	}
	t.Logf("the time changed the decisions on %d requests; %d decisions were cached", differ, kept)
}

// revised is a directory that changes between two revisions, which differ in sessions.
type revised struct {
	t     *testing.T
	world *access.World
	clock func() time.Time
	cache *cache.Cache

	lists   [2][]*oracle.Session
	bundles [2]*bundles.Bundle
	stocks  [2]rego.PreparedEvalQuery
	at      int
	engine  *engine.Engine
	cached  decision.Policies
}

// sessions draws what differs: sessions for a user who has some, or for another one.
func (r *revised) sessions(g random.Source) [2][]*oracle.Session {
	for i := range 1 + g.IntN(3) {
		s := oracle.Session{User: g.One(random.Users), Cluster: "dev", Group: "ops", State: "Approved", Expires: "2026-03-01T09:00:00Z"}
		if len(r.world.Sessions) > 0 && !g.Once(4) {
			s = *r.world.Sessions[g.IntN(len(r.world.Sessions))]
		}
		s.Name, s.Source = fmt.Sprintf("z-%d", i), fmt.Sprintf("z.yaml:%d", 3*i+1)
		s.Namespace, s.Owners, s.Policies, s.IdleMinutes = "", nil, nil, 0
		s.Scheduled, s.Approved, s.Started, s.Rejected = "", "", "", ""
		r.lists[1] = append(r.lists[1], &s)
		if g.Once(2) {
			ends := s
			ends.Expires = "2026-03-01T10:00:00Z"
			r.lists[0] = append(r.lists[0], &ends)
		}
	}
	return r.lists
}

// build builds the documents and sessions.
func (r *revised) build(files map[string]string, sessions []*oracle.Session) *bundles.Bundle {
	r.t.Helper()
	all := maps.Clone(files)
	var text strings.Builder
	for _, s := range sessions {
		s.Source = fmt.Sprintf("z.yaml:%d", 1+strings.Count(text.String(), "\n"))
		fmt.Fprintf(&text, `{"apiVersion":"breakglass.t-caas.telekom.com/v1alpha1","kind":"BreakglassSession","metadata":{"name":%q},`+
			`"spec":{"cluster":%q,"user":%q,"grantedGroup":%q,"identityProviderIssuer":%q,"allowIDPMismatch":%v},`+
			`"status":{"state":%q,"expiresAt":%s}}`+"\n---\n", s.Name, s.Cluster, s.User, s.Group, s.Issuer, s.AnyIssuer, s.State, orNull(s.Expires))
	}
	all["z.yaml"] = text.String()
	o := translator.Options{AllowEmpty: true, Settings: settings.Settings{settings.SessionGroupPrefixes: {Text: strings.Join(r.world.Prefixes, ",")}}}
	result, list := translator.New(o).Translate(context.Background(), snapshotOf(all))
	if result == nil {
		r.t.Fatalf("the documents do not compile: %+v", list)
	}
	built, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return built
}

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return strconv.Quote(text)
}

// next activates the other revision.
func (r *revised) next() {
	r.t.Helper()
	kept := len(r.world.Sessions) - len(r.lists[r.at])
	if r.engine == nil {
		kept = len(r.world.Sessions)
	}
	r.at = 1 - r.at
	r.world.Sessions = append(slices.Clip(r.world.Sessions[:kept]), r.lists[r.at]...)
	now, err := engine.Activate(context.Background(), r.bundles[r.at], engine.Options{Now: r.clock, Last: r.engine})
	if err != nil {
		r.t.Fatal(err)
	}
	r.engine, r.cached = now, r.cache.Of(now)
}

// ofStockAt is ofStock at an instant.
func ofStockAt(t *testing.T, query rego.PreparedEvalQuery, text string, now time.Time) answer {
	t.Helper()
	return ofStock(t, query, text, rego.EvalTime(now))
}
