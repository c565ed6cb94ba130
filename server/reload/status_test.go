package reload

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

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
