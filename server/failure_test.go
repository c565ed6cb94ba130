package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// Whatever happens to the documents, the last good revision is served, and log, status and
// metrics show what is wrong. A restart serves it too, from the state directory.
func TestDocumentsFail(t *testing.T) {
	h := newHouse(t)
	h.config.StateDir = h.dir + "/state"
	documents, aside := h.config.Policies[0], h.dir+"/aside"
	good := strings.ReplaceAll(viewers, "NAME", "alice")
	move := func(from, to string) func() {
		return func() {
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, row := range []struct {
		name       string
		begin, end func()
		logged     string
		at         string // FILE:LINE of the diagnostic, empty for an error
	}{
		{
			"a document with an error", func() {
				h.write("policies/broken.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRol\nmetadata: {name: x}\n")
			},
			func() { move(documents+"/broken.yaml", aside)() }, "code=unknown-kind at=broken.yaml:2:7", "broken.yaml:2:7",
		},
		{
			"a half of a file", func() { h.write("policies/viewers.yaml", good[:len(good)-20]) },
			func() { h.write("policies/viewers.yaml", good) }, "at=viewers.yaml:", "viewers.yaml:",
		},
		{"a directory that vanishes", move(documents, aside), move(aside, documents), "read the policy directory: no such file or directory", ""},
		{"a directory that is emptied", move(documents+"/viewers.yaml", aside), move(aside, documents+"/viewers.yaml"), "the documents have an error: no-documents", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			h.t = t
			_ = os.RemoveAll(aside)
			log := &syncBuffer{}
			h.config.Logger = slog.New(slog.NewTextHandler(log, nil))
			r := h.run()
			r.eventually("alice may", func() bool { return r.isReady() && r.allowed("alice") })
			row.begin()
			r.checkDegraded(row.at)
			r.eventually("the log has "+row.logged, func() bool {
				text := log.String()
				return strings.Contains(text, "level=ERROR") && strings.Contains(text, row.logged)
			})
			r.stop()
			if err := <-r.ended; err != nil {
				t.Fatal(err)
			}
			again := h.run()
			again.eventually("the last good revision is ready after a restart", again.isReady)
			again.checkDegraded(row.at)
			row.end()
			again.eventually("the error is gone", func() bool { _, page := again.get("/metrics"); return strings.Contains(page, "\nwrit_degraded 0\n") })
			again.stop()
			<-again.ended
		})
	}
}

// checkDegraded waits until status and metrics show a failure at a place, and checks that
// the last good revision is served.
func (r *running) checkDegraded(at string) {
	r.t.Helper()
	var status serverStatus
	r.eventually("degraded", func() bool {
		_, body := r.get("/v1/status")
		if err := json.Unmarshal([]byte(body), &status); err != nil {
			r.t.Fatal(err)
		}
		_, page := r.get("/metrics")
		return status.Degraded && strings.Contains(page, "\nwrit_degraded 1\n")
	})
	if !status.Ready || status.LastError == "" || at != "" && (len(status.Diagnostics) == 0 || !strings.HasPrefix(fmt.Sprintf("%s:%d:%d", status.Diagnostics[0].File, status.Diagnostics[0].Line, status.Diagnostics[0].Column), at)) {
		r.t.Errorf("got the status %+v, want a diagnostic at %q", status, at)
	}
	if !r.isReady() || !r.allowed("alice") || r.allowed("bob") {
		r.t.Error("the last good revision does not serve on")
	}
}
