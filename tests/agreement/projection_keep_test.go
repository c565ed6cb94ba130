package agreement

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/gateway"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/tests/oracle/visibility"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/tables"
)

// Over edits of documents, each decision from the cache is the one that a new engine
// makes of the documents alone, kept or not.
func TestKeptDecisionsAreThoseOfTheNewRevision(t *testing.T) {
	gate.Only(t)
	t.Parallel()
	kept, besideDenials := 0, 0
	for seed := firstWorld(); seed < firstWorld()+uint64(max(2, (worlds()+denyWorlds())/8)); seed++ {
		w := newProjected(t, seed)
		generate := access.Generate
		if seed%2 == 0 {
			generate = access.GenerateDeny
		}
		files, _ := generate(seed)
		all, beside := keepOver(t, seed, files, w)
		kept, besideDenials = kept+all, besideDenials+beside
	}
	t.Logf("%d decisions were kept, %d of them over a change of deny policies", kept, besideDenials)
	// Few random worlds may keep no decision over a change of deny policies; those of the
	// default seed do.
	if kept == 0 || besideDenials == 0 && firstWorld() == 1 {
		t.Errorf("%d decisions were kept over an edit, %d of them over a change of deny policies, want some of both", kept, besideDenials)
	}
}

// keepOver edits files and asks the cache the requests of w at each revision. It returns
// how many decisions were kept, and how many of them although deny policies changed.
func keepOver(t *testing.T, seed uint64, files map[string]string, w *projected) (kept, besideDenials int) {
	t.Helper()
	draw := random.New(seed, 78)
	c := cache.New(cache.Options{Entries: 1 << 20, Bytes: 1 << 30}, metrics.New())
	documents := translator.New(translator.Options{AllowEmpty: true})
	var last *engine.Engine
	denials := ""
	for revision := range 12 {
		edited := maps.Clone(files)
		if revision > 0 {
			edit(draw, edited)
		}
		result, _ := documents.Translate(context.Background(), snapshotOfTexts(edited))
		if result == nil {
			continue // a role that others need is gone
		}
		bundle, err := bundles.Build(result, bundles.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		now, err := engine.Activate(context.Background(), bundle, engine.Options{Last: last})
		if err != nil {
			t.Fatal(err)
		}
		before := denials
		denials = written(t, tables.Of[*tables.Deny](bundle.Tables))
		// Some requests are asked at some revisions only, so that decisions are kept over
		// several of them.
		for i, r := range w.requests {
			if (i+revision/2)%3 != 0 {
				continue
			}
			if last != nil && last != now && keeps(last, now, r) {
				if kept++; denials != before {
					besideDenials++
				}
			}
			asked := &remembering{Engine: now}
			got := c.Of(asked).Access(context.Background(), r.decoded)
			want := asked.wanted(context.Background(), r.decoded)
			if got.Expires, got.Cached = want.Expires, false; !reflect.DeepEqual(got, want) {
				t.Fatalf("world %d, revision %d: %s\ngot  %+v\nwant %+v", seed, revision, r.text, got, want)
			}
		}
		last = now
	}
	return kept, besideDenials
}

// Over edits of documents of the gateway point, too, decisions from the cache are those
// of the new revision.
func TestKeptGatewayDecisionsAreThoseOfTheNewRevision(t *testing.T) {
	gate.Only(t)
	t.Parallel()
	kept := 0
	for seed := firstWorld(); seed < firstWorld()+uint64(max(6, gatewayWorlds()/4)); seed++ {
		files, world := gateway.Generate(seed)
		draw := random.New(seed, 81)
		var requests []*decision.GatewayRequest
		for _, r := range world.Requests(60) {
			if decoded, err := decision.DecodeGateway([]byte(r.JSON())); err == nil {
				requests = append(requests, decoded)
			}
		}
		c := cache.New(cache.Options{Entries: 1 << 20, Bytes: 1 << 30}, metrics.New())
		documents := translator.New(translator.Options{AllowEmpty: true})
		var last *engine.Engine
		for revision := range 8 {
			edited := maps.Clone(files)
			if revision > 0 {
				edit(draw, edited)
			}
			now := activateNext(t, documents, edited, last, nil)
			if now == nil {
				continue
			}
			for i, r := range requests {
				if (i+revision)%3 == 0 {
					continue
				}
				asked := &remembering{Engine: now}
				got, invalid := c.Of(asked).Gateway(t.Context(), r)
				want, wantInvalid := asked.wantedGateway(t.Context(), r)
				if key, ok := now.GatewayKey(nil, r); ok && last != nil && !want.IsOwn {
					if before, _ := last.Gateway(t.Context(), r); now.Loaded().Revision != last.Loaded().Revision && now.Keeps(r, &before, key) {
						kept++
					}
				}
				if got.Encoded != nil { // a kept decision has the JSON form of the new one
					want.Encode()
				}
				if got.Cached = false; !reflect.DeepEqual(got, want) || !reflect.DeepEqual(invalid, wantInvalid) {
					t.Fatalf("world %d, revision %d: %v\ngot  %+v\nwant %+v", seed, revision, r.Attributes, got, want)
				}
			}
			last = now
		}
	}
	t.Logf("%d decisions were kept", kept)
	if kept == 0 {
		t.Error("no decision was kept over an edit")
	}
}

// Over edits of documents of the visibility point, too, authorizations from the cache are
// those of the new revision, and show the same items.
func TestKeptAuthorizationsAreThoseOfTheNewRevision(t *testing.T) {
	gate.Only(t)
	t.Parallel()
	kept := 0
	for seed := firstWorld(); seed < firstWorld()+uint64(max(6, visibilityWorlds()/4)); seed++ {
		files, views := visibility.Generate(seed)
		requests := views.Requests(120)
		clock := func() time.Time { return requests[0].Now }
		draw := random.New(seed, 82)
		c := cache.New(cache.Options{Now: clock, Visibility: cache.VisibilityOptions{Entries: 1 << 20}}, metrics.New())
		documents := translator.New(translator.Options{AllowEmpty: true})
		var now *engine.Engine
		for revision := range 8 {
			edited := maps.Clone(files)
			if revision > 0 {
				edit(draw, edited)
			}
			next := activateNext(t, documents, edited, now, clock)
			if next == nil || now != nil && next.Loaded().Revision == now.Loaded().Revision {
				continue
			}
			now = next
			for i, request := range requests {
				if (i+revision)%3 == 0 {
					continue
				}
				r := viewOf(t, request)
				want := now.Visibility(t.Context(), r)
				got := c.Of(now).Visibility(t.Context(), r)
				if got.Cached {
					kept++
				}
				one, two := decision.DecideVisibility(t.Context(), now, r, got), decision.DecideVisibility(t.Context(), now, r, want)
				if got.Revision != want.Revision || written(t, one) != written(t, two) {
					t.Fatalf("world %d, revision %d: %s\ngot  %s\nwant %s", seed, revision, request.JSON(), written(t, one), written(t, two))
				}
			}
		}
	}
	t.Logf("%d authorizations were kept", kept)
	if kept == 0 {
		t.Error("no authorization was kept over an edit")
	}
}

// remembering is an engine behind a cache, with the decision that the cache asked it for:
// making it again takes most of the time of a comparison.
type remembering struct {
	*engine.Engine
	access  *decision.Decision
	gateway *decision.GatewayDecision
	invalid *decision.InvalidRequest
}

func (e *remembering) Access(ctx context.Context, r *decision.Request) decision.Decision {
	d := e.Engine.Access(ctx, r)
	e.access = &d
	return d
}

func (e *remembering) Gateway(ctx context.Context, r *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	d, invalid := e.Engine.Gateway(ctx, r)
	e.gateway, e.invalid = &d, invalid
	return d, invalid
}

// wanted is the engine's decision, which it makes now if the cache has not asked it.
func (e *remembering) wanted(ctx context.Context, r *decision.Request) decision.Decision {
	if e.access == nil {
		return e.Engine.Access(ctx, r)
	}
	return *e.access
}

// wantedGateway is wanted at the gateway point.
func (e *remembering) wantedGateway(ctx context.Context, r *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	if e.gateway == nil {
		return e.Engine.Gateway(ctx, r)
	}
	return *e.gateway, e.invalid
}

// activateNext returns nil if the documents have an error.
func activateNext(t *testing.T, documents *translator.Translator, files map[string]string, last *engine.Engine, clock func() time.Time) *engine.Engine {
	t.Helper()
	result, _ := documents.Translate(t.Context(), snapshotOfTexts(files))
	if result == nil {
		return nil
	}
	bundle, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now, err := engine.Activate(t.Context(), bundle, engine.Options{Last: last, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// keeps reports whether the decision on r is kept from the last revision to the present.
func keeps(last, now *engine.Engine, r *decided) bool {
	return now.Loaded().Revision != last.Loaded().Revision && now.Keeps(r.decoded, &decision.Decision{Revision: last.Loaded().Revision}, now.AccessKey(nil, r.decoded))
}

// edit removes a document, moves one to the end of another file, which changes lines too,
// or replaces a word of a deny policy, an escalation, or a policy or route of a gateway.
func edit(draw random.Source, files map[string]string) {
	names := slices.Sorted(maps.Keys(files))
	name := draw.One(names)
	documents := strings.Split(files[name], "\n---\n")
	at := draw.IntN(len(documents))
	document := documents[at]
	if slices.ContainsFunc([]string{"DenyPolicy", "BreakglassEscalation", "AuthPolicy", "HTTPRoute"}, func(kind string) bool { return strings.Contains(document, kind) }) {
		all := [][2]string{
			{"pods", "secrets"}, {"secrets", "pods"}, {"get", "create"}, {"create", "get"}, {"10", "50"}, {"prod", "dev"},
			{"dev", "prod"}, {"hostNetwork", "hostPID"}, {"db", "web"}, {"gold", "tin"},
			{"GET", "POST"}, {"eq", "neq"}, {"example.com", "example.org"}, {"foo", "zz"}, {"admin", "root"},
		}
		words := all[draw.IntN(len(all))]
		if documents[at] = strings.ReplaceAll(document, words[0], words[1]); documents[at] != document {
			files[name] = strings.Join(documents, "\n---\n")
			return
		}
	}
	files[name] = strings.Join(slices.Delete(documents, at, at+1), "\n---\n")
	if draw.Once(2) {
		other := draw.One(names)
		files[other] += "\n---\n" + document
	}
}
