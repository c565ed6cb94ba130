package answers

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
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

func (s *site) risks(q console.RisksQuery) *console.Risks {
	s.t.Helper()
	r, err := s.explorer.Now().Risks(s.t.Context(), console.Caller{SeesAll: true}, q)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// A risk has the line of its binding, and its request is allowed by that binding. Those
// that a comment accepts come last.
func TestRisks(t *testing.T) {
	s := newSite(t, riskyDocuments)
	r := s.risks(console.RisksQuery{})
	if r.Total != 3 || r.Accepted != 1 || len(r.Risks) != 3 || r.Severities["low"] != 2 || r.Revision != s.active.Loaded().Revision {
		t.Fatalf("got %+v", r)
	}
	if len(r.Codes) != 3 || r.Codes[2].Code != "risk-exec" || r.Codes[2].Accepted != 1 || r.Codes[0].Total != 1 || r.Codes[0].Can != "create or change pods" || strings.Contains(r.Codes[0].Text, "Remedy") {
		t.Errorf("got the codes %+v", r.Codes)
	}
	for i, risk := range r.Risks {
		isAccepted := risk.Code == "risk-exec"
		if (risk.Accepted != nil) != isAccepted || isAccepted != (i == 2) || risk.Source != "a.yaml:11" || risk.Remedy == "" || !strings.Contains(risk.Sentence, "user alice") {
			t.Errorf("got %+v", risk)
		}
		if isAccepted && (risk.Accepted.Reason != "the on-call team debugs pods" || risk.Accepted.Source != "a.yaml:9") {
			t.Errorf("got %+v", risk.Accepted)
		}
		asked, err := decision.Decode[decision.Request](risk.Request)
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
		q    console.RisksQuery
		want string
	}{
		{"a code", console.RisksQuery{Code: "risk-read-secrets"}, "risk-read-secrets"},
		{"a severity", console.RisksQuery{Severity: "high"}, ""},
		{"a subject", console.RisksQuery{Subject: "OPS"}, "risk-create-pods risk-read-secrets risk-exec"},
		{"another subject", console.RisksQuery{Subject: "bob"}, ""},
		{"a page", console.RisksQuery{Limit: 1}, "risk-create-pods"},
		{"the next page", console.RisksQuery{Limit: 1, After: "1"}, "risk-read-secrets"},
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
		caller console.Caller
		q      console.RisksQuery
		want   console.Reason
	}{
		"not an auditor":      {console.Caller{User: "alice"}, console.RisksQuery{}, console.Forbidden},
		"an unknown severity": {console.Caller{SeesAll: true}, console.RisksQuery{Severity: "worst"}, console.Invalid},
		"not a page":          {console.Caller{SeesAll: true}, console.RisksQuery{After: "x"}, console.Invalid},
	} {
		_, err := s.explorer.Now().Risks(t.Context(), row.caller, row.q)
		var e *console.Error
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
				_, err := s.explorer.Now().Risks(t.Context(), console.Caller{SeesAll: true}, console.RisksQuery{})
				var e *console.Error
				if err != nil && (!errors.As(err, &e) || e.Reason != console.Pending) {
					t.Errorf("got %v", err)
				}
				found, err := s.explorer.risks.of(s.active, s.explorer.o.Now)
				if err != nil {
					t.Error(err)
				}
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
	text, err := json.Marshal(s.risks(console.RisksQuery{}))
	if err != nil || !strings.Contains(string(text), `"total":6`) {
		t.Errorf("got %s, %v", text, err)
	}
}

// A search holds until a document begins or ends: it has what is granted at the time.
func TestRisksFollowTheClock(t *testing.T) {
	s := newSite(t, strings.Replace(riskyDocuments, "metadata: {name: shop, namespace: shop}\nroleRef", "metadata: {name: shop, namespace: shop, annotations: {writ.dev/not-before: 2026-11-22T10:00:00Z, writ.dev/not-after: 2026-11-22T12:00:00Z}}\nroleRef", 1))
	at := now
	s.explorer.o.Now = func() time.Time { return at }
	var searches []*riskSearch
	for hour, want := range []int{0, 3, 3, 0, 0} { // from 9 o'clock
		at = now.Add(time.Duration(hour) * time.Hour)
		if r := s.risks(console.RisksQuery{}); r.Total != want {
			t.Errorf("at %s: got %d risks, want %d", at.Format(time.TimeOnly), r.Total, want)
		}
		if last := s.explorer.risks.last; !slices.Contains(searches, last) {
			searches = append(searches, last)
		}
	}
	if len(searches) != 3 {
		t.Errorf("got %d searches, want one before, one within and one after the time of the binding", len(searches))
	}
}

// Why risks are accepted is found once for the texts and the day, and again when these change.
func TestAcceptancesAreKept(t *testing.T) {
	s := newSite(t, riskyDocuments)
	at := now
	s.explorer.o.Now = func() time.Time { return at }
	kept := func() *console.Accepted {
		r := s.risks(console.RisksQuery{})
		return r.Risks[len(r.Risks)-1].Accepted
	}
	first, revision := kept(), s.active.Loaded().Revision
	if at = at.Add(time.Hour); first == nil || kept() != first {
		t.Fatalf("got %p and then %p of the same texts and day", first, kept())
	}
	if at = at.Add(24 * time.Hour); kept() == first {
		t.Error("a day later nothing was read again")
	}
	if err := s.load(strings.Replace(riskyDocuments, "writ:ignore", "writ ignores", 1)); err != nil || s.active.Loaded().Revision != revision {
		t.Fatalf("a comment makes revision %s of %s: %v", s.active.Loaded().Revision, revision, err)
	}
	if found := kept(); found != nil {
		t.Errorf("without the comment: got %+v", found)
	}
}
