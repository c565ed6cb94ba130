package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/replay"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/tests/revisions"
)

func deciderOf(side *diff.Side) replay.Decider {
	return func(ctx context.Context, _ time.Time, point string, q decision.Question) (statement.Verdict, error) {
		return side.Judge(ctx, point, q.(*decision.Request).Encode())
	}
}

func run(t *testing.T, log string, o replay.Options) *replay.Report {
	t.Helper()
	report, err := replay.Run(t.Context(), []replay.Log{{Name: "log", In: strings.NewReader(log)}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func textOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// count is the number of changes of one kind of request.
type count map[[6]string]int

// A replay counts what a loop over the decisions of both revisions counts, and its shards
// add up to it, to the byte.
func TestReplayIsALoopOverDecisions(t *testing.T) {
	changes := 0
	for seed := range uint64(2) {
		w := revisions.Random{Rand: rand.New(rand.NewPCG(seed, 7))}
		a, b := revisions.Of(t, w.Documents()), revisions.Of(t, w.Documents())
		o := replay.Options{Decide: deciderOf(b), Against: deciderOf(a), Facts: statement.FactsOf(a.World, b.World), Used: b.World}
		var log strings.Builder
		want, unchanged := count{}, 0
		const events = 300
		for i := range events {
			r := w.Request()
			if r["labels"] == nil {
				r["labels"] = map[string]string{}
			}
			fmt.Fprintf(&log, `{"time":"2026-11-01T00:%02d:00Z","request":%s,"decision":{"allowed":%v}}`+"\n", i%60, revisions.Text(r), i%3 == 0)
			from, to := revisions.Outcome(t, a, r), revisions.Outcome(t, b, r)
			if from == to {
				unchanged++
				continue
			}
			of := func(key string) string { text, _ := r[key].(string); return text }
			want[[6]string{from, to, of("verb"), of("apiGroup"), strings.TrimSuffix(of("resource")+"/"+of("subresource"), "/"), of("namespace")}]++
		}
		report := run(t, log.String(), o)
		got := count{}
		for _, c := range report.Changed {
			got[[6]string{c.From, c.To, c.Verb, c.APIGroup, c.Resource, c.Namespace}] += c.Count
			changes += c.Count
		}
		if !maps.Equal(got, want) || report.Unchanged != unchanged || report.Replayed != events || len(report.Uncertain) > 0 {
			t.Errorf("seed %d: got %v and %d unchanged of %d, uncertain %v; want %v and %d", seed, got, report.Unchanged, report.Replayed, report.Uncertain, want, unchanged)
		}
		var parts []*replay.Report
		for i := range 4 {
			o.Shard, o.Shards = i, 4
			part := new(replay.Report)
			if err := json.Unmarshal([]byte(textOf(t, run(t, log.String(), o))), part); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, part)
		}
		merged, err := replay.Merge(parts)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := textOf(t, merged), textOf(t, report); got != want {
			t.Errorf("seed %d: the shards come to %s\nwant %s", seed, got, want)
		}
	}
	if changes == 0 {
		t.Error("nothing changes: the test proves nothing")
	}
}

const lackingDocuments = `
{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: ["*"], apiGroups: [""], resources: ["*"]}]}
---
{kind: RoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: b, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: User, name: u}]}
---
{kind: Role, apiVersion: writ.dev/v1, metadata: {name: d, namespace: master}, rules: [
 {deny: true, verbs: [update], resourceKinds: [services], attributeRestrictions: {labelsContain: [locked]}},
 {deny: true, verbs: [update], resourceKinds: [services], attributeRestrictions: {fieldsMutatable: [spec]}},
 {deny: true, verbs: [get], resourceKinds: [pods], attributeRestrictions: {kind: sameMinionRestriction}}]}
---
{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: d, namespace: master}, roleRef: {name: d}, userNames: [u]}
---
{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: labels}, spec: {
 rules: [{verbs: [list], apiGroups: [""], resources: [secrets], namespaces: {selectorTerms: [{matchLabels: {env: prod}}]}}]}}
---
{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: pods}, spec: {podSecurityRules: {
 appliesTo: {subresources: [exec]}, riskFactors: {}, blockFactors: [hostPathReadOnly, "capability:BPF"], thresholds: [{maxScore: 100, action: allow}],
 exemptions: {namespaces: {selectorTerms: [{matchLabels: {env: lab}}]}}, failMode: open}}}
`

// An event is uncertain exactly if another value of what it lacks has another outcome, and
// not each one is a change.
func TestUncertain(t *testing.T) {
	side := revisions.Of(t, []string{lackingDocuments})
	rows := map[string]struct {
		request, recorded string
		want              map[string]int
	}{
		"labels and fields":                      {`{"user":"u","verb":"update","resource":"services","namespace":"shop"}`, "allow", map[string]int{"labels": 1}},
		"fields":                                 {`{"user":"u","verb":"update","resource":"services","namespace":"shop","labels":{}}`, "allow", map[string]int{"fields": 1}},
		"fields that cannot change it":           {`{"user":"u","verb":"update","resource":"services","namespace":"shop","labels":{"locked":""}}`, "allow", map[string]int{}},
		"a change with every value":              {`{"user":"u","verb":"update","resource":"services","namespace":"lab"}`, "allow", map[string]int{}},
		"namespace labels":                       {`{"user":"u","verb":"list","resource":"secrets","namespace":"shop"}`, "allow", map[string]int{"namespaceLabels": 1}},
		"a forbidden event":                      {`{"user":"u","verb":"list","resource":"secrets","namespace":"shop"}`, "forbid", map[string]int{"namespaceLabels": 1}},
		"a forbidden event that no value allows": {`{"user":"v","verb":"list","resource":"secrets","namespace":"shop"}`, "forbid", map[string]int{}},
		"a pod":                                  {`{"user":"u","verb":"create","resource":"pods","subresource":"exec","namespace":"shop"}`, "allow", map[string]int{"pod": 1}},
		"the labels that exempt a pod":           {`{"user":"u","verb":"create","resource":"pods","subresource":"exec","namespace":"shop","pod":{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}],"containers":[{"name":"c"}]}}}`, "allow", map[string]int{"namespaceLabels": 1}},
		"a node":                                 {`{"user":"u","verb":"get","resource":"pods","namespace":"shop"}`, "allow", map[string]int{"attributes": 1}},
		"a node beside other attributes":         {`{"user":"u","verb":"get","resource":"pods","namespace":"shop","attributes":{"minion":"a"}}`, "allow", map[string]int{"attributes": 1}},
		"both nodes":                             {`{"user":"u","verb":"get","resource":"pods","namespace":"shop","attributes":{"minion":"a","podMinion":"b"}}`, "allow", map[string]int{}},
	}
	for name, row := range rows {
		var r struct {
			User, Verb, Resource, Subresource, Namespace string
		}
		if err := json.Unmarshal([]byte(row.request), &r); err != nil {
			t.Fatal(err)
		}
		log := fmt.Sprintf(`{"request":%s,"decision":{"allowed":true}}`, row.request)
		if row.recorded == "forbid" {
			log = fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"1","verb":%q,"user":{"username":%q},"objectRef":{"resource":%q,"subresource":%q,"namespace":%q},"annotations":{"authorization.k8s.io/decision":"forbid"}}`,
				r.Verb, r.User, r.Resource, r.Subresource, r.Namespace)
		}
		report := run(t, log, replay.Options{Decide: deciderOf(side), Facts: statement.FactsOf(side.World)})
		if !reflect.DeepEqual(report.Uncertain, row.want) {
			t.Errorf("%s: got %v, want %v: %s", name, report.Uncertain, row.want, textOf(t, report))
		}
	}
}
