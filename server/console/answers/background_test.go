package answers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

// A comparison that failed is made again after a while: the stored bundle may be there again.
func TestFailedComparisonIsTriedAgain(t *testing.T) {
	s := newSite(t, labelsDocuments)
	first := s.active
	if err := s.load(labelsDocuments + "== more.yaml\n" + someRole); err != nil {
		t.Fatal(err)
	}
	s.explorer.past = nil // the revisions are those of the state directory
	at, isBroken := now, true
	s.explorer.o.Now = func() time.Time { return at }
	s.explorer.o.Stored = func() ([]Stored, error) {
		return []Stored{{Revision: first.Loaded().Revision}, {Revision: s.active.Loaded().Revision}}, nil
	}
	s.explorer.o.Open = func(_ context.Context, id string) (decision.Policies, error) {
		switch {
		case isBroken:
			return nil, errors.New("stale file handle")
		case id == first.Loaded().Revision:
			return first, nil
		}
		return s.active, nil
	}
	pair := [2]string{first.Loaded().Revision, s.active.Loaded().Revision}
	for _, step := range []struct {
		name     string
		later    time.Duration
		isBroken bool
		want     string
	}{
		{"at first", 0, true, "stale file handle"},
		{"soon after, the failure is known", time.Second, false, "stale file handle"},
		{"later", tryAgain, false, ""},
		{"what was compared is kept", 24 * time.Hour, true, ""},
	} {
		at, isBroken = at.Add(step.later), step.isBroken
		<-s.explorer.compare(pair).done
		_, err := s.explorer.Now().Diff(t.Context(), all, pair[0], pair[1])
		if step.want == "" && err != nil || step.want != "" && (err == nil || !strings.Contains(err.Error(), step.want)) {
			t.Errorf("%s: got %v, want %q", step.name, err, step.want)
		}
	}
}

// A search for risks that failed is made again after a while: the machine may have been busy.
func TestFailedSearchIsTriedAgain(t *testing.T) {
	s := newSite(t, labelsDocuments)
	at := now
	s.explorer.o.Now = func() time.Time { return at }
	search, err := s.explorer.risks.of(s.active, s.explorer.o.Now)
	if err != nil {
		t.Fatal(err)
	}
	<-search.done
	search.err, search.again = errors.New("too large"), at.Add(tryAgain)
	if _, err := s.explorer.Now().Risks(t.Context(), all, console.RisksQuery{}); err == nil {
		t.Error("the failure is not kept")
	}
	at = at.Add(tryAgain)
	if _, err := s.explorer.Now().Risks(t.Context(), all, console.RisksQuery{}); err != nil {
		t.Errorf("got %v", err)
	}
}

const someRole = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: more}\nrules: []\n"
