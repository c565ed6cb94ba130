package server

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/engine"
)

// Status, metrics and log state where OPA evaluates the Rego of the bundle.
func TestStatusNamesWhatDecides(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ by, status, metric, logged string }{
		{engine.DecideByCompiled, "", `writ_point_by_opa{point="visibility"} 0`, ""},
		{engine.DecideByOPA, `"byOPA":{"access":"asconfigured","gateway":"asconfigured","visibility":"asconfigured"}`, `writ_point_by_opa{point="visibility"} 1`, "point=access"},
	} {
		t.Run(row.by, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			var log syncBuffer
			h.config.DecideBy, h.config.Logger = row.by, slog.New(slog.NewTextHandler(&log, nil))
			r := h.run()
			r.eventually("it is ready", r.isReady)
			_, status := r.get("/v1/status")
			if status = strings.Join(strings.Fields(status), ""); !strings.Contains(status, row.status) || row.status == "" && strings.Contains(status, "byOPA") {
				t.Errorf("got the status %s", status)
			}
			// The metrics of a revision follow its activation.
			r.eventually("the metrics have "+row.metric, func() bool {
				_, metrics := r.get("/metrics")
				return strings.Contains(metrics, row.metric)
			})
			if text := log.String(); strings.Contains(text, "OPA evaluates the Rego") != (row.logged != "") || !strings.Contains(text, row.logged) {
				t.Errorf("got the log\n%s", text)
			}
		})
	}
}
