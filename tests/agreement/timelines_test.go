package agreement

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/bundles"
	library "github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/settings"
)

// datedWorlds are random directories with dates and sessions, in which requestsOnTimeline
// requests have a timeline each.
func datedWorlds() int { return max(2, gate.Times(1)/5) }

// A stock OPA makes one of stockOnTimeline decisions, too. Before one of editsOnTimeline, the
// directory changes.
const (
	requestsOnTimeline = 150
	stockOnTimeline    = 60
	editsOnTimeline    = 200
)

// A timeline is one request, decided at each instant at which a document or session of its
// directory begins or ends and one nanosecond before and after, while the directory is edited and
// the clock goes forth, and sometimes back. The engine, a stock OPA and the oracle decide alike,
// and a cache answers as the engine does.
func TestTimelines(t *testing.T) {
	t.Parallel()
	var all walked
	for seed := firstWorld(); seed < firstWorld()+uint64(datedWorlds()); seed++ {
		d := newDatedDirectory(t, seed, honest)
		for i, request := range d.states[0].world.Requests(requestsOnTimeline) {
			if difference := d.walk(request); difference != "" {
				t.Fatalf("world %d, request %d %s", seed, i, difference)
			}
		}
		all.add(&d.walked)
	}
	if all.changed == 0 || all.fromCache == 0 || all.kept == 0 || all.stock == 0 {
		t.Errorf("a comparison has nothing to compare: %s", &all)
	}
	t.Log(&all)
}

// What the comparison of timelines is for: a session that still holds at its end, a decision that
// the cache keeps over an end, and a deny policy that sees the group of a session.
func TestSpoiltTimelinesAreNoticed(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]spoiling{
		"ends are inclusive": {
			path: "writ/access/dates/dates.rego",
			was:  `time.now_ns() < object.get(row.dates, "until", _end)`, is: `time.now_ns() <= object.get(row.dates, "until", _end)`,
		},
		"decisions are kept over ends": {policies: func(p decision.Policies) decision.Policies { return timeless{p} }},
		"deny policies see the groups of sessions": {
			path: "writ/access/access.rego",
			was:  `object.union(request.canonical, {null: `,
			is:   `object.union(request.canonical, {"groups": array.concat(request.canonical.groups, [group | some row in sessions.valid; some group in row.groups]), null: `,
			file: lentOverride, request: &oracle.Request{
				User: "bob", Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "shop", Name: "web-0", Cluster: "prod-1", Escalation: "fix",
				Pod: map[string]any{"metadata": map[string]any{"name": "web-0", "namespace": "shop"}, "spec": map[string]any{"hostNetwork": true, "containers": []any{map[string]any{"name": "c"}}}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatedDirectory(t, 1, with)
			requests := d.states[0].world.Requests(requestsOnTimeline)
			if with.request != nil {
				requests = []oracle.Request{*with.request}
			}
			for i, request := range requests {
				if difference := d.walk(request); difference != "" {
					t.Logf("noticed after %s: request %d %s", &d.walked, i, difference)
					return
				}
			}
			t.Errorf("not noticed: %s", &d.walked)
		})
	}
}

// lentOverride are documents of a session whose group may request an escalation that relaxes a
// policy about pods.
const lentOverride = `
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: pods}, spec: {podSecurityRules: {
  riskFactors: {hostNetwork: 100}, thresholds: [{maxScore: 50, action: allow}, {maxScore: 1000, action: deny}]}}}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, metadata: {name: fix, namespace: bg}, spec: {
  escalatedGroup: ops, allowed: {clusters: ["*"], groups: [lent]}, approvers: {groups: [leads]}, podSecurityOverrides: {enabled: true, maxAllowedScore: 500}}}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassSession, metadata: {name: lent-1, namespace: bg}, spec: {
  cluster: prod-1, user: bob, grantedGroup: lent}, status: {state: Approved, expiresAt: "2026-03-01T10:00:00Z"}}
`

// spoiling is what is wrong with one of those that are compared: a text of the library in the
// bundle of the stock OPA, or the policies behind the cache.
type spoiling struct {
	path, was, is string
	policies      func(decision.Policies) decision.Policies
	// file has the documents, in place of random ones, and request is what is asked about them.
	file    string
	request *oracle.Request
}

var honest spoiling

// timeless are policies whose decisions do not state when they end.
type timeless struct{ decision.Policies }

func (p timeless) Access(ctx context.Context, r *decision.Request) decision.Decision {
	d := p.Policies.Access(ctx, r)
	d.Span = dates.Span{}
	return d
}

// walked counts what was compared.
type walked struct{ timelines, changed, decisions, fromCache, kept, stock, edits int }

func (w *walked) add(o *walked) {
	w.timelines += o.timelines
	w.changed += o.changed
	w.decisions += o.decisions
	w.fromCache += o.fromCache
	w.kept += o.kept
	w.stock += o.stock
	w.edits += o.edits
}

func (w *walked) String() string {
	return fmt.Sprintf("%d timelines with %d edits: the time changed the decisions on %d; %d decisions, %d from the cache, %d of these before the request was asked since the last edit, %d by a stock OPA",
		w.timelines, w.edits, w.changed, w.decisions, w.fromCache, w.kept, w.stock)
}

// datedState is a state of a directory under edit.
type datedState struct {
	world  *access.World
	bundle *bundles.Bundle
	stock  rego.PreparedEvalQuery
	engine *engine.Engine // of the last activation
}

// datedDirectory is a directory with dates and sessions that changes between states: the second
// differs from the first in sessions alone, the third also in dates.
type datedDirectory struct {
	walked
	t        *testing.T
	seed     uint64
	draw     random.Source
	with     spoiling
	instants []time.Time
	now      time.Time
	states   [3]datedState
	cache    *cache.Cache

	at     *datedState
	asked  map[string]bool // the requests since the last edit
	cached decision.Policies
}

func newDatedDirectory(t *testing.T, seed uint64, with spoiling) *datedDirectory {
	t.Helper()
	d := &datedDirectory{t: t, seed: seed, draw: random.New(seed, 10), with: with}
	var prefixes []string
	if d.draw.Once(2) {
		prefixes = []string{"system:", "d"} // with which groups of sessions are those of bindings
	}
	var more [2][]*oracle.Session
	for i := range d.states {
		generate := access.GenerateDated
		if i == 2 {
			generate = access.GenerateRedated
		}
		files, world := generate(seed)
		world.Prefixes = prefixes
		if i == 0 {
			more = moreSessions(d.draw, world)
		}
		list := more[i%2]
		if with.file != "" {
			files, list = map[string]string{"d.yaml": with.file}, nil
		}
		files["z.yaml"] = sessionFile(list)
		world.Sessions = append(world.Sessions, list...)
		d.states[i] = d.build(files, world)
	}
	d.instants = access.Instants(d.states[0].world, d.states[1].world, d.states[2].world)
	d.now = d.instants[0]
	d.cache = cache.New(cache.Options{Entries: 10_000, Now: d.clock}, metrics.New())
	d.edit(&d.states[0])
	return d
}

func (d *datedDirectory) clock() time.Time { return d.now }

// moreSessions draws sessions for users who have some, or for others: some in both lists, with
// another end.
func moreSessions(g random.Source, world *access.World) (lists [2][]*oracle.Session) {
	for i := range 1 + g.IntN(3) {
		s := oracle.Session{User: g.One(random.Users), Cluster: "dev", Group: "ops", State: "Approved", Expires: "2026-03-01T09:00:00Z"}
		if len(world.Sessions) > 0 && !g.Once(4) {
			s = *world.Sessions[g.IntN(len(world.Sessions))]
		}
		s.Name, s.Namespace, s.Owners, s.Policies, s.IdleMinutes = fmt.Sprintf("z-%d", i), "", nil, nil, 0
		s.Scheduled, s.Approved, s.Started, s.Rejected = "", "", "", ""
		lists[1] = append(lists[1], &s)
		if g.Once(2) {
			ends := s
			ends.Expires = "2026-03-01T10:00:00Z"
			lists[0] = append(lists[0], &ends)
		}
	}
	return lists
}

// sessionFile writes sessions, and notes where they stand.
func sessionFile(sessions []*oracle.Session) string {
	var text strings.Builder
	for _, s := range sessions {
		s.Source = fmt.Sprintf("z.yaml:%d", 1+strings.Count(text.String(), "\n"))
		fmt.Fprintf(&text, `{"apiVersion":"breakglass.t-caas.telekom.com/v1alpha1","kind":"BreakglassSession","metadata":{"name":%q},`+
			`"spec":{"cluster":%q,"user":%q,"grantedGroup":%q,"identityProviderIssuer":%q,"allowIDPMismatch":%v},`+
			`"status":{"state":%q,"expiresAt":%s}}`+"\n---\n", s.Name, s.Cluster, s.User, s.Group, s.Issuer, s.AnyIssuer, s.State, orNull(s.Expires))
	}
	return text.String()
}

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return strconv.Quote(text)
}

// build builds the documents, and prepares a stock OPA with their bundle.
func (d *datedDirectory) build(files map[string]string, world *access.World) datedState {
	d.t.Helper()
	o := translator.Options{AllowEmpty: true, Settings: settings.Settings{settings.SessionGroupPrefixes: {Text: strings.Join(world.Prefixes, ",")}}}
	result, list := translator.New(o).Translate(context.Background(), snapshotOf(files))
	if result == nil {
		d.t.Fatalf("world %d does not compile: %+v", d.seed, list)
	}
	built, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	other := built
	if d.with.path != "" {
		rules := maps.Clone(library.Files())
		rules[d.with.path] = bytes.Replace(rules[d.with.path], []byte(d.with.was), []byte(d.with.is), 1)
		if bytes.Equal(rules[d.with.path], library.Files()[d.with.path]) {
			d.t.Fatalf("%s has no %q", d.with.path, d.with.was)
		}
		if other, err = bundles.Build(result, bundles.BuildOptions{Library: rules}); err != nil {
			d.t.Fatal(err)
		}
	}
	s := datedState{world: world, bundle: built}
	if d.with.policies == nil {
		s.stock = stockOPA(d.t, other)
	}
	return s
}

// edit activates a state of the directory.
func (d *datedDirectory) edit(to *datedState) {
	d.t.Helper()
	var last *engine.Engine
	if d.at != nil {
		last = d.at.engine
		d.edits++
	}
	now, err := engine.Activate(context.Background(), to.bundle, engine.Options{Now: d.clock, Last: last})
	if err != nil {
		d.t.Fatal(err)
	}
	d.at, to.engine, d.asked = to, now, make(map[string]bool)
	var p decision.Policies = now
	if d.with.policies != nil {
		p = d.with.policies(p)
	}
	d.cached = d.cache.Of(p)
}

// walk goes through all instants with a request, from any of them on, and returns a difference
// that it finds.
func (d *datedDirectory) walk(request oracle.Request) (difference string) {
	text := request.JSON()
	r, err := decision.Decode[decision.Request]([]byte(text))
	seen := make(map[string]bool)
	d.timelines++
	at := d.draw.IntN(len(d.instants))
	for step := 0; step < len(d.instants); step++ {
		if d.draw.Once(editsOnTimeline) {
			d.edit(&d.states[d.draw.IntN(len(d.states))])
		}
		d.now = d.instants[(at+step)%len(d.instants)]
		if d.draw.Once(12) { // and back
			d.now = d.instants[d.draw.IntN(len(d.instants))]
			step--
		}
		got, difference := d.compare(request, r, err != nil, text)
		if difference != "" {
			return fmt.Sprintf("at %s %s\n%s", d.now.Format(time.RFC3339Nano), text, difference)
		}
		seen[got.outcome()+got.Reason] = true
	}
	if len(seen) > 1 {
		d.changed++
	}
	return ""
}

// compare compares the decisions on a request at one instant. r is the decoded request, which may
// be invalid.
func (d *datedDirectory) compare(request oracle.Request, r *decision.Request, isInvalid bool, text string) (got answer, difference string) {
	d.at.world.Now = d.now
	d.decisions++
	got, _ = ofEngine(d.t, d.at.engine, text)
	want := got
	if d.with.file == "" {
		want = ofOracle(d.at.world.Decide(request))
	}
	if !begin(got.Warnings, want.Warnings) {
		return got, fmt.Sprintf("engine %q\noracle %q", got.Warnings, want.Warnings)
	}
	if want.Warnings = got.Warnings; !reflect.DeepEqual(got, want) {
		return got, fmt.Sprintf("engine %+v\noracle %+v", got, want)
	}
	if !isInvalid {
		c := d.cached.Access(context.Background(), r)
		if of := ofDecision(c); !reflect.DeepEqual(of, got) {
			return got, fmt.Sprintf("cache  %+v\nengine %+v", of, got)
		}
		if c.Cached {
			d.fromCache++
			if !d.asked[text] {
				d.kept++
			}
		}
		d.asked[text] = true
	}
	if d.with.policies == nil && (d.with.path != "" || d.decisions%stockOnTimeline == 0) {
		d.stock++
		if of := ofStockAt(d.t, d.at.stock, text, d.now); !reflect.DeepEqual(of, got) {
			return got, fmt.Sprintf("OPA    %+v\nengine %+v", of, got)
		}
	}
	return got, ""
}

// ofStockAt is ofStock at an instant.
func ofStockAt(t *testing.T, query rego.PreparedEvalQuery, text string, now time.Time) answer {
	t.Helper()
	return ofStock(t, query, text, rego.EvalTime(now))
}
