package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// trickle sends content a byte at a time, as long as the request lasts.
func trickle(w http.ResponseWriter, r *http.Request, content []byte) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for i := 0; r.Context().Err() == nil && i < len(content); i++ {
		_, _ = w.Write(content[i : i+1])
		_ = http.NewResponseController(w).Flush()
		<-ticker.C
	}
}

// A transfer that goes on for ever, a byte at a time, is as one that stalls: the failure is
// reported long before the fetch times out.
func TestSlowTransfers(t *testing.T) {
	t.Parallel()
	first, second := built(t, "dev", 1), built(t, "operations", 2)
	t.Run("HTTP server", func(t *testing.T) {
		t.Parallel()
		s := serve(t, packed(t, first))
		l := listen(t, Options{Location: s.URL, Wait: -1, Stall: time.Second})
		l.survives(first.Manifest.Revision, second.Manifest.Revision, func() {
			s.set(nil, func(w http.ResponseWriter, r *http.Request) { trickle(w, r, packed(t, second)) })
		}, func() { s.set(packed(t, second), nil) }, "stalled")
	})
	for path, want := range map[string]string{"/manifests/": "timed out", "/blobs/": "stalled"} {
		t.Run("registry, "+path, func(t *testing.T) {
			t.Parallel()
			d := newDepot(t)
			d.push(t, first, "policies:latest")
			l := listen(t, Options{Location: d.at("policies:latest"), PlainHTTP: true, Stall: time.Second})
			fault := func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
				if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, path) {
					return false
				}
				recorded := httptest.NewRecorder()
				real.ServeHTTP(recorded, r)
				copyHeader(w, recorded)
				trickle(w, r, recorded.Body.Bytes())
				return true
			}
			l.survives(first.Manifest.Revision, second.Manifest.Revision, func() {
				d.push(t, second, "policies:latest")
				d.fault.Store(&fault)
			}, func() { d.fault.Store(nil) }, want)
		})
	}
}

// A bundle that arrives slowly, but at a pace, is delivered.
func TestSteadyTransfers(t *testing.T) {
	t.Parallel()
	b := built(t, "dev", 1)
	s := serve(t, nil)
	content := packed(t, b)
	s.set(nil, func(w http.ResponseWriter, _ *http.Request) {
		ticker := time.NewTicker(600 * time.Millisecond)
		defer ticker.Stop()
		for piece := bytes.NewBuffer(content); piece.Len() > 0; {
			<-ticker.C
			_, _ = w.Write(piece.Next(pace))
			_ = http.NewResponseController(w).Flush()
		}
	})
	l := listen(t, Options{Location: s.URL, Wait: -1, Stall: time.Second})
	check(t, l.step())
	if len(content) <= 2*pace || l.last() != b.Manifest.Revision {
		t.Errorf("got %s of %d bytes", l.last(), len(content))
	}
}

// Indexes of indexes name thousands of manifests each: an answer of a few bytes makes a client
// ask millions of times.
func TestIndexesAreBounded(t *testing.T) {
	t.Parallel()
	manifests := map[string][]byte{}
	add := func(manifest any) ocispec.Descriptor {
		encoded, err := json.Marshal(manifest)
		check(t, err)
		var at ocispec.Descriptor
		check(t, json.Unmarshal(fmt.Appendf(nil, `{"mediaType":%q,"digest":"sha256:%x","size":%d}`,
			ocispec.MediaTypeImageIndex, sha256.Sum256(encoded), len(encoded)), &at))
		manifests[at.Digest.String()] = encoded
		return at
	}
	leaf := add(ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest})
	leaf.MediaType = ocispec.MediaTypeImageManifest
	entry := leaf
	for range maxDepth {
		many := make([]ocispec.Descriptor, 1000)
		for i := range many {
			many[i] = entry
		}
		entry = add(ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: many})
	}
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if name == "latest" {
			name = entry.Digest.String()
		}
		mediaType := ocispec.MediaTypeImageIndex
		if name == leaf.Digest.String() {
			mediaType = leaf.MediaType
		}
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Docker-Content-Digest", name)
		w.Header().Set("Content-Length", fmt.Sprint(len(manifests[name])))
		if r.Method == http.MethodGet {
			_, _ = w.Write(manifests[name])
		}
	}))
	t.Cleanup(s.Close)
	l := listen(t, Options{Location: "oci://" + strings.TrimPrefix(s.URL, "http://") + "/policies:latest", PlainHTTP: true, Stall: 5 * time.Second})
	wantError(t, l.step(), "more than 64 manifests")
	if n := asked.Load(); n > maxManifests+1 {
		t.Errorf("asked %d times", n)
	}
}
