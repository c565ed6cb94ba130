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

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

var fakeNow = time.Date(2026, 3, 1, 12, 30, 0, 999, time.FixedZone("", 3600))

func (f *fake) say(format string, values ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, values...))
}

func (f *fake) listing(what string, p decision.Principal) decision.Listing {
	f.say("%s of %q %q", what, p.User, p.Groups)
	if f.inside != nil {
		f.inside <- struct{}{}
		<-f.release
	}
	switch p.User {
	case "panic":
		panic("a secret of the engine")
	case "fails":
		return decision.Listing{EvaluationError: "no revision loaded"}
	}
	return decision.Listing{At: fakeNow, Revision: fakeRevision}
}

func (f *fake) ListPolicies(_ context.Context, p decision.Principal) decision.PolicyListing {
	out := decision.PolicyListing{Listing: f.listing("policies", p)}
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
	out := decision.PermissionListing{Listing: f.listing("permissions", p), Candidates: 3}
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
	out := decision.TypeListing{Listing: f.listing("types", p)}
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

var dashboardEndpoints = []struct{ method, path string }{
	{"GET", "/api/v1/auth/policies"}, {"GET", "/api/v1/auth/permissions"}, {"GET", "/api/v1/custom-types"}, {"POST", "/api/v1/auth/cache/clear"},
}

// A caller is authenticated by the server: no header and no parameter makes one.
func TestDebugNeedsACaller(t *testing.T) {
	const want = `{"error":"authentication required"}` + "\n"
	f := &fake{}
	for _, row := range []struct {
		name, token string
		headers     []string
		tokens      bool
	}{
		{"no authenticator", "", nil, false},
		{"a token where none are configured", "t-clark", nil, false},
		{"no token", "", nil, true},
		{"another token", "t-unknown", nil, true},
		{"headers that name a user", "", []string{"X-Remote-User", "X-Forwarded-User", "X-Forwarded-Email", "X-Auth-Request-User", "Impersonate-User"}, true},
		{"the same with a wrong token", "x", []string{"X-Remote-User", "X-Forwarded-User"}, true},
	} {
		_, o := endpoints(f, func(o *Options) {
			if row.tokens {
				o.Rule.Authenticator = tokens(t, "t-clark,clark,1\n")
			}
		})
		h := New(o)
		for _, endpoint := range dashboardEndpoints {
			r := httptest.NewRequest(endpoint.method, endpoint.path+"?user=clark", nil)
			for _, header := range row.headers {
				r.Header.Set(header, "clark")
			}
			if row.token != "" {
				r.Header.Set("Authorization", "Bearer "+row.token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized || w.Body.String() != want {
				t.Errorf("%s: %s: got %d %s, want 401 %s", row.name, endpoint.path, w.Code, w.Body, want)
			}
		}
	}
	if len(f.asked) > 0 {
		t.Errorf("asked %q without a caller", f.asked)
	}
}

// Errors have the form of these endpoints and reveal nothing internal.
func TestDebugEvaluationError(t *testing.T) {
	_, o := endpoints(&fake{}, func(o *Options) { o.Rule.Authenticator = tokens(t, "t,fails,1\np,panic,2\n") })
	h := New(o)
	for _, endpoint := range dashboardEndpoints[:3] {
		w := ask(h, endpoint.method, endpoint.path, "t")
		if want := `{"error":"evaluation error: no revision loaded"}` + "\n"; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
			t.Errorf("%s: got %d %s, want 503 %s", endpoint.path, w.Code, w.Body, want)
		}
		w = ask(h, endpoint.method, endpoint.path, "p")
		if want := `{"error":"internal error"}` + "\n"; w.Code != http.StatusInternalServerError || w.Body.String() != want {
			t.Errorf("%s: got %d %s, want 500 %s", endpoint.path, w.Code, w.Body, want)
		}
	}
	_, o = endpoints(nil, func(o *Options) {
		o.Current, o.Cache, o.Rule.Authenticator = serving(decision.Unavailable("no revision loaded")), nil, tokens(t, "t,clark,1\n")
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
	_, o := endpoints(f, func(o *Options) { o.Rule.Authenticator = tokens(t, "t,clark,1\n") })
	h := New(o)
	var callers sync.WaitGroup
	for i := range exchange.MaxListing {
		callers.Go(func() {
			if w := ask(h, "GET", dashboardEndpoints[i%3].path, "t"); w.Code != http.StatusOK {
				t.Errorf("got %d, want 200", w.Code)
			}
		})
		<-f.inside
	}
	for _, endpoint := range dashboardEndpoints[:3] {
		w := ask(h, endpoint.method, endpoint.path, "t")
		if want := `{"error":"too many requests in flight"}` + "\n"; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
			t.Errorf("%s: got %d %s, want 503 %s", endpoint.path, w.Code, w.Body, want)
		}
	}
	close(f.release)
	callers.Wait()
}

// The labels of the clusters file count here too.
func TestDebugLabels(t *testing.T) {
	f := &fake{}
	_, o := endpoints(f, func(o *Options) {
		o.Rule.Authenticator, o.Clusters = tokens(t, "t,clark,1\n"), labelled{}
	})
	ask(New(o), "GET", "/api/v1/auth/permissions?cluster=a", "t")
	if got, want := f.questions(), "permissions of \"clark\" []\non [\"a\"], all: false\nwhich has labels map[of:a]"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}
