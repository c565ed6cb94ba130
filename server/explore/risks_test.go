package explore

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/view"
)

const riskyDocuments = `== a.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: shop, namespace: shop}
rules:
  - {apiGroups: [""], resources: [pods/exec], verbs: [create]}
  - {apiGroups: [""], resources: [secrets], verbs: [get]}
  - {apiGroups: [""], resources: [pods], verbs: [create]}
---
# writ:ignore risk-exec the on-call team debugs pods
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: shop, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: shop}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}, {apiGroup: rbac.authorization.k8s.io, kind: Group, name: ops}]
`

func (s *site) risks(q view.RisksQuery) *view.Risks {
	s.t.Helper()
	r, err := s.explorer.Now().Risks(s.t.Context(), view.Caller{SeesAll: true}, q)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// A risk has the line of its binding, and its request is allowed by that binding. Those
// that a comment accepts come last.
func TestRisks(t *testing.T) {
	s := newSite(t, riskyDocuments)
	r := s.risks(view.RisksQuery{})
	if r.Total != 3 || r.Accepted != 1 || len(r.Risks) != 3 || r.Severities["low"] != 2 || r.Revision != s.active.Revision() {
		t.Fatalf("got %+v", r)
	}
	for i, risk := range r.Risks {
		isAccepted := risk.Code == "risk-exec"
		if (risk.Accepted != nil) != isAccepted || isAccepted != (i == 2) || risk.Source != "a.yaml:11" || risk.Remedy == "" || !strings.Contains(risk.Sentence, "user alice") {
			t.Errorf("got %+v", risk)
		}
		if isAccepted && (risk.Accepted.Reason != "the on-call team debugs pods" || risk.Accepted.Source != "a.yaml:9") {
			t.Errorf("got %+v", risk.Accepted)
		}
		asked, err := decision.Decode(risk.Request)
		if err != nil {
			t.Fatal(err)
		}
		d := s.active.Access(t.Context(), asked)
		if !d.Allowed || len(d.Matched) != 1 || d.Matched[0].Binding.Source != risk.Source || d.Matched[0].Source != risk.RuleSource {
			t.Errorf("%s: got %s", risk.Request, d.AppendJSON(nil))
		}
	}
	for _, row := range []struct {
		name string
		q    view.RisksQuery
		want string
	}{
		{"a code", view.RisksQuery{Code: "risk-read-secrets"}, "risk-read-secrets"},
		{"a severity", view.RisksQuery{Severity: "high"}, ""},
		{"a subject", view.RisksQuery{Subject: "OPS"}, "risk-create-pods risk-read-secrets risk-exec"},
		{"another subject", view.RisksQuery{Subject: "bob"}, ""},
		{"a page", view.RisksQuery{Limit: 1}, "risk-create-pods"},
		{"the next page", view.RisksQuery{Limit: 1, After: "1"}, "risk-read-secrets"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, risk := range s.risks(row.q).Risks {
				got = append(got, risk.Code)
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	for name, row := range map[string]struct {
		caller view.Caller
		q      view.RisksQuery
		want   view.Reason
	}{
		"not an auditor":      {view.Caller{User: "alice"}, view.RisksQuery{}, view.Forbidden},
		"an unknown severity": {view.Caller{SeesAll: true}, view.RisksQuery{Severity: "worst"}, view.Invalid},
		"not a page":          {view.Caller{SeesAll: true}, view.RisksQuery{After: "x"}, view.Invalid},
	} {
		_, err := s.explorer.Now().Risks(t.Context(), row.caller, row.q)
		var e *view.Error
		if !errors.As(err, &e) || e.Reason != row.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Concurrent questions search a revision once, and the next revision once more.
func TestRisksAreSearchedOnce(t *testing.T) {
	s := newSite(t, riskyDocuments)
	searches := func() map[*riskSearch]bool {
		var mu sync.Mutex
		var all sync.WaitGroup
		seen := make(map[*riskSearch]bool)
		for range 50 {
			all.Go(func() {
				_, err := s.explorer.Now().Risks(t.Context(), view.Caller{SeesAll: true}, view.RisksQuery{})
				var e *view.Error
				if err != nil && (!errors.As(err, &e) || e.Reason != view.Pending) {
					t.Errorf("got %v", err)
				}
				found := s.explorer.risks.of(s.active.Revision(), s.active.Statements())
				mu.Lock()
				defer mu.Unlock()
				seen[found] = true
			})
		}
		all.Wait()
		return seen
	}
	first := searches()
	if err := s.load(riskyDocuments + "---\n" + strings.ReplaceAll(riskyDocuments[len("== a.yaml\n"):], "name: shop", "name: more")); err != nil {
		t.Fatal(err)
	}
	second := searches()
	for search := range first {
		if len(first) != 1 || len(second) != 1 || second[search] {
			t.Errorf("got %d and %d searches, want one for each revision", len(first), len(second))
		}
	}
	text, err := json.Marshal(s.risks(view.RisksQuery{}))
	if err != nil || !strings.Contains(string(text), `"total":6`) {
		t.Errorf("got %s, %v", text, err)
	}
}
