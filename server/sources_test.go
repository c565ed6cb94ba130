package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sourceState is what the status shows of one source.
type sourceState struct {
	Name, Error string
	Files       int
	Stale       float64 `json:"staleSeconds"`
}

func (r *running) sources() (degraded bool, sources []sourceState) {
	r.t.Helper()
	_, body := r.get("/v1/status")
	var status struct {
		Degraded bool
		Sources  []sourceState
	}
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		r.t.Fatalf("%s: %v", body, err)
	}
	return status.Degraded, status.Sources
}

// A directory that disappears keeps its last documents, and the other one is followed.
func TestSourcesAreFollowedOneByOne(t *testing.T) {
	h := newHouse(t)
	role, binding, _ := strings.Cut(strings.ReplaceAll(viewers, "NAME", "alice"), "---\n")
	for _, name := range []string{"policies/viewers.yaml", "policies"} {
		if err := os.Remove(filepath.Join(h.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	h.write("roles/viewer.yaml", role)
	h.write("bindings/viewers.yaml", binding)
	h.config.Policies = []string{filepath.Join(h.dir, "roles"), filepath.Join(h.dir, "bindings")}
	r := h.run()
	r.eventually("alice may", func() bool { return r.allowed("alice") })
	degraded, sources := r.sources()
	if degraded || len(sources) != 2 || sources[0].Name != "bindings" || sources[0].Files != 1 || sources[1].Name != "roles" {
		t.Errorf("got degraded %t, sources %+v", degraded, sources)
	}
	// At once: a folder that is emptied file by file is an empty source for a moment.
	if err := os.Rename(filepath.Join(h.dir, "roles"), filepath.Join(h.dir, "gone")); err != nil {
		t.Fatal(err)
	}
	h.write("bindings/viewers.yaml", strings.ReplaceAll(binding, "alice", "bob"))
	r.eventually("bob may, with the last roles", func() bool { return r.allowed("bob") && !r.allowed("alice") })
	// The status follows the revision.
	r.eventually("the status has the age of the roles", func() bool {
		degraded, sources := r.sources()
		return degraded && sources[0].Error == "" && sources[1].Stale > 0 && sources[1].Error != "" && sources[1].Files == 1
	})
	h.write("roles/viewer.yaml", role)
	h.write("bindings/viewers.yaml", binding)
	r.eventually("alice may again", func() bool {
		degraded, _ := r.sources()
		return !degraded && r.allowed("alice")
	})
}
