package api

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

const (
	allowedOne = `{"allowed":true,"denied":false,"reason":"allowed by RoleBinding master/admins (Role master/cluster-admin, rule 0)","warnings":[],"matched":[{"kind":"RoleBinding","namespace":"master","name":"admins","rule":0,"source":"admins.yaml:7","effect":"allow","apiVersion":"writ.dev/v1","role":{"kind":"Role","namespace":"master","name":"cluster-admin"}}]}`
	refusedOne = `{"allowed":false,"denied":false,"reason":"not allowed: no rule allows get pods","warnings":[],"matched":[]}`
)

func TestBatch(t *testing.T) {
	const clark, other = `{"user":"clark","verb":"get","resource":"pods"}`, `{"user":"x","verb":"get","resource":"pods"}`
	for _, row := range []struct {
		name, media, body string
		status            int
		want              string
	}{
		{"in order", "application/json", `{"requests":[` + clark + `,` + other + `,` + clark + `]}`, 200, `{"decisions":[` + allowedOne + `,` + refusedOne + `,` + allowedOne + "]}\n"},
		{"none", "", `{"requests":[]}`, 200, `{"decisions":[]}` + "\n"},
		{
			"an invalid request", "", `{"requests":[` + clark + `,{"user":"x"},7,` + other + `]}`, 200,
			`{"decisions":[` + allowedOne + `,{"error":{"code":"invalid_request","message":"key \"verb\" must be a string that is not empty"}},{"error":{"code":"invalid_request","message":"the request is not a JSON object"}},` + refusedOne + "]}\n",
		},
		{"a panic", "", `{"requests":[{"user":"x","verb":"panic","resource":"pods"},` + other + `]}`, 200, `{"decisions":[{"allowed":false,"denied":true,"reason":"denied: evaluation error: internal error","warnings":[],"matched":[]},` + refusedOne + "]}\n"},
		{"no list", "", `{"requests":{}}`, 400, `"requests\" must be a list"`},
		{"null", "", `{"requests":null}`, 400, `"detail":"key \"requests\" must be given"`},
		{"another key", "", `{"requests":[],"x":1}`, 400, `"detail":"unknown key \"x\""`},
		{"not an object", "", `[]`, 400, "the batch is not a JSON object"},
		{"twice", "", `{"requests":[],"requests":[]}`, 400, "twice"},
		{"too many", "", `{"requests":[` + strings.Repeat("1,", exchange.MaxBatch) + `1]}`, 413, "the batch has more than 10000 requests"},
		{"another type", "text/plain", `{"requests":[]}`, 415, "must be application/json or application/x-ndjson"},
		{"lines", linesMedia, clark + "\n\n" + other + "\r\n" + clark, 200, allowedOne + "\n" + refusedOne + "\n" + allowedOne + "\n"},
		{"no lines", linesMedia, "\n \n", 200, ""},
		{
			"lines that are not requests", linesMedia, clark + "\n{\"user\":\n[]\n" + other + "\n", 200,
			allowedOne + "\n" + `{"error":{"code":"invalid_request","message":"the body is not JSON: it ends too early"}}` + "\n" +
				`{"error":{"code":"invalid_request","message":"the request is not a JSON object"}}` + "\n" + refusedOne + "\n",
		},
		{"a line that is too long", linesMedia, clark + "\n" + strings.Repeat("x", 2<<20) + "\n" + clark, 200, "the line is longer than"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, o := endpoints(&fake{}, nil)
			r := httptest.NewRequest("POST", "/v1/decisions/access/batch", strings.NewReader(row.body))
			if row.media != "" {
				r.Header.Set("Content-Type", row.media)
			}
			w := httptest.NewRecorder()
			New(o).ServeHTTP(w, r)
			got := w.Body.String()
			if w.Code != row.status || row.status == 200 && !strings.Contains(row.want, "line is longer") && got != row.want || !strings.Contains(got, row.want) {
				t.Errorf("got %d %s\nwant %d %s", w.Code, got, row.status, row.want)
			}
			if row.status == 200 && w.Header().Get("Writ-Revision") != fakeRevision {
				t.Errorf("got the revision %q, want %q", w.Header().Get("Writ-Revision"), fakeRevision)
			}
		})
	}
}

// All requests of a batch are decided by the revision that was active at its begin.
func TestBatchHasOneRevision(t *testing.T) {
	for _, media := range []string{"application/json", linesMedia} {
		_, o := endpoints(&fake{}, nil)
		loads := 0
		current := o.Current
		o.Current = func() decision.Policies { loads++; return current() }
		line := `{"user":"clark","verb":"get","resource":"pods"}`
		body := strings.Repeat(line+"\n", 50)
		if media == "application/json" {
			body = `{"requests":[` + strings.Repeat(line+",", 49) + line + `]}`
		}
		r := httptest.NewRequest("POST", "/v1/decisions/access/batch", strings.NewReader(body))
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		New(o).ServeHTTP(w, r)
		if got := strings.Count(w.Body.String(), `"allowed":true`); got != 50 || loads != 1 {
			t.Errorf("%s: got %d decisions from %d revisions, want 50 from 1", media, got, loads)
		}
	}
}

// A long answer arrives whole, in pieces, and the place for decisions is free afterwards.
func TestBatchLongAnswer(t *testing.T) {
	_, o := endpoints(&fake{}, nil)
	o.MaxInFlight = 1
	server := httptest.NewServer(New(o))
	defer server.Close()
	const requests = 3000
	for range 2 {
		body := `{"requests":[` + strings.Repeat(`{"user":"clark","verb":"get","resource":"pods"},`, requests-1) + `{"user":"x","verb":"get","resource":"pods"}]}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/decisions/access/batch", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "example.com"
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), `"allowed":true`); got != requests-1 || !strings.HasSuffix(string(text), refusedOne+"]}\n") {
			t.Fatalf("got %d and %d decisions that allow in %d bytes, want %d", answer.StatusCode, got, len(text), requests-1)
		}
	}
}

// ticking is a policy whose clock goes on. AtNow returns one whose clock stands.
type ticking struct {
	*fake
	stood, asked int
}

func (p *ticking) AtNow() decision.Policies { p.stood++; return p.fake }

func (p *ticking) Access(ctx context.Context, r *decision.Request) decision.Decision {
	p.asked++
	return p.fake.Access(ctx, r)
}

// All requests of a batch are decided at one time, those of AuthZEN and the candidates of its
// searches as well.
func TestBatchHasOneTime(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/decisions/access/batch": `{"requests":[{"user":"clark","verb":"get","resource":"pods"},{"user":"x","verb":"get","resource":"pods"}]}`,
		"/access/v1/evaluations":     `{"subject":{"type":"user","id":"clark"},"resource":{"type":"pods","id":"p"},"evaluations":[{"action":{"name":"get"}},{"action":{"name":"list"}}]}`,
		"/access/v1/search/action":   `{"subject":{"type":"user","id":"clark"},"resource":{"type":"pods","id":"p"}}`,
	} {
		p := &ticking{fake: &fake{}}
		_, o := endpoints(p.fake, nil)
		o.Current = serving(p)
		r, w := httptest.NewRequest("POST", path, strings.NewReader(body)), httptest.NewRecorder()
		r.Header.Set("Content-Type", "application/json")
		New(o).ServeHTTP(w, r)
		if w.Code != 200 || p.stood != 1 || p.asked != 0 || !strings.Contains(path, "search") && strings.Count(p.questions(), "evaluate") != 2 {
			t.Errorf("%s: got %d, %d times, %d decisions by the clock, want 1 and none\n%s\n%s", path, w.Code, p.stood, p.asked, p.questions(), w.Body)
		}
	}
}
