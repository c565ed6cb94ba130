package agreement

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/server/projection"
	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/translator/tables"
)

// Requests with equal projections get equal decisions from engine, stock OPA and oracle,
// in random worlds. This is what lets a cache answer one with the decision on the other.
func TestEqualProjectionsAreDecidedEqually(t *testing.T) {
	t.Parallel()
	shared := 0
	for seed := firstWorld(); seed < firstWorld()+uint64(max(2, (worlds()+denyWorlds())/4)); seed++ {
		w := newProjected(t, seed)
		w.decide()
		stock := stockOPA(t, w.bundle)
		found, pairs := w.compare(projection.NewAccessKeys(w.bundle.Footprint, w.tree, tables.TenantsOf(w.bundle.Tables), nil))
		if found != "" {
			t.Fatalf("world %d: %s", seed, found)
		}
		if shared += len(pairs); len(pairs) == 0 {
			t.Errorf("world %d: no two requests have one projection", seed)
		}
		for i := 0; i < len(pairs); i += 40 {
			first, second := ofStock(t, stock, pairs[i][0].text), ofStock(t, stock, pairs[i][1].text)
			if first, second = asNone(first), asNone(second); !reflect.DeepEqual(first, second) {
				t.Fatalf("world %d: OPA decides requests with one projection differently:\n%s\n%+v\n%s\n%+v",
					seed, pairs[i][0].text, first, pairs[i][1].text, second)
			}
		}
	}
	t.Logf("%d pairs of requests", shared)
}

// asNone removes the beginning of a reason, which repeats values of the request.
func asNone(a answer) answer {
	if !a.Allowed && !a.Denied && len(a.Matched) == 0 {
		_, a.Reason, _ = strings.Cut(a.Reason, "; allowed with ")
	}
	return a
}

// Selectors that say the same share a decision, with the selectors that its reason names.
func TestEqualProjectionsOfListsAreDecidedEqually(t *testing.T) {
	t.Parallel()
	for seed := firstWorld(); seed < firstWorld()+2; seed++ {
		files, world := access.GenerateLists(seed)
		w := project(t, seed, files, world)
		w.decide()
		found, pairs := w.compare(projection.NewAccessKeys(w.bundle.Footprint, w.tree, tables.TenantsOf(w.bundle.Tables), nil))
		if found != "" || len(pairs) == 0 {
			t.Fatalf("world %d, %d pairs: %s", seed, len(pairs), found)
		}
	}
}

// projected is a random world with requests, many of which differ in one attribute.
type projected struct {
	world    *access.World
	bundle   *bundles.Bundle
	engine   *engine.Engine
	tree     *match.Tree
	requests []*decided
}

// decided is a request with the decisions of engine and oracle, once these are made.
type decided struct {
	request  oracle.Request
	text     string
	decoded  *decision.Request
	decision decision.Decision
	oracle   answer
}

func newProjected(t *testing.T, seed uint64) *projected {
	t.Helper()
	generate := access.Generate
	if seed%2 == 0 {
		generate = access.GenerateDeny
	}
	files, world := generate(seed)
	return project(t, seed, files, world)
}

func project(t *testing.T, seed uint64, files map[string]string, world *access.World) *projected {
	t.Helper()
	w := &projected{world: world, bundle: build(t, seed, files)}
	var err error
	if w.engine, err = engine.Activate(context.Background(), w.bundle, engine.Options{}); err != nil {
		t.Fatalf("world %d: %v", seed, err)
	}
	w.tree = match.Build(tables.Of[*tables.Access](w.bundle.Tables), nil)
	draw := random.New(seed, 77)
	others := world.Requests(600)
	for i, r := range others[:300] {
		w.add(r)
		for range 5 {
			varied := vary(draw, r, others[300+draw.IntN(300)])
			if i%4 == 0 { // some differ in two attributes
				varied = vary(draw, varied, others[300+draw.IntN(300)])
			}
			w.add(varied)
		}
	}
	return w
}

func (w *projected) add(request oracle.Request) {
	d := &decided{request: request, text: request.JSON()}
	var err error
	if d.decoded, err = decision.Decode[decision.Request]([]byte(d.text)); err != nil || d.decoded.Validate() != nil {
		return
	}
	w.requests = append(w.requests, d)
}

// decide makes the decisions. A request that was drawn before is left out: nothing compares
// it with itself.
func (w *projected) decide() {
	known := make(map[string]bool)
	w.requests = slices.DeleteFunc(w.requests, func(d *decided) bool {
		isKnown := known[d.text]
		known[d.text] = true
		return isKnown
	})
	for _, d := range w.requests {
		d.decision, d.oracle = w.engine.Access(context.Background(), d.decoded), asNone(ofOracle(w.world.Decide(d.request)))
	}
}

// vary changes an attribute of r to that of another request, or to one that no document
// knows.
func vary(draw random.Source, r, other oracle.Request) oracle.Request {
	strange := func(value string) string {
		return draw.One([]string{value, "zz-" + fmt.Sprint(draw.IntN(9)), strings.ToUpper(value), value + "x", ""})
	}
	switch draw.IntN(20) {
	case 0:
		r.User = strange(other.User)
	case 1:
		r.Groups = other.Groups
	case 2:
		r.Groups = append([]string{"zz-group"}, r.Groups...)
	case 3:
		r.Groups = append(slices.Clone(r.Groups), r.Groups...)
		slices.Reverse(r.Groups)
	case 4:
		r.Verb = strange(other.Verb)
	case 5:
		r.APIGroup = strange(other.APIGroup)
	case 6:
		r.Resource = strange(other.Resource)
	case 7:
		r.Subresource = strange(other.Subresource)
	case 8:
		r.Namespace = strange(other.Namespace)
	case 9, 10:
		r.Name = strange(draw.One([]string{other.Name, "prod-1", "db-1"}))
	case 11:
		r.Path = strange(other.Path)
	case 12:
		r.Cluster = strange(other.Cluster)
	case 13:
		r.Tenant = strange(other.Tenant)
	case 14:
		r.Session = strange(other.Session)
	case 15:
		r.Escalation = strange(other.Escalation)
	case 16:
		r.Fields, r.Labels = other.Fields, other.Labels
	case 17:
		r.NamespaceLabels = other.NamespaceLabels
	case 18:
		r.Pod, r.PodError = other.Pod, other.PodError
	case 19:
		r.Attributes = other.Attributes
	}
	if r.Path != "" {
		r.APIGroup, r.Resource, r.Subresource, r.Namespace, r.Name = "", "", "", "", ""
	}
	return r
}

// compare returns the first two requests with one projection that are decided
// differently, or else all pairs of different requests with one projection.
func (w *projected) compare(p *projection.AccessKeys) (difference string, pairs [][2]*decided) {
	first := make(map[string]*decided)
	for _, now := range w.requests {
		key := string(p.AccessKey(nil, now.decoded))
		other := first[key]
		switch {
		case other == nil:
			first[key] = now
			continue
		case now.text == other.text:
			continue
		}
		pairs = append(pairs, [2]*decided{other, now})
		got, want := other.decision.For(now.decoded), now.decision
		expires := got.Expires.IsZero() == want.Expires.IsZero()
		got.Expires = want.Expires
		if !expires || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(other.oracle, now.oracle) {
			return fmt.Sprintf("two requests with one projection are decided differently:\n%s\n%+v\n%+v\n%s\n%+v\n%+v",
				other.text, got, other.oracle, now.text, want, now.oracle), nil
		}
	}
	return "", pairs
}
