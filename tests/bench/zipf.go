package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/projection"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// The trace: reviews of an API server whose object names never repeat. Users are drawn by
// Zipf's law, as are verbs and resources; a user keeps its groups and its namespace.
const (
	traceUsers  = 1000
	traceLength = 2_000_000
	// traceSkew is the exponent of Zipf's law; 1.1 is that of requests to web servers.
	traceSkew = 1.1
)

type trace struct {
	random                 *rand.Rand
	users, verbs, resource *rand.Zipf
	of                     []decision.Request // by user, what stays the same
	count                  int
}

func newTrace(w *world) *trace {
	random := rand.New(rand.NewPCG(3, uint64(w.n)))
	zipf := func(n int) *rand.Zipf { return rand.NewZipf(random, traceSkew, 1, uint64(n-1)) }
	t := &trace{random: random, users: zipf(traceUsers), verbs: zipf(len(verbs)), resource: zipf(len(resources) - 1)}
	t.of = w.requests(traceUsers)
	return t
}

func (t *trace) next() *decision.Request {
	t.count++
	r := t.of[t.users.Uint64()]
	r.Verb = verbs[t.verbs.Uint64()]
	i := int(t.resource.Uint64())
	r.Resource, r.APIGroup = resources[i], groups[i%len(groups)]
	r.Name = fmt.Sprintf("object-%d", t.count)
	return &r
}

// evaluated counts evaluations. With whole, its keys are whole requests.
type evaluated struct {
	*engine.Engine
	whole bool
	count int
}

func (e *evaluated) Access(ctx context.Context, r *decision.Request) decision.Decision {
	e.count++
	return e.Engine.Access(ctx, r)
}

func (e *evaluated) Key(b []byte, q decision.Question) ([]byte, bool) {
	if r, isAccess := q.(*decision.Request); isAccess && e.whole {
		return projection.NewAccessKeys(nil, nil, nil, nil).AccessKey(b, r), true
	}
	return e.Engine.Key(b, q)
}

// hitRates prints how many reviews of the trace a cache answers, by projection and by
// whole requests: warm, after a reload that changes one binding, and after one that changes
// one deny policy of 200.
func hitRates(r *results, w *world) error {
	ctx := context.Background()
	remove, err := w.deny(denyPolicies)
	if err != nil {
		return err
	}
	defer remove()
	policy := filepath.Join(w.dir, "changing-deny.yaml")
	defer os.Remove(policy)
	defer os.Remove(w.changing)
	l := &loader{directory: source.Dir(w.dir, source.DirOptions{}), translator: translator.New(translator.Options{})}
	var revisions []*engine.Engine
	for _, save := range []func() error{
		func() error { return denyNamespace(policy, "user-1") },
		func() error { return w.change("user-3") },
		func() error { return denyNamespace(policy, "user-2") },
	} {
		if err := save(); err != nil {
			return err
		}
		_, e, err := l.load(ctx)
		if err != nil {
			return err
		}
		revisions = append(revisions, e)
	}
	r.printf("  %d reviews, Zipf %.1f over %d users, no name twice, %d deny policies\n", traceLength, traceSkew, traceUsers, denyPolicies)
	for _, row := range []struct {
		name  string
		whole bool
	}{{"key: projection", false}, {"key: whole request", true}} {
		c, t := cache.New(cache.Options{Entries: cache.DefaultEntries}, metrics.New()), newTrace(w)
		rate := func(revision, n int) float64 {
			p := &evaluated{Engine: revisions[revision], whole: row.whole}
			for range n {
				c.Of(p).Access(ctx, t.next())
			}
			return 100 * (1 - float64(p.count)/float64(n))
		}
		cold, warm := rate(0, traceLength/2), rate(0, traceLength/2)
		binding, policy := rate(1, traceLength/10), rate(2, traceLength/10)
		r.printf("  %-34s %8.1f %% hits cold, %.1f %% warm, %.1f %% after a changed binding, %.1f %% after a changed deny policy\n",
			row.name, cold, warm, binding, policy)
		if !row.whole {
			r.reached(warm, goalHits)
			r.reached(binding, goalKept)
		}
	}
	return nil
}
