package reload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// reloads is how many reloads the storm has.
func reloads() int { return gate.Times(20) }

// seed is the order of good and bad documents.
func seed() uint64 { return gate.Seed() }

// parts is how many files a revision has. Each says the revision's number, so an
// answer out of two revisions shows.
const parts = 4

// storm is a policy directory that is published like a mounted ConfigMap, with
// a link that is swapped, and damaged in place.
type storm struct {
	t   *testing.T
	dir string
	n   int // of the publication
}

func part(n, i int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"p%d-r%d"},
 "rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]},
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"p%d-r%d"},
 "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"p%d-r%d"},
 "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"clark"}]}]}
`, i, n, i, n, i, n)
}

func (s *storm) path(name string) string { return filepath.Join(s.dir, name) }

// publish swaps in a whole revision; change may spoil it before anybody sees it.
func (s *storm) publish(change func(folder string)) {
	s.n++
	folder := s.path(fmt.Sprintf("..%d", s.n))
	check(s.t, os.Mkdir(folder, 0o755))
	for i := range parts {
		check(s.t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("p%d.yaml", i)), []byte(part(s.n, i)), 0o644))
	}
	if change != nil {
		change(folder)
	}
	old, _ := os.Readlink(s.path("..data"))
	check(s.t, os.Symlink(filepath.Base(folder), s.path("..new")))
	check(s.t, os.Rename(s.path("..new"), s.path("..data")))
	if old != "" {
		check(s.t, os.RemoveAll(s.path(old)))
	}
}

func newStorm(t *testing.T) *storm {
	s := &storm{t: t, dir: t.TempDir()}
	for i := range parts {
		name := fmt.Sprintf("p%d.yaml", i)
		check(t, os.Symlink("..data/"+name, s.path(name)))
	}
	s.publish(nil)
	return s
}

// damage leaves a file half written, in place, under the reader's hands.
func (s *storm) damage(pick *rand.Rand) {
	i := pick.IntN(parts)
	content := part(s.n, i)
	f, err := os.OpenFile(s.path(fmt.Sprintf("p%d.yaml", i)), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	check(s.t, err)
	_, err = f.WriteString(content[:1+pick.IntN(len(content)-10)])
	check(s.t, err)
	check(s.t, f.Close())
}

// spoil makes one mistake in a folder that is not published yet.
func (s *storm) spoil(pick *rand.Rand) func(folder string) {
	mistakes := []func(folder string){
		func(folder string) { s.write(folder, "p1.yaml", "kind: [") },
		func(folder string) {
			s.write(folder, "p2.yaml", strings.ReplaceAll(part(s.n, 2), "roleRef", "roleref"))
		},
		func(folder string) { s.write(folder, "p3.yaml", part(s.n, 0)) },
		func(folder string) { check(s.t, os.Remove(filepath.Join(folder, "p0.yaml"))) },
		func(folder string) {
			for i := range parts {
				s.write(folder, fmt.Sprintf("p%d.yaml", i), "")
			}
		},
	}
	return mistakes[pick.IntN(len(mistakes))]
}

func (s *storm) write(folder, name, content string) {
	check(s.t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644))
}

// witness remembers which revision said which number.
type witness struct {
	said  sync.Map
	asked atomic.Int64
}

// number is the number a whole revision says in its answer, or what is wrong with
// the answer. Each revision has one number, and each number one revision.
func (w *witness) number(d decision.Decision) (n int, wrong string) {
	w.asked.Add(1)
	if d.EvaluationError != "" || !d.Allowed || d.Denied {
		return 0, fmt.Sprintf("failed: %+v", d)
	}
	if len(d.Matched) != parts {
		return 0, fmt.Sprintf("not whole: %+v", d.Matched)
	}
	for i, m := range d.Matched {
		_, text, _ := strings.Cut(m.Name, "-r")
		number, err := strconv.Atoi(text)
		if err != nil || i > 0 && number != n {
			return 0, fmt.Sprintf("mixed: %+v", d.Matched)
		}
		n = number
	}
	if is, _ := w.said.LoadOrStore(d.Revision, n); is != n {
		return 0, fmt.Sprintf("revision %s said %v and says %d", d.Revision, is, n)
	}
	if is, _ := w.said.LoadOrStore(n, d.Revision); is != d.Revision {
		return 0, fmt.Sprintf("r%d is revision %v and %s", n, is, d.Revision)
	}
	return n, ""
}

// Documents are published, broken, damaged and swapped under the reader, while
// requests come in without a pause: none fails, and each is answered by one
// whole revision.
func TestStorm(t *testing.T) {
	t.Logf("%d reloads, SEED=%d", reloads(), seed())
	pick := rand.New(rand.NewPCG(seed(), 0))
	s := newStorm(t)
	var last *engine.Engine // as a server does: what was compiled serves while rules stay
	r := New(Options{
		Source:     source.Dir(s.dir, source.DirOptions{}),
		Translator: translator.New(translator.Options{}),
		Activate: func(ctx context.Context, b *bundles.Bundle) (decision.Policies, error) {
			e, err := engine.Activate(ctx, b, engine.Options{Last: last})
			if err != nil {
				return nil, err
			}
			last = e
			return e, nil
		},
		StateDir: t.TempDir(),
	})
	ctx := context.Background()
	check(t, r.Load(ctx))

	var stop atomic.Bool
	var clients sync.WaitGroup
	seen := &witness{}
	kept := cache.New(cache.Options{Entries: 100}, metrics.New())
	for _, of := range []func(decision.Policies) decision.Policies{uncached, kept.Of} {
		clients.Go(func() {
			// A pace that leaves the machine to the reloads.
			pace := time.NewTicker(time.Millisecond / 2)
			defer pace.Stop()
			request := &decision.Request{User: "clark", Verb: "get", Resource: "pods", Namespace: "hammer"}
			for last := 0; !stop.Load(); <-pace.C {
				n, wrong := seen.number(of(r.Current()).Access(ctx, request))
				if wrong == "" && n < last {
					wrong = fmt.Sprintf("an answer of r%d after one of r%d", n, last)
				}
				if wrong != "" {
					t.Error(wrong)
					return
				}
				last = n
			}
		})
	}
	count := map[string]int{}
	for range reloads() {
		if t.Failed() {
			break
		}
		s.step(ctx, r, pick, count)
	}
	stop.Store(true)
	clients.Wait()
	for _, kind := range []string{"good", "spoilt", "damaged", "swapped"} {
		if count[kind] == 0 && reloads() >= 100 {
			t.Errorf("no documents were %s", kind)
		}
	}
	if seen.asked.Load() < int64(reloads()) {
		t.Errorf("got %d requests, want more than reloads", seen.asked.Load())
	}
	t.Logf("%d requests, %v", seen.asked.Load(), count)
}

// The same without a call: a watched directory comes into service by itself.
func TestRunFollowsDirectory(t *testing.T) {
	s := newStorm(t)
	swapped := make(chan string, 10)
	r := New(Options{
		Source:     source.Dir(s.dir, source.DirOptions{Rescan: -1}),
		Translator: translator.New(translator.Options{}),
		Activate: func(ctx context.Context, b *bundles.Bundle) (decision.Policies, error) {
			e, err := engine.Activate(ctx, b, engine.Options{})
			swapped <- b.Manifest.Revision
			return e, err
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	check(t, r.Load(ctx))
	var run sync.WaitGroup
	run.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	<-swapped
	for range 3 {
		s.publish(nil)
		select {
		case <-swapped:
		case <-time.After(time.Minute):
			t.Fatal("a publication never came into service")
		}
	}
	cancel()
	run.Wait()
}

// step changes the documents in one way, reloads, and holds the outcome to it.
func (s *storm) step(ctx context.Context, r *Reloader, pick *rand.Rand, count map[string]int) {
	before := r.Revision()
	kind := []string{"good", "good", "spoilt", "damaged", "swapped"}[pick.IntN(5)]
	count[kind]++
	var err error
	switch kind {
	case "good":
		s.publish(nil)
		err = r.Reload(ctx)
	case "spoilt":
		s.publish(s.spoil(pick))
		err = r.Reload(ctx)
	case "damaged":
		s.damage(pick)
		err = r.Reload(ctx)
	case "swapped": // while a reload reads; whichever it gets, it is a whole one
		swapped := make(chan struct{})
		go func() {
			defer close(swapped)
			s.publish(nil)
		}()
		_ = r.Reload(ctx)
		<-swapped
		return
	}
	bad := kind != "good"
	if (err != nil) != bad || (r.Revision() == before) != bad || r.Status().Degraded != bad {
		s.t.Errorf("%s documents: got error %v, revision %s after %s", kind, err, r.Revision(), before)
	}
}

func uncached(p decision.Policies) decision.Policies { return p }
