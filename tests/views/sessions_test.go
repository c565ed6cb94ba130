package views

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// sessionWords are the words for the states of sessions.
var sessionWords = map[string]string{
	console.SessionHolds: "holds now", console.SessionBegins: "begins later", console.SessionRefused: "not valid", console.SessionEnded: "ended",
}

// drawnSessions are sessions around now, with groups that are bound and others.
func drawnSessions(r *rand.Rand, now time.Time) string {
	const head = "{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: %s, metadata: {name: s-%d, namespace: bg}, "
	at := func(from, to int) string {
		return now.Add(time.Duration(from+r.IntN(to-from)) * time.Hour).UTC().Format(time.RFC3339)
	}
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	documents := make([]string, 0, 40)
	for i := range 30 {
		begins, ends := at(-9, -4), at(5, 60)
		switch r.IntN(4) {
		case 0:
			begins = at(3, 4)
		case 1:
			begins, ends = at(-9, -5), at(-4, -1)
		}
		documents = append(documents, fmt.Sprintf(head+"spec: {cluster: %s, user: u%d, grantedGroup: %s}, status: {state: %s, approvedAt: %q, expiresAt: %q}}",
			"BreakglassSession", i, one("prod-eu-1", "dev"), i, one("shop-developers", "cluster-admins", "unbound"), one("Approved", "Approved", "Approved", "Pending"), begins, ends))
	}
	for i := range 6 {
		documents = append(documents, fmt.Sprintf(head+"spec: {cluster: dev}, status: {state: Active, startsAt: %q, expiresAt: %q, allowedPods: [{namespace: shop, name: web-%d}], participants: [{user: d%d, role: owner}]}}",
			"DebugSession", i, at(-9, 4), at(5, 60), i, i))
	}
	return strings.Join(documents, "\n---\n")
}

// The view of sessions shows what the endpoint answers, and the question behind each session
// that holds is allowed because of it.
func TestSessions(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/policies")); err != nil {
		t.Fatal(err)
	}
	drawn := drawnSessions(rand.New(rand.NewPCG(7, 11)), time.Now())
	if err := os.WriteFile(filepath.Join(dir, "sessions.yaml"), []byte(drawn), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir)
	held, seen := 0, make(map[string]bool)
	for _, query := range []string{"", "state=holds", "cluster=dev&state=begins", "user=u1"} {
		rows := s.view("/page/sessions?" + query).tags("tbody")[0].tags("tr")
		found := answer[console.Sessions](s, "/v1/sessions?"+query)
		if len(rows) != len(found.Sessions) {
			t.Fatalf("%s: got %d rows, want %d", query, len(rows), len(found.Sessions))
		}
		for i, row := range rows {
			want, text := &found.Sessions[i], row.text()
			seen[want.State] = true
			for _, part := range append([]string{sessionWords[want.State], want.Cluster, want.Kind + " " + want.Namespace + "/" + want.Name, want.Source, want.Group}, want.Users...) {
				if !strings.Contains(text, part) {
					t.Errorf("%s: the row %s lacks %q", query, text, part)
				}
			}
			links := row.tags("a")
			if last := links[len(links)-1]; strings.HasPrefix(last.text(), "Ask for ") {
				held++
				answer := s.view(last.attribute("href"))
				if why := answer.named("Answer").text(); answer.named("Outcome").text() != words[console.Allow] || !strings.Contains(why, want.Name) || want.State != console.SessionHolds {
					t.Errorf("%s leads to %s", text, why)
				}
			} else if want.State == console.SessionHolds && want.Group != "unbound" {
				t.Errorf("%s has no question", text)
			}
		}
	}
	if held < 10 || len(seen) != len(sessionWords) {
		t.Errorf("%d questions were followed, of sessions in the states %v, which proves little", held, seen)
	}
}
