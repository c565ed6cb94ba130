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

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/tables"
)

// recorded is a Console and a Viewer that gives the answers below testdata/answers. An
// answer that is not recorded is not found.
type recorded struct {
	t       testing.TB
	answers map[string]json.RawMessage
	events  []console.Event
	asked   []string // the questions, in their order
	// verified is the last body of assertions.
	verified string
	// proposed is the last proposal.
	proposed *console.Proposal
}

var _ console.Viewer = (*recorded)(nil)

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
	r.events = []console.Event{
		{ID: 2, Time: clock, Name: console.EventRefused, Data: console.RefusedEvent{Errors: 1, Message: "hammer/project.yaml:10:9: dangling-role"}},
		{ID: 1, Time: clock.Add(-time.Minute), Name: console.EventRevision, Data: console.RevisionEvent{Revision: strings.Repeat("6ab2", 16), Documents: 45}},
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
		return nil, console.Errorf(console.NotFound, "%s is not found", name)
	}
	value := new(T)
	if err := json.Unmarshal(content, value); err != nil {
		r.t.Errorf("%s: %v", name, err)
	}
	return value, nil
}

func (r *recorded) Now() console.Viewer { return r }

func (r *recorded) Subscribe(context.Context, console.Caller, int64, bool) (<-chan console.Event, error) {
	return nil, console.ErrForbidden
}

func (r *recorded) Revision() string { return r.Status(console.Caller{}).Revision }

func (r *recorded) Status(console.Caller) *console.Status {
	s, err := recordedAnswer[console.Status](r, "status")
	if err != nil {
		return &console.Status{}
	}
	return s
}

func (r *recorded) Events(console.Caller) []console.Event { return r.events }

func (r *recorded) Rates(c console.Caller) (*console.Rates, error) {
	if !c.SeesAll {
		return nil, console.ErrForbidden
	}
	return recordedAnswer[console.Rates](r, "rates")
}

func (r *recorded) Explain(_ context.Context, _ console.Caller, point string, request []byte, _ time.Time) (*console.Explanation, error) {
	if strings.Contains(string(request), "refuse-me") {
		return nil, &console.Error{Reason: console.Invalid, Message: "must be a verb", Field: "verb"}
	}
	if point == "access" && !strings.Contains(string(request), `"verb"`) {
		return nil, &console.Error{Reason: console.Invalid, Message: `key "verb" is missing`, Field: "verb"}
	}
	if strings.Contains(string(request), "exec") {
		point += "-pod"
	}
	return recordedAnswer[console.Explanation](r, "explain-"+point)
}

func (r *recorded) Matrix(_ context.Context, _ console.Caller, q console.MatrixQuery) (*console.Matrix, error) {
	if q.Of == "what" {
		return recordedAnswer[console.Matrix](r, "matrix-what")
	}
	if q.Resource == "unicorns" {
		return &console.Matrix{}, nil
	}
	return recordedAnswer[console.Matrix](r, "matrix-who")
}

func (r *recorded) Subject(_ console.Caller, subject string, _ int, _ string) (*console.Subject, error) {
	if subject == "stranger" {
		return &console.Subject{Subject: "user:stranger", Name: "stranger", Kind: "user"}, nil
	}
	return recordedAnswer[console.Subject](r, "subject")
}

func (r *recorded) Role(_ console.Caller, q console.RoleQuery) (*console.Role, error) {
	return recordedAnswer[console.Role](r, "role-"+q.Name)
}

func (r *recorded) Files(console.Caller) (*console.Files, error) {
	return recordedAnswer[console.Files](r, "files")
}

func (r *recorded) Document(_ console.Caller, file string, _ int) (*console.Document, error) {
	return recordedAnswer[console.Document](r, "document-"+strings.ReplaceAll(file, "/", "-"))
}

func (r *recorded) Rules(console.Caller, console.RulesQuery) (*console.Rules, error) {
	return recordedAnswer[console.Rules](r, "rules")
}

func (r *recorded) Topology(console.Caller, string) (*console.Topology, error) {
	return recordedAnswer[console.Topology](r, "topology")
}

func (r *recorded) Effective(console.Caller, string, string) (*console.Effective, error) {
	e, err := recordedAnswer[console.Effective](r, "effective")
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

func (r *recorded) Revisions(console.Caller) (*console.Revisions, error) {
	return recordedAnswer[console.Revisions](r, "revisions")
}

func (r *recorded) Propose(_ context.Context, _ console.Caller, p *console.Proposal) (*console.Diff, error) {
	r.proposed = p
	if len(p.Documents) > 0 && strings.Contains(p.Documents[0].Content, "edti") {
		found := console.Diagnostic{File: "a.yaml", Line: 1, Column: 7, Length: 4, Severity: "error", Code: "dangling-role", Message: `role "<edti>" is not declared`, Text: "role: edti"}
		return nil, &console.Error{Reason: console.Mistaken, Message: "the documents have 1 error", Diagnostics: []console.Diagnostic{found}}
	}
	switch p.Ref {
	case "none":
		return nil, &console.Error{Reason: console.Invalid, Field: "ref", Message: "the git reference: the repository has no reference \"none\""}
	case "slow":
		return nil, &console.Error{Reason: console.Busy, Message: "the transfer stalled"}
	}
	if len(p.Removed) > 0 && p.Removed[0] == "none.yaml" {
		return nil, &console.Error{Reason: console.Invalid, Message: "removed[0]: file \"none.yaml\" is not served"}
	}
	return recordedAnswer[console.Diff](r, "diff")
}

func (r *recorded) Diff(_ context.Context, _ console.Caller, from, to string) (*console.Diff, error) {
	switch from {
	case to:
		return recordedAnswer[console.Diff](r, "diff-same")
	case "d51dc1a1ce0f":
		return nil, &console.Error{Reason: console.Pending, Message: "the comparison is being made", Wait: 2 * time.Second}
	}
	return recordedAnswer[console.Diff](r, "diff")
}

func (r *recorded) Log(_ context.Context, _ console.Caller, q console.LogQuery) (*console.Log, error) {
	if q.User == "stranger" {
		return &console.Log{Size: 1000}, nil
	}
	return recordedAnswer[console.Log](r, "log")
}

func (r *recorded) Risks(_ context.Context, _ console.Caller, q console.RisksQuery) (*console.Risks, error) {
	switch q.Subject {
	case "stranger":
		return &console.Risks{}, nil
	case "pending":
		return nil, &console.Error{Reason: console.Pending, Message: "the revision is being searched for risks", Wait: 2 * time.Second}
	}
	all, err := recordedAnswer[console.Risks](r, "risks")
	if err != nil {
		return nil, err
	}
	if q.Severity == "critical" && q.Code == "" {
		return &console.Risks{Severities: all.Severities}, nil
	}
	if q.Code != "" {
		all.Risks = slices.DeleteFunc(all.Risks, func(k console.Risk) bool { return k.Code != q.Code })
		all.Total = len(all.Risks)
	}
	if q.Limit > 0 && q.Limit < len(all.Risks) {
		all.Risks, all.After = all.Risks[:q.Limit], "9"
	}
	return all, nil
}

func (r *recorded) Reach(_ context.Context, _ console.Caller, q console.ReachQuery) (*console.Reach, error) {
	switch q.From {
	case "stranger":
		return nil, &console.Error{Reason: console.Invalid, Field: "from", Message: `subject "stranger": must be user:NAME or group:NAME`}
	case "user:stranger":
		return &console.Reach{}, nil
	}
	return recordedAnswer[console.Reach](r, "reach")
}

func (r *recorded) Sessions(_ context.Context, _ console.Caller, q console.SessionsQuery) (*console.Sessions, error) {
	if q.Cluster == "none" {
		return &console.Sessions{}, nil
	}
	s, err := recordedAnswer[console.Sessions](r, "sessions")
	if err == nil && q.User == "stranger" {
		s.Sessions, s.Total = nil, 0
	}
	return s, err
}

func (r *recorded) Assertions(console.Caller) (*console.Assertions, error) {
	return recordedAnswer[console.Assertions](r, "assertions")
}

func (r *recorded) Verify(_ context.Context, _ console.Caller, body []byte) (*console.Assertions, error) {
	r.verified = string(body)
	if strings.Contains(r.verified, "granted") {
		return nil, &console.Error{Reason: console.Invalid, Field: "/assertions/0/never", Message: "<granted> is not a word"}
	}
	return recordedAnswer[console.Assertions](r, "assertions")
}

func (r *recorded) Names(console.Caller, string, string) (*console.Names, error) {
	return &console.Names{}, nil
}

var (
	auditor   = console.Caller{SeesAll: true, User: "ada", Groups: []string{"security"}}
	developer = console.Caller{User: "edgar", Groups: []string{"dev", "shop"}}
)

var errToken = errors.New("the credentials are not accepted")

// byToken is Options.Caller for the tokens "auditor" and "developer".
func byToken(r *http.Request) (console.Caller, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer auditor":
		return auditor, nil
	case "Bearer developer":
		return developer, nil
	case "Bearer unavailable":
		return console.Caller{}, ErrUnavailable
	}
	return console.Caller{}, errToken
}

// open is Options.Caller of a server without credentials.
func open(*http.Request) (console.Caller, error) { return console.Caller{SeesAll: true}, nil }

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
