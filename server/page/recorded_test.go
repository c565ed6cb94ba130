package page

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/tables"
)

// recorded is a Console and a Viewer that gives the answers below testdata/answers. An
// answer that is not recorded is not found.
type recorded struct {
	t       testing.TB
	answers map[string]json.RawMessage
	events  []view.Event
	asked   []string // the questions, in their order
	// proposed is the last proposal.
	proposed *view.Proposal
}

var _ view.Viewer = (*recorded)(nil)

// record reads the answers.
func record(t testing.TB) *recorded {
	t.Helper()
	files, err := filepath.Glob("testdata/answers/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no answers are recorded: %v", err)
	}
	r := &recorded{t: t, answers: make(map[string]json.RawMessage)}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r.answers[strings.TrimSuffix(filepath.Base(file), ".json")] = content
	}
	r.events = []view.Event{
		{ID: 2, Time: clock, Name: view.EventRefused, Data: view.RefusedEvent{Errors: 1, Message: "hammer/project.yaml:10:9: dangling-role"}},
		{ID: 1, Time: clock.Add(-time.Minute), Name: view.EventRevision, Data: view.RevisionEvent{Revision: strings.Repeat("6ab2", 16), Documents: 45}},
	}
	return r
}

// clock is the time of all tests.
var clock = time.Date(2026, 11, 22, 5, 20, 51, 0, time.UTC)

// recordedAnswer decodes a recorded answer.
func recordedAnswer[T any](r *recorded, name string) (*T, error) {
	r.asked = append(r.asked, name)
	content, ok := r.answers[name]
	if !ok {
		return nil, view.Errorf(view.NotFound, "%s is not found", name)
	}
	value := new(T)
	if err := json.Unmarshal(content, value); err != nil {
		r.t.Errorf("%s: %v", name, err)
	}
	return value, nil
}

func (r *recorded) Now() view.Viewer { return r }

func (r *recorded) Subscribe(context.Context, view.Caller, int64, bool) (<-chan view.Event, error) {
	return nil, view.ErrForbidden
}

func (r *recorded) Revision() string { return r.Status(view.Caller{}).Revision }

func (r *recorded) Status(view.Caller) *view.Status {
	s, err := recordedAnswer[view.Status](r, "status")
	if err != nil {
		return &view.Status{}
	}
	return s
}

func (r *recorded) Events(view.Caller) []view.Event { return r.events }

func (r *recorded) Rates(c view.Caller) (*view.Rates, error) {
	if !c.SeesAll {
		return nil, view.ErrForbidden
	}
	return recordedAnswer[view.Rates](r, "rates")
}

func (r *recorded) Explain(_ context.Context, _ view.Caller, point string, request []byte, _ time.Time) (*view.Explanation, error) {
	if strings.Contains(string(request), "refuse-me") {
		return nil, &view.Error{Reason: view.Invalid, Message: "must be a verb", Field: "verb"}
	}
	if strings.Contains(string(request), "exec") {
		point += "-pod"
	}
	return recordedAnswer[view.Explanation](r, "explain-"+point)
}

func (r *recorded) Matrix(_ context.Context, _ view.Caller, q view.MatrixQuery) (*view.Matrix, error) {
	if q.Of == "what" {
		return recordedAnswer[view.Matrix](r, "matrix-what")
	}
	if q.Resource == "unicorns" {
		return &view.Matrix{}, nil
	}
	return recordedAnswer[view.Matrix](r, "matrix-who")
}

func (r *recorded) Subject(_ view.Caller, subject string, _ int, _ string) (*view.Subject, error) {
	if subject == "stranger" {
		return &view.Subject{Subject: "user:stranger", Name: "stranger", Kind: "user"}, nil
	}
	return recordedAnswer[view.Subject](r, "subject")
}

func (r *recorded) Role(_ view.Caller, q view.RoleQuery) (*view.Role, error) {
	return recordedAnswer[view.Role](r, "role-"+q.Name)
}

func (r *recorded) Files(view.Caller) (*view.Files, error) {
	return recordedAnswer[view.Files](r, "files")
}

func (r *recorded) Document(_ view.Caller, file string, _ int) (*view.Document, error) {
	return recordedAnswer[view.Document](r, "document-"+strings.ReplaceAll(file, "/", "-"))
}

func (r *recorded) Rules(view.Caller, view.RulesQuery) (*view.Rules, error) {
	return recordedAnswer[view.Rules](r, "rules")
}

func (r *recorded) Topology(view.Caller, string) (*view.Topology, error) {
	return recordedAnswer[view.Topology](r, "topology")
}

func (r *recorded) Effective(view.Caller, string, string) (*view.Effective, error) {
	e, err := recordedAnswer[view.Effective](r, "effective")
	if err != nil {
		return nil, err
	}
	// The JSON does not say which block a rule is from, nor the value of one that was replaced.
	e.Variants = e.Each()
	for i := range e.Variants[0].Replaced {
		e.Variants[0].Replaced[i].Value = map[string]any{"rates": []any{map[string]any{"limit": 7, "window": "<1h>"}}}
	}
	e.Variants[0].Detail = &tables.EffectivePolicy{Rules: []tables.EffectiveRule{{Key: "limits.all", Override: true}}}
	return e, nil
}

func (r *recorded) Revisions(view.Caller) (*view.Revisions, error) {
	return recordedAnswer[view.Revisions](r, "revisions")
}

func (r *recorded) Propose(_ context.Context, _ view.Caller, p *view.Proposal) (*view.Diff, error) {
	r.proposed = p
	if len(p.Documents) > 0 && strings.Contains(p.Documents[0].Content, "edti") {
		found := view.Diagnostic{File: "a.yaml", Line: 1, Column: 7, Length: 4, Severity: "error", Code: "dangling-role", Message: `role "<edti>" is not declared`, Text: "role: edti"}
		return nil, &view.Error{Reason: view.Mistaken, Message: "the documents have 1 error", Diagnostics: []view.Diagnostic{found}}
	}
	switch p.Ref {
	case "none":
		return nil, &view.Error{Reason: view.Invalid, Field: "ref", Message: "the git reference: the repository has no reference \"none\""}
	case "slow":
		return nil, &view.Error{Reason: view.Busy, Message: "the transfer stalled"}
	}
	if len(p.Removed) > 0 && p.Removed[0] == "none.yaml" {
		return nil, &view.Error{Reason: view.Invalid, Message: "removed[0]: file \"none.yaml\" is not served"}
	}
	return recordedAnswer[view.Diff](r, "diff")
}

func (r *recorded) Diff(_ context.Context, _ view.Caller, from, to string) (*view.Diff, error) {
	switch from {
	case to:
		return recordedAnswer[view.Diff](r, "diff-same")
	case "d51dc1a1ce0f":
		return nil, &view.Error{Reason: view.Pending, Message: "the comparison is being made", Wait: 2 * time.Second}
	}
	return recordedAnswer[view.Diff](r, "diff")
}

func (r *recorded) Log(_ context.Context, _ view.Caller, q view.LogQuery) (*view.Log, error) {
	if q.User == "stranger" {
		return &view.Log{Size: 1000}, nil
	}
	return recordedAnswer[view.Log](r, "log")
}

func (r *recorded) Risks(_ context.Context, _ view.Caller, q view.RisksQuery) (*view.Risks, error) {
	switch q.Subject {
	case "stranger":
		return &view.Risks{}, nil
	case "pending":
		return nil, &view.Error{Reason: view.Pending, Message: "the revision is being searched for risks", Wait: 2 * time.Second}
	}
	all, err := recordedAnswer[view.Risks](r, "risks")
	if err != nil {
		return nil, err
	}
	if q.Severity == "critical" && q.Code == "" {
		return &view.Risks{Severities: all.Severities}, nil
	}
	if q.Code != "" {
		all.Risks = slices.DeleteFunc(all.Risks, func(k view.Risk) bool { return k.Code != q.Code })
		all.Total = len(all.Risks)
	}
	if q.Limit > 0 && q.Limit < len(all.Risks) {
		all.Risks, all.After = all.Risks[:q.Limit], "9"
	}
	return all, nil
}

func (r *recorded) Names(view.Caller, string, string) (*view.Names, error) {
	return &view.Names{}, nil
}

var (
	auditor   = view.Caller{SeesAll: true, User: "ada", Groups: []string{"security"}}
	developer = view.Caller{User: "edgar", Groups: []string{"dev", "shop"}}
)

var errToken = errors.New("the credentials are not accepted")

// byToken is Options.Caller for the tokens "auditor" and "developer".
func byToken(r *http.Request) (view.Caller, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer auditor":
		return auditor, nil
	case "Bearer developer":
		return developer, nil
	case "Bearer unavailable":
		return view.Caller{}, ErrUnavailable
	}
	return view.Caller{}, errToken
}

// open is Options.Caller of a server without credentials.
func open(*http.Request) (view.Caller, error) { return view.Caller{SeesAll: true}, nil }

// options are those of a page with recorded answers.
func options(t testing.TB) Options {
	t.Helper()
	return Options{
		Console: record(t), Caller: open, JSON: yaml.YAMLToJSONStrict,
		AnswersFor: func(host string) bool { return host == "127.0.0.1:8686" },
		Endpoints:  func(host string) string { return "http://" + host },
		EvalFlags:  []string{"--policies", "/srv/our policies", "--default-namespace=team"},
		Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Write([]byte("next " + r.Header.Get("Authorization"))) //nolint:errcheck // a recorder
		}),
		Panicked: func(_ context.Context, route string, cause any) { t.Errorf("%s: %v", route, cause) },
		Now:      func() time.Time { return clock },
		After:    func(time.Duration) <-chan time.Time { c := make(chan time.Time, 1); c <- clock; return c },
	}
}
