package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/server"
)

// replica is a server that is killed and started again with its state directory.
type replica struct {
	fleet *fleet
	name  string

	handler http.Handler
	kill    context.CancelFunc
	ended   chan struct{}
	started time.Time
}

// start runs the server. It listens only because every server does.
func (r *replica) start(t *testing.T) {
	t.Helper()
	c := server.Defaults()
	c.Listen = "127.0.0.1:0"
	c.Bundle.Location, c.Bundle.PlainHTTP = "oci://"+r.fleet.gate.address()+"/policy:main", true
	c.Every = *poll
	c.StateDir = filepath.Join(r.fleet.dir, r.name)
	c.Timeouts.Drain, c.Timeouts.Grace = 0, time.Second
	c.Logger = slog.New(&activations{r})
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(t.Context())
	r.handler, r.kill, r.ended, r.started = s.Handler(), kill, make(chan struct{}), time.Now()
	go func() {
		defer close(r.ended)
		if err := s.Run(ctx); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}()
}

// stop ends the server without waiting for requests.
func (r *replica) stop() {
	r.kill()
	<-r.ended
}

// ask asks whether a user may get pods, and returns the revision that answered; empty if
// none is active.
func (r *replica) ask(user string) (allowed bool, revision string, err error) {
	body, err := json.Marshal(map[string]string{"user": user, "verb": "get", "resource": "pods"})
	if err != nil {
		return false, "", err
	}
	request := httptest.NewRequest(http.MethodPost, "http://localhost/v1/decisions/access", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	r.handler.ServeHTTP(answer, request)
	var decision struct{ Allowed bool }
	if answer.Code != http.StatusOK {
		return false, "", fmt.Errorf("status %d: %s", answer.Code, answer.Body)
	}
	err = json.Unmarshal(answer.Body.Bytes(), &decision)
	return decision.Allowed, answer.Header().Get("Writ-Revision"), err
}

// activations is a log that keeps when a replica activated which revision.
type activations struct{ of *replica }

func (*activations) Enabled(context.Context, slog.Level) bool { return true }
func (a *activations) WithAttrs([]slog.Attr) slog.Handler     { return a }
func (a *activations) WithGroup(string) slog.Handler          { return a }

func (a *activations) Handle(_ context.Context, record slog.Record) error {
	if record.Message != "revision activated" {
		return nil
	}
	record.Attrs(func(attribute slog.Attr) bool {
		if attribute.Key == "revision" {
			a.of.fleet.activated(a.of, attribute.Value.String(), record.Time)
		}
		return true
	})
	return nil
}

// clients ask replicas in turn until stop is closed. Each answer must be that of the
// revision that it names.
func (f *fleet) clients(t *testing.T, stop <-chan struct{}) (asked func() int) {
	t.Helper()
	var work sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range 2 {
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				f.mu.Lock()
				r, last := f.replicas[rand.IntN(len(f.replicas))], f.last
				handler := *r
				f.mu.Unlock()
				if last == 0 {
					continue
				}
				user := 1 + rand.IntN(last)
				allowed, revision, err := handler.ask(fmt.Sprint("u", user))
				f.mu.Lock()
				sequence, known := f.sequences[revision]
				f.mu.Unlock()
				switch {
				case err != nil:
					t.Errorf("%s: %v", r.name, err)
				case revision == "": // it has just started
				case !known || allowed != (sequence == user):
					t.Errorf("%s: revision %q (%d) decides %t for the user of revision %d", r.name, revision, sequence, allowed, user)
				default:
					mu.Lock()
					total++
					mu.Unlock()
				}
			}
		})
	}
	return func() int { work.Wait(); return total }
}
