package reload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// refusing is a translator that says which policies it refused.
type refusing struct {
	*words
	conditions map[string][]tables.GatewayCondition
}

func (*refusing) Documents() []syntax.Document { return nil }

func (t *refusing) PolicyConditions() map[string][]tables.GatewayCondition { return t.conditions }

// The policies in documents with errors are reported as long as those are the documents,
// also where they are not translated again.
func TestStatusShowsRefusedPolicies(t *testing.T) {
	docs := newDocuments("a")
	translator := &refusing{words: &words{}}
	r, _, _ := newReloader(docs, func(o *Options) { o.Translator = translator })
	refused := map[string][]tables.GatewayCondition{
		"AuthPolicy/net/edge": {{Type: "Accepted", Status: "False", Reason: "TargetNotFound"}},
	}
	steps := []struct {
		name       string
		content    string
		conditions map[string][]tables.GatewayCondition
		shown      bool
	}{
		{"good documents", "a", nil, false},
		{"bad ones", "bad", refused, true},
		{"the same, known by now", "bad", nil, true},
		{"good documents again", "a", nil, false},
		{"bad ones of another family", "bad", nil, false},
	}
	for _, step := range steps {
		docs.set(step.content)
		translator.conditions = step.conditions
		_ = r.Reload(context.Background()) // the error is in the status
		text, err := json.Marshal(r.Status())
		check(t, err)
		if got := strings.Contains(string(text), `"policyConditions":{"AuthPolicy/net/edge":[{`); got != step.shown {
			t.Errorf("%s: got %s, want policyConditions: %t", step.name, text, step.shown)
		}
		if got := strings.Contains(string(text), "policyConditions"); got != step.shown {
			t.Errorf("%s: got %s, want no key without policies", step.name, text)
		}
	}
}

// Documents of the sources that can be read are active, and the status shows that others
// are older.
func TestStaleSourcesDegrade(t *testing.T) {
	docs := newDocuments("a")
	var log strings.Builder
	r, _, _ := newReloader(docs, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	check(t, r.Load(context.Background()))
	docs.set("b")
	docs.stale = errors.New("kube:prod: connection refused")
	for range 2 { // activated, then unchanged
		check(t, r.Reload(context.Background()))
		wantSays(t, r, "b")
		if s := r.Status(); !s.Degraded || s.LastError != "kube:prod: connection refused" {
			t.Errorf("got degraded %t, last error %q; want what cannot be read", s.Degraded, s.LastError)
		}
	}
	if n := strings.Count(log.String(), "its last documents remain in use"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, log.String())
	}
	docs.stale = nil
	check(t, r.Reload(context.Background()))
	if s := r.Status(); s.Degraded || s.LastError != "" {
		t.Errorf("after recovery: got %+v", s)
	}
}

// What is polled and fails is logged once, again when the failure is another one, and when it ends.
// A source opens a connection from another port each time, and the failure is the same.
func TestRepeatedFailuresAreLoggedOnce(t *testing.T) {
	var log strings.Builder
	count := func(what, text string, want int) {
		t.Helper()
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("%s: logged %q %d times, want %d:\n%s", what, text, n, want, log.String())
		}
	}
	docs := newDocuments("a")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r, _, _ := newReloader(docs, func(o *Options) {
		o.Logger, o.Now = slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now }
	})
	check(t, r.Load(context.Background()))
	for n := range 5 {
		docs.fail(fmt.Errorf("read tcp 10.0.0.1:%d->10.0.0.2:443: connection reset", 40000+n))
		_ = r.Reload(context.Background())
	}
	count("a source", "documents could not be read", 1)
	now = now.Add(2 * time.Hour)
	_ = r.Reload(context.Background())
	count("hours later", "documents could not be read", 2)
	count("hours later", "failures=6 since=2026-01-01T00:00:00.000Z", 1)
	docs.fail(nil)
	check(t, r.Reload(context.Background()))
	count("recovered", "the newest documents are active again\" failures=6", 1)
	log.Reset()

	for range 5 {
		r.Failed(errors.New("bundle from oci://registry/policies: unauthorized"))
	}
	count("a registry", "no bundle could be fetched", 1)
	r.Failed(errors.New("bundle from oci://registry/policies: no such host"))
	count("another failure", "no bundle could be fetched", 2)
	r.Confirm()
	count("confirmed", "the newest documents are active again\" failures=6", 1)
	log.Reset()

	docs.set("refused") // by the engine, at each attempt
	for range 5 {
		_ = r.Reload(context.Background())
	}
	count("an activation", "documents refused", 1)

	for _, text := range []string{"bad 1", "bad 2", "bad 2"} { // each time they are saved, and not when they are read again
		docs.set(text)
		_ = r.Reload(context.Background())
	}
	count("the same mistake in changed documents", "the documents have an error", 2)
}
