package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/api/openapi"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/metrics"
)

// endpointRoles is the role that each endpoint requires. An endpoint without a line
// fails the test.
var endpointRoles = map[string]auth.Role{
	"/apis/authorization.k8s.io/v1/subjectaccessreviews":                        auth.Decisions,
	"/apis/authorization.k8s.io/v1beta1/subjectaccessreviews":                   auth.Decisions,
	"/clusters/:cluster/apis/authorization.k8s.io/v1/subjectaccessreviews":      auth.Decisions,
	"/clusters/:cluster/apis/authorization.k8s.io/v1beta1/subjectaccessreviews": auth.Decisions,
	"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews":                     auth.Authenticated,
	"/clusters/:cluster/apis/authorization.k8s.io/v1/selfsubjectrulesreviews":   auth.Authenticated,
	"/api/:version/ns/:namespace/:resource":                                     auth.Decisions,
	"GET /api/:version/ns/:namespace/:resource":                                 auth.Auditor,
	"HEAD /api/:version/ns/:namespace/:resource":                                auth.Auditor,
	"/api/:version/ns/:namespace/:resource/:name":                               auth.Auditor,
	"/v1/decisions/access":                                                      auth.Decisions,
	"/v1/decisions/access/batch":                                                auth.Decisions,
	"/v1/decisions/gateway":                                                     auth.Decisions,
	"/v1/decisions/gateway/batch":                                               auth.Decisions,
	"/v1/decisions/visibility":                                                  auth.Decisions,
	"/v1/decisions/visibility/batch":                                            auth.Decisions,
	"/v1/data":                                                                  auth.Auditor,
	"/v1/data/*path":                                                            auth.Decisions,
	"/v1/compile/*path":                                                         auth.Authenticated,
	"/v0/data/*path":                                                            auth.Decisions,
	"/health":                                                                   auth.Decisions,
	"/access/v1/evaluation":                                                     auth.Decisions,
	"/access/v1/evaluations":                                                    auth.Decisions,
	"/access/v1/search/subject":                                                 auth.Auditor,
	"/access/v1/search/resource":                                                auth.Authenticated,
	"/access/v1/search/action":                                                  auth.Authenticated,
	"/.well-known/authzen-configuration":                                        auth.Decisions,
	"/api/v1/auth/policies":                                                     auth.Authenticated,
	"/api/v1/auth/permissions":                                                  auth.Authenticated,
	"/api/v1/custom-types":                                                      auth.Authenticated,
	"/api/v1/auth/cache/clear":                                                  auth.Authenticated,
	"/metrics":                                                                  auth.Authenticated,
	"/v1/filters/visibility":                                                    auth.Authenticated,
	"/v1/lists/:resource":                                                       auth.Authenticated,
	"/v1/filters/access":                                                        auth.Authenticated,
	"GET /v1/reach":                                                             auth.Auditor,
	"HEAD /v1/reach":                                                            auth.Auditor,
	"/v1/escalations":                                                           auth.Auditor,
	"/v1/verify":                                                                auth.Auditor,
	"/v1/assertions":                                                            auth.Auditor,
	"/v1/who-can":                                                               auth.Auditor,
	"/v1/what-can":                                                              auth.Authenticated,
	"/v1/status":                                                                auth.Authenticated,
	"/v1/effective":                                                             auth.Auditor,
	"/v1/effective/:kind/replaced":                                              auth.Auditor,
	"/v1/effective/:kind/reach":                                                 auth.Auditor,
	"/v1/effective/:kind/:target/:namespace/:name":                              auth.Auditor,
	"/v1/explanations/:point":                                                   auth.Authenticated,
	"/v1/events":                                                                auth.Auditor,
	"/v1/rates":                                                                 auth.Auditor,
	"/v1/names":                                                                 auth.Auditor,
	"/v1/matrix":                                                                auth.Authenticated,
	"/v1/subject":                                                               auth.Authenticated,
	"/v1/role":                                                                  auth.Auditor,
	"/v1/documents":                                                             auth.Auditor,
	"/v1/documents/*path":                                                       auth.Auditor,
	"/v1/sessions":                                                              auth.Auditor,
	"/v1/risks":                                                                 auth.Auditor,
	"/v1/rules":                                                                 auth.Auditor,
	"/v1/topology":                                                              auth.Auditor,
	"/v1/revisions":                                                             auth.Auditor,
	"/v1/diff":                                                                  auth.Auditor,
	"/v1/log":                                                                   auth.Auditor,
	"/":                                                                         auth.Public,
	"/healthz":                                                                  auth.Public,
	"/readyz":                                                                   auth.Public,
	"/v1/poke":                                                                  auth.Public,
	openapi.Path:                                                                auth.Decisions,
}

// adminRoles is the same for the listener of operators.
var adminRoles = map[string]auth.Role{
	"/v1/revisions": auth.Operator, "/v1/rollback": auth.Operator, "/v1/release": auth.Operator, "/v1/accept": auth.Operator, openapi.Path: auth.Decisions,
}

// metricsRoles is the same for the listener of metrics.
var metricsRoles = map[string]auth.Role{"/metrics": auth.Authenticated, "/healthz": auth.Public, "/readyz": auth.Public, openapi.Path: auth.Decisions}

// Every endpoint of every listener requires its role, by every kind of credentials.
func TestEveryEndpointRequiresItsRole(t *testing.T) {
	content := "plain,clark,1\nauditor,vera,2,sec\noperator,olga,3,ops\n"
	callers := []struct {
		name, authorization string
		roles               []auth.Role
		known               bool
	}{
		{"no credentials", "", nil, false},
		{"a wrong token", "Bearer wrong", nil, false},
		{"another scheme", "Basic Y2xhcms6eA==", nil, false},
		{"a caller", "Bearer plain", []auth.Role{auth.Decisions, auth.Authenticated}, true},
		{"an auditor", "Bearer auditor", []auth.Role{auth.Decisions, auth.Authenticated, auth.Auditor}, true},
		{"an operator", "Bearer operator", []auth.Role{auth.Decisions, auth.Authenticated, auth.Operator}, true},
	}
	for _, listener := range []struct {
		name string
		rule auth.Rule
		// open are the roles of callers without credentials.
		open []auth.Role
	}{
		{"credentials on loopback", auth.Rule{Loopback: true, AllowedHosts: openRule.AllowedHosts, Authenticator: tokens(t, content)}, nil},
		{"credentials elsewhere", auth.Rule{Authenticator: tokens(t, content)}, nil},
		{"credentials and anonymous callers", auth.Rule{Authenticator: tokens(t, content), Anonymous: true}, []auth.Role{auth.Decisions}},
		{"anonymous callers alone", auth.Rule{Anonymous: true}, []auth.Role{auth.Decisions}},
		{"loopback without credentials", openRule, []auth.Role{auth.Decisions, auth.Authenticated, auth.Auditor}},
		{"nothing is configured", auth.Rule{}, nil},
	} {
		listener.rule.Auditors, listener.rule.Operators = []string{"sec"}, []string{"ops"}
		for _, caller := range callers {
			held, known := caller.roles, caller.known
			switch {
			case listener.rule.IsOpen(), caller.authorization == "":
				held, known = listener.open, false
			case listener.rule.Authenticator == nil:
				held, known = nil, false
			}
			_, o := endpoints(&fake{}, func(o *Options) {
				o.Rule, o.Poke, o.PokeSecret = listener.rule, func() {}, func() []byte { return []byte("s") }
				o.Console = closedConsole(o)
			})
			admin := AdminOptions{RevisionStore: &keeping{}, Metrics: metrics.New(), Rule: listener.rule}
			checkRoles(t, listener.name+", "+caller.name, New(o), endpointRoles, caller.authorization, held, known)
			checkRoles(t, listener.name+", metrics, "+caller.name, NewMetrics(o), metricsRoles, caller.authorization, held, known)
			checkRoles(t, listener.name+", operators, "+caller.name, NewAdmin(admin), adminRoles, caller.authorization, held, known)
		}
	}
}

// checkRoles asks every endpoint of the router and compares whether it is refused.
func checkRoles(t *testing.T, name string, h http.Handler, roles map[string]auth.Role, authorization string, held []auth.Role, known bool) {
	t.Helper()
	routes := h.(*gin.Engine).Routes()
	if len(routes) < 3 {
		t.Fatalf("%s: found %d routes, which cannot be all", name, len(routes))
	}
	for _, route := range routes {
		role, listed := roles[route.Method+" "+route.Path]
		if !listed {
			role, listed = roles[route.Path]
		}
		if !listed {
			t.Fatalf("%s has no role in this test", route.Path)
		}
		path := strings.NewReplacer(":cluster", "c", ":version", "v1", ":namespace", "n", ":resource/:name", "policies/default", ":resource", "subjectaccessreviews",
			"*path", "writ/access/decision", ":kind", "AuthPolicy", ":target", "Gateway", ":name", "x").Replace(route.Path)
		if route.Path == "/v1/matrix" {
			path += "?of=what" // about the caller
		}
		r := httptest.NewRequest(route.Method, path, strings.NewReader("{}"))
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		want := 0 // admitted
		switch {
		case role == auth.Public, slices.Contains(held, role):
		case known:
			want = http.StatusForbidden
		default:
			want = http.StatusUnauthorized
		}
		about := (strings.HasPrefix(path, "/api/v1/") || strings.HasPrefix(path, "/v1/lists/") || strings.HasSuffix(path, "/selfsubjectrulesreviews")) && !known // answers no caller with 401 when it is admitted, too
		refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden && role != auth.Public
		if want != 0 && w.Code != want || want == 0 && refused && !about {
			t.Errorf("%s: %s %s: got %d %s, want %d", name, route.Method, path, w.Code, w.Body, want)
		}
	}
}

// Pages of other sites reach no endpoint: neither by a name that resolves to this
// machine, nor by a request from a browser.
func TestBrowsers(t *testing.T) {
	for _, tt := range []struct {
		name, host string
		header     [2]string
		loopback   bool
		want       int
	}{
		{"an address", "127.0.0.1:8686", [2]string{}, true, 0},
		{"another address", "192.0.2.1", [2]string{}, true, 0},
		{"IPv6", "[::1]:8686", [2]string{}, true, 0},
		{"IPv6 without a port", "[::1]", [2]string{}, true, 0},
		{"localhost", "LocalHost:1", [2]string{}, true, 0},
		{"an allowed name", "writ.test:99", [2]string{}, true, 0},
		{"another name", "evil.example", [2]string{}, true, 421},
		{"a name that begins like an address", "127.0.0.1.evil.example:8686", [2]string{}, true, 421},
		{"no name", "", [2]string{}, true, 421},
		{"another name elsewhere", "writ.example", [2]string{}, false, 0},
		{"its own page", "localhost:1", [2]string{"Origin", "http://localhost:1"}, true, 0},
		{"another page", "localhost:1", [2]string{"Origin", "http://evil.example"}, true, 403},
		{"another port", "localhost:1", [2]string{"Origin", "http://localhost:2"}, true, 403},
		{"a page without an origin", "localhost:1", [2]string{"Origin", "null"}, true, 403},
		{"the same origin", "localhost:1", [2]string{"Sec-Fetch-Site", "same-origin"}, true, 0},
		{"typed by a person", "localhost:1", [2]string{"Sec-Fetch-Site", "none"}, true, 0},
		{"the same site", "localhost:1", [2]string{"Sec-Fetch-Site", "same-site"}, true, 403},
		{"another site", "localhost:1", [2]string{"Sec-Fetch-Site", "cross-site"}, true, 403},
		{"another site, elsewhere", "writ.example", [2]string{"Sec-Fetch-Site", "cross-site"}, false, 403},
		{"another page, elsewhere", "writ.example", [2]string{"Origin", "https://evil.example"}, false, 403},
	} {
		rule := auth.Rule{Loopback: tt.loopback, Anonymous: true, AllowedHosts: []string{"writ.test"}}
		_, o := endpoints(&fake{}, func(o *Options) { o.Rule = rule })
		for h, paths := range map[http.Handler][]string{
			New(o): {"/healthz", "/readyz", "/metrics", "/v1/status", "/v1/decisions/access", reviewPath, "/nowhere"},
			NewAdmin(AdminOptions{RevisionStore: &keeping{}, Metrics: metrics.New(), Rule: rule}): {"/v1/revisions"},
		} {
			for _, path := range paths {
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					r := httptest.NewRequest(method, path, strings.NewReader("{}"))
					r.Host = tt.host
					if tt.header[0] != "" {
						r.Header.Set(tt.header[0], tt.header[1])
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if tt.want != 0 && w.Code != tt.want || tt.want == 0 && (w.Code == 421 || w.Code == 403) {
						t.Errorf("%s: %s %s: got %d %s, want %d", tt.name, method, path, w.Code, w.Body, tt.want)
					}
				}
			}
		}
	}
}

// What a page of another site can send reaches no endpoint, whatever its route: neither by
// its origin, nor as a form, as plain text or without a type.
func TestRequestsOfPages(t *testing.T) {
	_, o := endpoints(&fake{}, func(o *Options) {
		o.Poke, o.PokeSecret = func() {}, func() []byte { return []byte("s") }
		o.Console = closedConsole(o)
	})
	rule := auth.Rule{Loopback: true, AllowedHosts: openRule.AllowedHosts}
	for name, h := range map[string]http.Handler{
		"callers": New(o), "metrics": NewMetrics(o), "operators": NewAdmin(AdminOptions{RevisionStore: &keeping{}, Metrics: metrics.New(), Rule: rule}),
	} {
		posts := 0
		for _, route := range h.(*gin.Engine).Routes() {
			for _, row := range []struct {
				name, origin, contentType string
				want, other               int // other is what must not be answered; zero for any
			}{
				{"another site", "http://evil.example", "application/json", http.StatusForbidden, 0},
				{"another site, as a form", "http://evil.example", "application/x-www-form-urlencoded", http.StatusForbidden, 0},
				{"an unknown site", "null", "text/plain", http.StatusForbidden, 0},
				{"a form", "http://example.com", "application/x-www-form-urlencoded", http.StatusUnsupportedMediaType, 0},
				{"plain text", "http://example.com", "text/plain", http.StatusUnsupportedMediaType, 0},
				{"no type", "http://example.com", "", http.StatusUnsupportedMediaType, 0},
				{"JSON", "http://example.com", "application/json", 0, http.StatusUnsupportedMediaType},
			} {
				if route.Method != http.MethodPost && row.want != http.StatusForbidden {
					continue
				}
				posts++
				r := httptest.NewRequest(route.Method, route.Path, strings.NewReader("{}"))
				r.Header.Set("Origin", row.origin)
				if row.contentType != "" {
					r.Header.Set("Content-Type", row.contentType)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if row.want != 0 && w.Code != row.want || w.Code == row.other {
					t.Errorf("%s: %s: %s %s: got %d %s, want %d", name, row.name, route.Method, route.Path, w.Code, w.Body, row.want)
				}
			}
		}
		if posts == 0 {
			t.Errorf("%s: no request was sent", name)
		}
	}
}
