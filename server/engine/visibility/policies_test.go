package visibility

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/overdue"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// visibilityDocuments has one policy for each property; the principal selects it.
const visibilityDocuments = `
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: window, namespace: p}
spec:
  identity: {subjects: {users: [clock]}}
  access: {effect: Allow}
  scope: {clusters: {default: all}}
  lifecycle: {validity: {notBefore: "2026-01-01T00:00:00Z", notAfter: "2026-01-31T00:00:00.250Z"}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: lockout, namespace: p}
spec:
  identity: {subjects: {groups: [locked]}}
  access: {effect: Deny}
  scope: {clusters: {default: none, rules: [{selector: {matchNames: [other]}}]}}
  lifecycle: {validity: {notBefore: "2026-01-15T00:00:00+02:00"}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: off, namespace: p}
spec:
  identity: {subjects: {users: [clock]}}
  access: {effect: Allow, enabled: false}
  scope: {clusters: {default: all}}
  lifecycle: {validity: {notAfter: "2026-01-02T00:00:00Z"}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: dev, namespace: p}
spec:
  identity: {subjects: {groups: [dev], serviceAccounts: [{namespace: ci, name: bot}]}}
  access: {effect: Allow}
  scope:
    clusters:
      rules:
        - selector: {matchPattern: ".*"}
          permissions: {view: true, viewMetrics: true}
          resources:
            - {type: pods, filters: {namespaces: {allowed: ["app-*"]}}}
            - {type: volume, filters: {names: {denied: ["*-tmp"]}}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: volumes, namespace: p}
spec:
  source: {apiVersion: v1, kind: PersistentVolumeClaim}
  fields: [{name: size, path: .size}]
  aggregations:
    - {name: total, function: count}
    - {name: size, function: sum, field: size}
    - {name: of, function: count, groupBy: namespace}
  rbac: {resourceTypeName: volume}
`

// newPolicies returns the policies of documents. Options that are not set are those of
// an engine.
func newPolicies(tb testing.TB, documents string, o Options) *Policies {
	tb.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Timeout, o.Overdue = time.Second, overdue.New(nil)
	snapshot := source.Snapshot{Files: []source.File{source.NewFile("p.yaml", []byte(documents))}}
	result, list := translator.New(translator.Options{}).Translate(tb.Context(), snapshot)
	if result == nil {
		tb.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := New(b.Manifest.Revision, tables.Of[*tables.Visibility](b.Tables), o, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func cluster(name string) decision.Cluster { return decision.Cluster{Name: name} }

// A policy is active from its first instant to its last, inclusive, and an
// authorization expires at the next instant at which a policy begins or has ended.
func TestVisibilityClock(t *testing.T) {
	var now time.Time
	e := newPolicies(t, visibilityDocuments, Options{Now: func() time.Time { return now }})
	const justAfter = "2026-01-31T00:00:00.250000001Z"
	for _, row := range []struct{ name, now, decision, expires string }{
		{"a second before", "2025-12-31T23:59:59Z", "deny", "2026-01-01T00:00:00Z"},
		{"a millisecond before", "2025-12-31T23:59:59.999Z", "deny", "2026-01-01T00:00:00Z"},
		{"at the first instant", "2026-01-01T00:00:00Z", "allow", "2026-01-14T22:00:00Z"},
		{"before another policy begins, elsewhere", "2026-01-14T21:59:59.999Z", "allow", "2026-01-14T22:00:00Z"},
		{"when it begins", "2026-01-14T22:00:00Z", "allow", justAfter},
		{"at the last instant", "2026-01-31T00:00:00.250Z", "allow", justAfter},
		{"a nanosecond after", "2026-01-31T00:00:00.250000001Z", "deny", ""},
		{"a millisecond after", "2026-01-31T00:00:00.251Z", "deny", ""},
		{"a second after", "2026-01-31T00:00:01.250Z", "deny", ""},
		{"in a zone of its own", "2026-01-31T01:00:00.251+01:00", "deny", ""},
		{"out of OPA's years", "2300-01-01T00:00:00Z", "evaluation error", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			now = instant(t, row.now)
			a := e.Visibility(t.Context(), &decision.VisibilityRequest{User: "clock", Groups: []string{"locked"}, Cluster: cluster("c")})
			got, expires := a.Decision, ""
			if a.EvaluationError != "" {
				got = "evaluation error"
			}
			if !a.Expires.IsZero() {
				expires = a.Expires.UTC().Format(time.RFC3339Nano)
			}
			if got != row.decision || expires != row.expires {
				t.Errorf("got %s until %q, want %s until %q (%s)", got, expires, row.decision, row.expires, a.Reason)
			}
		})
	}
}

func TestVisibilityEvaluationError(t *testing.T) {
	e := newPolicies(t, visibilityDocuments, Options{})
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller is gone"))
	r := &decision.VisibilityRequest{User: "u", Groups: []string{"dev"}, Cluster: cluster("c"), Type: "volume", Items: &[]decision.Item{{Name: "a"}}}
	d := decide(ended, e, r)
	if d.Decision != decision.VisibleNone || d.EvaluationError == "" || d.Reason != "denied: evaluation error: "+d.EvaluationError || len(d.Visible) > 0 {
		t.Errorf("got %+v, want a denial with its evaluation error and nothing visible", d)
	}
	// The authorization succeeds, and the context ends before the items are read.
	d = complete(ended, e, r, e.Visibility(t.Context(), r))
	if d.Decision != decision.VisibleNone || d.EvaluationError == "" || len(d.Visible)+len(d.Aggregations)+len(d.Permissions) > 0 {
		t.Errorf("got %+v, want a denial of everything", d)
	}
}

// Without policies the reasons are those of Rego, which a stock OPA returns.
func TestReasonsWithoutPolicies(t *testing.T) {
	p, err := New("r", nil, Options{Now: time.Now}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		request decision.VisibilityRequest
		reason  string
	}{
		"groups alone":                  {decision.VisibilityRequest{Groups: []string{"g"}, Cluster: cluster("c")}, "no principal"},
		"a part of a service account":   {decision.VisibilityRequest{ServiceAccount: decision.ServiceAccount{Name: "n"}, Cluster: cluster("c")}, "no principal"},
		"an unknown action":             {decision.VisibilityRequest{User: "x", Action: "edit", Cluster: cluster("c")}, "unknown action edit"},
		"no cluster":                    {decision.VisibilityRequest{User: "x", Type: "pods"}, "no cluster given"},
		"a custom type without cluster": {decision.VisibilityRequest{User: "x", Type: "pod"}, "No policy grants access to custom resource type: pod"},
		"a custom type of a cluster":    {decision.VisibilityRequest{User: "x", Type: "pod", Cluster: cluster("c")}, "Access denied to cluster 'c': No matching policies found"},
		"a cluster":                     {decision.VisibilityRequest{User: "x", Cluster: cluster("c"), Action: "viewMetrics"}, "No matching policies found"},
	} {
		t.Run(name, func(t *testing.T) {
			a := p.Visibility(t.Context(), &row.request)
			if a.Decision != decision.VisibleNone || a.Reason != row.reason || a.EvaluationError != "" {
				t.Errorf("got %+v, want a denial with reason %q", a, row.reason)
			}
		})
	}
}

// Tables that were not written by the translator are rejected if they refer to policies
// or rules that do not exist.
func TestMalformedTables(t *testing.T) {
	one := []tables.VisibilityPolicy{{Name: "p", Rules: []tables.VisibilityRule{{}}}}
	for name, malformed := range map[string]tables.Visibility{
		"a policy that does not exist": {Policies: one, Allows: map[string][]int{"user:u": {1}}},
		"a negative policy":            {Policies: one, Denies: map[string][]int{"user:u": {-1}}},
		"policies out of order":        {Policies: append(one, one...), Denies: map[string][]int{"user:u": {1, 0}}},
		"a rule that does not exist":   {Policies: []tables.VisibilityPolicy{{Name: "p", Listed: map[string]int{"pod": 0}}}},
		"a pattern":                    {Policies: []tables.VisibilityPolicy{{Name: "p", ByDefault: &tables.VisibilityRule{Pattern: "("}}}},
	} {
		if _, err := New("r", &malformed, Options{}, nil); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// A name too long for the caller's goroutine is matched all the same.
func TestLongClusterName(t *testing.T) {
	p := newPolicies(t, visibilityDocuments, Options{})
	r := &decision.VisibilityRequest{User: "u", Groups: []string{"dev"}, Cluster: cluster(strings.Repeat("c", maxDirect+1))}
	if a := p.Visibility(t.Context(), r); a.Decision != decision.VisibleSome || a.EvaluationError != "" {
		t.Errorf("got %+v, want the policy dev", a)
	}
}

// Equal tables are indexed once.
func TestIndexIsReused(t *testing.T) {
	first := newPolicies(t, visibilityDocuments, Options{})
	same := newPolicies(t, visibilityDocuments, Options{})
	for _, row := range []struct {
		tables *tables.Visibility
		reused bool
	}{{same.tables, true}, {&tables.Visibility{}, false}} {
		next, err := New("next", row.tables, first.options, first)
		if err != nil {
			t.Fatal(err)
		}
		if reused := next.index == first.index; reused != row.reused || next.revision != "next" {
			t.Errorf("got reused %v, want %v", reused, row.reused)
		}
	}
}

func TestFilterItems(t *testing.T) {
	e := newPolicies(t, visibilityDocuments, Options{})
	broken := errors.New("no item")
	items := func(list []decision.Item, err error) iter.Seq2[decision.Item, error] {
		return func(yield func(decision.Item, error) bool) {
			for _, item := range list {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				yield(decision.Item{}, err)
			}
		}
	}
	pods := []decision.Item{{Name: "a", Namespace: "app-1"}, {Name: "b", Namespace: "x"}, {Name: "c", Namespace: "app-2"}}
	r := decision.VisibilityRequest{User: "u", Groups: []string{"dev"}, Cluster: cluster("c"), Type: "pods"}
	for _, row := range []struct {
		name    string
		user    string
		err     error
		stop    int // after so many indexes
		visible []int
	}{
		{"in order", "dev", nil, -1, []int{0, 2}},
		{"until an invalid item", "dev", broken, -1, []int{0, 2}},
		{"denied, all are read", "stranger", broken, -1, nil},
		{"until yield returns an error", "dev", broken, 1, []int{0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r.Groups = []string{row.user}
			var visible []int
			d, err := e.FilterItems(t.Context(), &r, e.Visibility(t.Context(), &r), items(pods, row.err), func(index int) error {
				visible = append(visible, index)
				if len(visible) == row.stop {
					return broken
				}
				return nil
			})
			if !errors.Is(err, row.err) {
				t.Errorf("got error %v, want %v", err, row.err)
			}
			if !slices.Equal(visible, row.visible) || len(d.Visible) > 0 {
				t.Errorf("got %v and %v, want %v and none", visible, d.Visible, row.visible)
			}
		})
	}
}

// A cached authorization filters as a new one does; one of another revision is an
// evaluation error.
func TestFilterItemsWithCachedAuthorization(t *testing.T) {
	e := newPolicies(t, visibilityDocuments, Options{})
	items := []decision.Item{
		{Name: "a", Namespace: "n", Fields: map[string]any{"size": jsonNumber("1.5")}},
		{Name: "b-tmp", Namespace: "n", Fields: map[string]any{"size": jsonNumber("9")}},
		{Name: "c", Namespace: "m", Fields: map[string]any{"size": "3"}},
	}
	r := &decision.VisibilityRequest{
		ServiceAccount: decision.ServiceAccount{Namespace: "ci", Name: "bot"}, Cluster: cluster("c"), Type: "volume", Items: &items,
	}
	a := e.Visibility(t.Context(), r)
	kept := complete(t.Context(), e, r, a)
	fresh := decide(t.Context(), e, r)
	got, want := string(kept.AppendJSON(nil)), string(fresh.AppendJSON(nil))
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(fresh.Visible, fresh.Aggregations), "[0 2] map[of:map[m:1 n:1] size:1.5 total:2]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	foreign := decision.Authorization{Decision: decision.VisibleAll, Permissions: []string{"view"}, Revision: "other"}
	d := complete(t.Context(), e, &decision.VisibilityRequest{User: "stranger", Cluster: cluster("c"), Type: "pods"}, foreign)
	if d.Decision != decision.VisibleNone || d.EvaluationError == "" || d.Revision != e.revision {
		t.Errorf("got %+v, want an evaluation error", d)
	}
}

// Numbers beyond the range of float64 are aggregated exactly.
func TestAggregationOfLargeNumbers(t *testing.T) {
	const documents = visibilityDocuments + `---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: large, namespace: p}
spec:
  identity: {subjects: {groups: [large]}}
  access: {effect: Allow}
  scope:
    clusters:
      rules:
        - selector: {matchPattern: ".*"}
          permissions: {view: true, viewMetrics: true}
          resources: [{type: large, filters: {names: {denied: [x]}}}, {type: nodes, visibility: all, filters: {names: {denied: [x]}}}]
---
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: large, namespace: p}
spec:
  source: {apiVersion: v1, kind: PersistentVolumeClaim}
  fields: [{name: f, path: .f}]
  aggregations:
    - {name: sum, function: sum, field: f}
    - {name: avg, function: avg, field: f}
    - {name: min, function: min, field: f}
    - {name: max, function: max, field: f}
    - {name: p50, function: percentile, percentile: 50, field: f}
  rbac: {resourceTypeName: large}
`
	e := newPolicies(t, documents, Options{})
	for _, row := range []struct {
		name string
		f    []string
		want string // sum, avg, min, max, p50
	}{
		{"one", []string{"1e400"}, "1e400 1e400 1e400 1e400 1e400"},
		{"below zero", []string{"-1e400"}, "-1e400 -1e400 -1e400 -1e400 -1e400"},
		{"two", []string{"3e400", "1e400"}, "4e400 2e400 1e400 3e400 2e400"},
		{"the largest numbers", []string{"9e999", "9e999", "0"}, "18e999 6e999 0 9e999 9e999"},
		{"and a fraction", []string{"1e400", "0.5"}, "1e400 5e399 0.5 1e400 5e399"},
		{"more than they come to", []string{"1e308", "1e308", "1e308", "1e308"}, "4e308 1e308 1e308 1e308 1e308"},
		{"none", []string{"0.1", "0.2"}, "0.3 0.15 0.1 0.2 0.15"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var items []decision.Item
			for _, number := range row.f {
				items = append(items, decision.Item{Name: "n", Fields: map[string]any{"f": jsonNumber(number)}})
			}
			d := decide(t.Context(), e, &decision.VisibilityRequest{Groups: []string{"large"}, User: "u", Cluster: cluster("c"), Type: "large", Items: &items})
			want := strings.Fields(row.want)
			for i, name := range []string{"sum", "avg", "min", "max", "p50"} {
				got, _ := d.Aggregations[name].(json.Number)
				if !nearly(got, want[i]) {
					t.Errorf("%s: got %q, want %s (%s)", name, got, want[i], d.Reason)
				}
			}
			if len(d.Visible) != len(items) {
				t.Errorf("got %v visible, want all %d", d.Visible, len(items))
			}
		})
	}
	nodes := map[string]any{"n": map[string]any{"cpu_capacity": jsonNumber("2e400"), "cpu_requested": jsonNumber("1e400")}}
	d := decide(t.Context(), e, &decision.VisibilityRequest{Groups: []string{"large"}, User: "u", Cluster: cluster("c"), Metrics: map[string]any{"byNode": nodes}})
	if got, _ := d.Metrics["cpu_capacity"].(json.Number); !nearly(got, "2e400") || d.Metrics["cpu_usage_percent"] != jsonNumber("50") {
		t.Errorf("got %v, want 2e400 of which 50 percent are requested (%s)", d.Metrics, d.Reason)
	}
}

// nearly compares numbers except for the last of the 64 binary digits of OPA's
// quotients.
func nearly(got json.Number, want string) bool {
	is, ok1 := new(big.Rat).SetString(string(got))
	wanted, ok2 := new(big.Rat).SetString(want)
	if !ok1 || !ok2 {
		return false
	}
	off := is.Sub(is, wanted)
	return off.Mul(off, big.NewRat(1e18, 1)).Abs(off).Cmp(new(big.Rat).Abs(wanted)) <= 0
}

// Reasons are shown to people, so they must not contain the operands of a built-in.
func TestBuiltinErrorIsShort(t *testing.T) {
	_, err := callBuiltin(ast.ToNumber, ast.StringTerm("1e400"))
	if err == nil || strings.Contains(err.Error(), "1e400") || strings.Contains(err.Error(), "strconv") {
		t.Errorf("got %v, want an error without operands", err)
	}
}

// The memory for the items of one request is bounded.
func TestColumnsAreBounded(t *testing.T) {
	c := newColumns([]tables.FieldRef{{Name: "x"}}, defaultMaxColumns, new(limits.Budget))
	item := decision.Item{Fields: map[string]any{"x": make([]any, 1<<16)}}
	for range 100 {
		if err := c.add(&item); err != nil {
			if !errors.Is(err, errTooManyItems) {
				t.Errorf("got %v, want %v", err, errTooManyItems)
			}
			return
		}
	}
	t.Error("got no error, want errTooManyItems")
}

// The memory for the items of all requests is bounded, and given back.
func TestColumnsShareABudget(t *testing.T) {
	shared := limits.NewBudget(4 << 20)
	fill := func(c *columns) error {
		for i := range 1 << 20 {
			item := decision.Item{Fields: map[string]any{"x": json.Number(fmt.Sprint(i))}}
			if err := c.add(&item); err != nil {
				return err
			}
		}
		return nil
	}
	first := newColumns([]tables.FieldRef{{Name: "x"}}, 2<<20, shared)
	if err := fill(first); !errors.Is(err, errTooManyItems) {
		t.Errorf("the first request: got %v, want %v", err, errTooManyItems)
	}
	if held := shared.Held(); held < 2<<20 || held > 2<<20+chargeStep+1<<10 {
		t.Errorf("the first request is charged %d, want about %d", held, 2<<20)
	}
	second := newColumns([]tables.FieldRef{{Name: "x"}}, 3<<20, shared)
	if err := fill(second); !errors.Is(err, errItemsInUse) {
		t.Errorf("the second request: got %v, want %v", err, errItemsInUse)
	}
	first.release()
	second.release()
	if held := shared.Held(); held != 0 {
		t.Errorf("%d bytes are charged after both, want 0", held)
	}
}

// decide returns the whole decision.
func decide(ctx context.Context, p *Policies, r *decision.VisibilityRequest) decision.VisibilityDecision {
	return complete(ctx, p, r, p.Visibility(ctx, r))
}

// complete adds items and numbers to an authorization.
func complete(ctx context.Context, p *Policies, r *decision.VisibilityRequest, a decision.Authorization) decision.VisibilityDecision {
	return decision.DecideVisibility(ctx, filtering{policies: p}, r, a)
}

// filtering is the part of decision.Policies that filters items.
type filtering struct {
	decision.Unavailable
	policies *Policies
}

func (f filtering) FilterItems(ctx context.Context, r *decision.VisibilityRequest, a decision.Authorization, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	return f.policies.FilterItems(ctx, r, a, items, yield)
}
