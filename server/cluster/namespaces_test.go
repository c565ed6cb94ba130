package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/lists"
)

// apiServer serves namespaces: those of the beginning, and the events of changes.
type apiServer struct {
	events chan string
	forbid bool
}

func namespace(name, version, labels string) string {
	return fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q,"resourceVersion":%q,"labels":%s}}`, name, version, labels)
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/api/v1/namespaces" || s.forbid {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		return
	}
	if r.URL.Query().Get("watch") == "" {
		fmt.Fprintf(w, `{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[%s,%s]}`, namespace("b", "2", "{}"), namespace("a", "1", `{"team":"x"}`))
		return
	}
	flush := func(event string) {
		fmt.Fprintln(w, event)
		w.(http.Flusher).Flush()
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		flush(`{"type":"ADDED","object":` + namespace("b", "2", "{}") + `}`)
		flush(`{"type":"ADDED","object":` + namespace("a", "1", `{"team":"x"}`) + `}`)
		flush(`{"type":"BOOKMARK","object":{"kind":"Namespace","apiVersion":"v1","metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
	}
	w.(http.Flusher).Flush()
	for {
		select {
		case event := <-s.events:
			flush(event)
		case <-r.Context().Done():
			return
		}
	}
}

// spacesOf returns the namespaces of a cluster c, which the API server has.
func spacesOf(t *testing.T, s *apiServer) *Spaces {
	t.Helper()
	at := httptest.NewServer(s)
	dir := t.TempDir()
	kubeconfig := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`, at.URL)
	for name, content := range map[string]string{"config": kubeconfig, "clusters.yaml": "clusters: [{name: c, kubeconfig: config}, {name: d}]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Read(filepath.Join(dir, "clusters.yaml"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.active.Load().clusters["c"].client.namespaces.stop()
		at.CloseClientConnections()
		at.Close()
	})
	return SpacesOf(c, nil)
}

func TestNamespacesAreWatched(t *testing.T) {
	server := &apiServer{events: make(chan string)}
	spaces := spacesOf(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wants := func(want string) *lists.Space {
		t.Helper()
		for {
			space, err := spaces.Namespaces(ctx, "c")
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]map[string]string{}
			for _, n := range space.Namespaces {
				got[n.Name] = n.Labels
			}
			if text, _ := json.Marshal(got); string(text) == want {
				return space
			} else if ctx.Err() != nil {
				t.Fatalf("got %s, want %s", text, want)
			}
			select {
			case <-space.Changed:
			case <-ctx.Done():
			}
		}
	}
	first := wants(`{"a":{"team":"x"},"b":{}}`)
	server.events <- `{"type":"MODIFIED","object":` + namespace("b", "6", `{"team":"y"}`) + `}`
	wants(`{"a":{"team":"x"},"b":{"team":"y"}}`)
	server.events <- `{"type":"DELETED","object":` + namespace("a", "7", `{"team":"x"}`) + `}`
	server.events <- `{"type":"ADDED","object":` + namespace("c", "8", `{}`) + `}`
	wants(`{"b":{"team":"y"},"c":{}}`)
	if len(first.Namespaces) != 2 || first.Namespaces[1].Labels["team"] != "" {
		t.Error("a list that was returned is changed afterwards")
	}
	if space, err := spaces.Namespaces(ctx, "d"); space != nil || err != nil {
		t.Errorf("got %v, %v for a cluster without an API server", space, err)
	}
}

// A list that is forbidden is not an empty one.
func TestNamespacesThatAreNotKnown(t *testing.T) {
	spaces := spacesOf(t, &apiServer{forbid: true})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if space, err := spaces.Namespaces(ctx, "c"); space != nil || !errors.Is(err, lists.ErrNotSynced) {
		t.Errorf("got %v, %v", space, err)
	}
}
