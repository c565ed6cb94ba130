package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

var fakeNow = time.Date(2026, 3, 1, 12, 30, 0, 999, time.FixedZone("", 3600))

func (f *fake) say(format string, values ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, values...))
}

func (f *fake) told(what string, p decision.Principal) decision.Listing {
	f.say("%s of %q %q", what, p.User, p.Groups)
	if f.inside != nil {
		f.inside <- struct{}{}
		<-f.release
	}
	switch p.User {
	case "panic":
		panic("a secret of the engine")
	case "trouble":
		return decision.Listing{EvaluationError: "no revision loaded"}
	}
	return decision.Listing{At: fakeNow, Revision: fakeRevision}
}

func (f *fake) ListPolicies(_ context.Context, p decision.Principal) decision.PolicyListing {
	out := decision.PolicyListing{Listing: f.told("policies", p)}
	if p.User == "clark" {
		out.Policies = []decision.PolicySummary{
			{
				Namespace: "sec", Name: "no <prod>", Priority: 900, Deny: true, Enabled: true, NotAfter: "2027-01-01T00:00:00Z",
				Default: "none", Hash: "abc", Source: "group:dev", State: decision.PolicyActive,
			},
			{
				Name: "view", Priority: 0, NotBefore: "soon", Default: "all", CustomTypes: []string{"pvc", "vm"},
				Hash: "def", Source: "user", State: decision.PolicyInactive,
			},
		}
	}
	return out
}

func (f *fake) ListPermissions(_ context.Context, p decision.Principal, clusters []string, labels func(string) map[string]string) decision.PermissionListing {
	out := decision.PermissionListing{Listing: f.told("permissions", p), Candidates: 3}
	f.say("on %q, all: %v", clusters, clusters == nil)
	for _, cluster := range clusters {
		f.say("which has labels %v", labels(cluster))
	}
	if p.User == "clark" {
		out.Accessible = []decision.ClusterPermissions{
			{Cluster: "a", Permissions: []string{"view", "viewMetrics"}, Full: true}, {Cluster: "b", Permissions: []string{"view"}},
		}
	}
	return out
}

func (f *fake) ListCustomTypes(_ context.Context, p decision.Principal) decision.TypeListing {
	out := decision.TypeListing{Listing: f.told("types", p)}
	if p.User == "clark" {
		out.Types = []decision.CustomType{
			{
				Type: "pvc", Namespace: "src", Name: "volumes", APIVersion: "v1", Kind: "PersistentVolumeClaim", Scope: "Namespaced",
				Fields: []string{"size", "class"}, Computed: []string{"free"}, Aggregations: []string{"total"},
			},
			{Type: "vm", Name: "machines", APIVersion: "kubevirt.io/v1", Kind: "VirtualMachine", Scope: "Cluster"},
		}
	}
	return out
}

// ask is a request of the debugging API.
func ask(h http.Handler, method, path, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var debugDoors = []struct{ method, path string }{
	{"GET", "/api/v1/auth/policies"}, {"GET", "/api/v1/auth/permissions"}, {"GET", "/api/v1/custom-types"}, {"POST", "/api/v1/auth/cache/clear"},
}

// A caller is whom the server authenticated: no header and no parameter makes one.
func TestDebugNeedsACaller(t *testing.T) {
	const want = `{"error":"authentication required"}` + "\n"
	f := &fake{}
	for _, row := range []struct {
		name, token string
		headers     []string
		tokens      bool
	}{
		{"nobody is authenticated", "", nil, false},
		{"a token where there are none", "t-clark", nil, false},
		{"no token", "", nil, true},
		{"another token", "t-nobody", nil, true},
		{"headers that name a user", "", []string{"X-Remote-User", "X-Forwarded-User", "X-Forwarded-Email", "X-Auth-Request-User", "Impersonate-User"}, true},
		{"the same with a wrong token", "x", []string{"X-Remote-User", "X-Forwarded-User"}, true},
	} {
		_, o := doors(f, func(o *Options) {
			if row.tokens {
				o.Authenticator = tokens(t, "t-clark,clark,1\n")
			}
		})
		h := New(o)
		for _, door := range debugDoors {
			r := httptest.NewRequest(door.method, door.path+"?user=clark", nil)
			for _, header := range row.headers {
				r.Header.Set(header, "clark")
			}
			if row.token != "" {
				r.Header.Set("Authorization", "Bearer "+row.token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized || w.Body.String() != want {
				t.Errorf("%s: %s: got %d %s, want 401 %s", row.name, door.path, w.Code, w.Body, want)
			}
		}
	}
	if len(f.asked) > 0 {
		t.Errorf("asked %q for nobody", f.asked)
	}
}

// What goes wrong has the form of these doors and says nothing of the inside.
func TestDebugEvaluationError(t *testing.T) {
	_, o := doors(&fake{}, func(o *Options) { o.Authenticator = tokens(t, "t,trouble,1\np,panic,2\n") })
	h := New(o)
	for _, door := range debugDoors[:3] {
		w := ask(h, door.method, door.path, "t")
		if want := `{"error":"evaluation error: no revision loaded"}` + "\n"; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
			t.Errorf("%s: got %d %s, want 503 %s", door.path, w.Code, w.Body, want)
		}
		w = ask(h, door.method, door.path, "p")
		if want := `{"error":"internal error"}` + "\n"; w.Code != http.StatusInternalServerError || w.Body.String() != want {
			t.Errorf("%s: got %d %s, want 500 %s", door.path, w.Code, w.Body, want)
		}
	}
	_, o = doors(nil, func(o *Options) {
		o.Current, o.Cache, o.Authenticator = serving(decision.Unavailable("no revision loaded")), nil, tokens(t, "t,clark,1\n")
	})
	if w := ask(New(o), "GET", "/api/v1/auth/policies", "t"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d without a revision, want 503", w.Code)
	}
	if w := ask(New(o), "POST", "/api/v1/auth/cache/clear", "t"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"rbac_entries_cleared":0`) {
		t.Errorf("got %d %s where nothing is kept, want 200 and none", w.Code, w.Body)
	}
}

// Listings are few: each may try every cluster there is.
func TestDebugSheds(t *testing.T) {
	f := &fake{inside: make(chan struct{}), release: make(chan struct{})}
	_, o := doors(f, func(o *Options) { o.Authenticator = tokens(t, "t,clark,1\n") })
	h := New(o)
	var callers sync.WaitGroup
	for i := range maxListing {
		callers.Go(func() {
			if w := ask(h, "GET", debugDoors[i%3].path, "t"); w.Code != http.StatusOK {
				t.Errorf("got %d, want 200", w.Code)
			}
		})
		<-f.inside
	}
	for _, door := range debugDoors[:3] {
		w := ask(h, door.method, door.path, "t")
		if want := `{"error":"too many requests in flight"}` + "\n"; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
			t.Errorf("%s: got %d %s, want 503 %s", door.path, w.Code, w.Body, want)
		}
	}
	close(f.release)
	callers.Wait()
}

// What the clusters file says of clusters counts for their callers too.
func TestDebugLabels(t *testing.T) {
	f := &fake{}
	_, o := doors(f, func(o *Options) {
		o.Authenticator, o.Clusters = tokens(t, "t,clark,1\n"), labelled{}
	})
	ask(New(o), "GET", "/api/v1/auth/permissions?cluster=a", "t")
	if got, want := f.questions(), "permissions of \"clark\" []\non [\"a\"], all: false\nwhich has labels map[of:a]"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}
