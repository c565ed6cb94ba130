package server

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/replay"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
)

// The decisions of every protocol are in the decision log, which replay reads.
func TestDecisionLog(t *testing.T) {
	h := newHouse(t)
	h.config.Audit.DecisionLog = filepath.Join(h.dir, "decisions.jsonl")
	var log syncBuffer
	h.config.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h.write("policies/gateway.yaml", `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: b, namespace: a}
spec: {gatewayClassName: envoy, listeners: [{name: http, port: 80, protocol: HTTP}]}
`)
	r := h.run()
	r.eventually("the server is ready", r.isReady)
	const access = `{"user":"alice","verb":"get","resource":"pods","namespace":"hammer"}`
	id := ""
	asked := [][2]string{
		{"/v1/decisions/access", access},
		{"/v1/decisions/access/batch", `{"requests":[` + access + `,{"user":7},` + access + `]}`},
		{"/v1/decisions/visibility", `{"user":"alice","type":"pods","cluster":{"name":"east"}}`},
		{"/v1/decisions/gateway", `{"gateway":{"namespace":"a","name":"b"},"request":{"host":"h","method":"GET","path":"/"}}`},
		{"/apis/authorization.k8s.io/v1/subjectaccessreviews", `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":"alice","resourceAttributes":{"verb":"get","resource":"pods","namespace":"hammer"}}}`},
		{"/access/v1/evaluation", `{"subject":{"type":"user","id":"bob"},"action":{"name":"get"},"resource":{"type":"pods","id":"p"}}`},
		{"/v1/data/writ/access/decision", `{"input":` + access + `}`},
	}
	for _, row := range asked {
		response, err := r.client.Post(r.url+row[0], "application/json", strings.NewReader(row[1]))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("%s: got %d %s, %v", row[0], response.StatusCode, body, err)
		}
		var answer struct {
			ID string `json:"decision_id"`
		}
		if json.Unmarshal(body, &answer) == nil && answer.ID != "" {
			id = answer.ID
		}
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(h.config.Audit.DecisionLog)
	if err != nil {
		t.Fatal(err)
	}
	if id == "" || !strings.Contains(string(content), id) || !strings.Contains(string(content), `"sources":["viewers.yaml:`) {
		t.Errorf("id %q: got %s", id, content)
	}
	report, err := replay.Run(t.Context(), []replay.Log{{Name: "log", In: strings.NewReader(string(content))}}, replay.Options{
		Decide: func(context.Context, time.Time, string, decision.Question) (statement.Verdict, error) {
			return statement.Verdict{Outcome: "none", Decision: []byte(`{"reason":"","matched":[]}`)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if events := len(asked) + 1; report.Events != events || report.Replayed != events { // two of the batch
		t.Errorf("replay: got %+v of\n%s", report, content)
	}
	for _, point := range []string{decision.Access, decision.Visibility, decision.Gateway} {
		if !strings.Contains(string(content), `"path":"writ/`+point+`/decision"`) {
			t.Errorf("no decision at %s in\n%s", point, content)
		}
	}
	for line := range strings.Lines(string(content)) {
		var event struct {
			ID string `json:"decision_id"`
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		first, isSecond := strings.CutSuffix(event.ID, "-2")
		want := `"decision":"` + first + `","outcome":"`
		if isSecond || strings.Contains(string(content), first+"-2") {
			want = `"decision":"` + first + `","decisions":2}`
		}
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("the log of requests does not have %s once for %s", want, line)
		}
	}
}
