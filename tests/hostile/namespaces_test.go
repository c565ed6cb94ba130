package hostile

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/api/aggregated"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/lists"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/tests/oracle/random"
)

// proxyCertificate is the certificate of an API server, which signs itself.
var proxyCertificate = sync.OnceValues(func() (*x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "front-proxy"}, NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	text, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(text)
})

// space has the namespaces of the worlds, and one that no document names.
type space struct{}

func (space) Namespaces(context.Context, string) (*lists.Space, error) {
	out := new(lists.Space)
	for _, name := range slices.Sorted(slices.Values(append([]string{"other"}, random.Namespaces...))) {
		out.Namespaces = append(out.Namespaces, lists.Namespace{Name: name, Labels: map[string]string{}})
	}
	return out, nil
}

// asAPIServer sends what has no user as one, with the certificate of an API server.
type asAPIServer struct {
	http.Handler
	state *tls.ConnectionState
}

func (a asAPIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.TLS = a.state
	r.Header.Set("X-Remote-User", "alice")
	a.Handler.ServeHTTP(w, r)
}

func (s *site) listenForAPIServers(t testing.TB, logger *slog.Logger) {
	certificate, err := proxyCertificate()
	if err != nil {
		t.Fatal(err)
	}
	s.frontProxy = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
	trust := &auth.FrontProxyTrust{
		Authorities: x509.NewCertPool(), Names: []string{"front-proxy"},
		UserHeaders: []string{"X-Remote-User"}, GroupHeaders: []string{"X-Remote-Group"}, ExtraPrefixes: []string{"X-Remote-Extra-"},
	}
	trust.Authorities.AddCert(certificate)
	h := api.NewAggregated(api.AggregatedOptions{
		Options: aggregated.Options{
			Locator: &lists.Locator{Spaces: space{}}, Changed: func() <-chan struct{} { return nil }, SessionKey: "session", EscalationKey: "escalation",
		},
		Current: func() decision.Policies { return s.policies }, Metrics: metrics.New(), Logger: logger,
		Rule: auth.Rule{Authenticator: auth.NewFrontProxy(func() *auth.FrontProxyTrust { return trust }), IsProxied: true},
	})
	s.apiServers = &listener{h, listening(t, apiServers, asAPIServer{h, s.frontProxy}).document}
}

var namespaceAttack = &attack{
	target: "FuzzNamespaces", at: apiServers,
	routes: []string{"GET " + aggregated.ResourcePath, "GET " + aggregated.ResourcePath + "/:name"},
	draw: func(d random.Source, s *site, route string) *request {
		drawn := s.drawAccess(d)
		for drawn.User == "" || drawn.Path != "" || drawn.Resource == "" || drawn.Verb == "" || strings.ContainsAny(drawn.Verb+drawn.Resource+drawn.APIGroup, `,=\/`) {
			drawn = s.drawAccess(d)
		}
		r := get(route)
		r.path = strings.Replace(r.path, ":name", d.One(append(random.Namespaces, "other", "missing")), 1)
		given := url.Values{}
		if d.Once(2) {
			given.Set("fieldSelector", "verb="+drawn.Verb+",resource="+drawn.Resource+",apiGroup="+drawn.APIGroup)
		}
		if d.Once(6) {
			given.Set("limit", d.One([]string{"1", "2", "-1", "x"}))
		}
		if d.Once(6) { // a watch that ends at once
			given.Set("watch", "true")
			given.Set("resourceVersion", d.One([]string{"1", "x"}))
		}
		if strings.HasSuffix(route, ":name") {
			given = url.Values{}
		}
		r.query = given.Encode()
		r.set("X-Remote-User", drawn.User)
		for _, group := range drawn.Groups {
			r.set("X-Remote-Group", group)
		}
		return r
	},
	judge: judgeNamespaces,
}

// FuzzNamespaces asks as an API server which namespaces a user may reach.
func FuzzNamespaces(f *testing.F) { namespaceAttack.fuzz(f) }

// judgeNamespaces compares objects with the oracle: each is a namespace in which the user may
// do what it states, and a whole list has all of them.
func judgeNamespaces(x *exchange) string {
	users := x.sent.Header["X-Remote-User"]
	if len(users) != 1 || users[0] == "" {
		return "a request without one user gets an answer"
	}
	answer := x.decoded()
	if answer["type"] == "ERROR" {
		return ""
	}
	objects, isList := answer["items"].([]any)
	if !isList {
		objects = []any{answer}
	}
	asked := map[string]any{
		"user": users[0], "verb": "get", "resource": "namespaces", "apiGroup": "", "namespaceLabels": map[string]any{},
	}
	var groups []any
	for _, group := range x.sent.Header["X-Remote-Group"] {
		if group != "" {
			groups = append(groups, group)
		}
	}
	asked["groups"] = groups
	listed := map[string]any{}
	for _, each := range objects {
		object, _ := each.(map[string]any)
		meta, _ := object["metadata"].(map[string]any)
		access, _ := object["access"].(map[string]any)
		for _, key := range []string{"verb", "resource", "apiGroup"} {
			asked[key] = text(access[key])
		}
		listed[text(meta["name"])] = access["names"]
	}
	query := x.sent.URL.Query()
	isWhole := isList && !x.edited && query.Get("limit") == ""
	if isWhole && len(objects) == 0 && query.Get("fieldSelector") != "" {
		return "" // the question is not repeated
	}
	for _, namespace := range append([]string{"other"}, random.Namespaces...) {
		names, isListed := listed[namespace]
		allows := func(name string) bool {
			asked["namespace"], asked["name"] = namespace, name
			r, ok := accessOf(asked)
			return ok && x.site.allows(r)
		}
		isOf := []string{"", "a", "web-1"}
		if asked["resource"] == "namespaces" && asked["apiGroup"] == "" {
			isOf = []string{namespace}
		}
		for _, name := range isOf {
			switch allowed := allows(name); {
			case allowed && !isListed && isWhole:
				return "a namespace is missing: " + namespace
			case !allowed && names == "*":
				return "every name is listed, and the oracle denies " + name + " in " + namespace
			case !allowed && isListed && isOneOf(name, names):
				return "a name is listed that the oracle denies: " + name + " in " + namespace
			}
		}
	}
	return ""
}

var apiAttack = &attack{
	target: "FuzzAPI", at: apiServers,
	routes: []string{
		"GET /apis", "GET /apis/access.writ.dev", "GET /apis/access.writ.dev/v1", "GET /openapi/v2", "GET /openapi/v3", "GET /openapi/v3/apis/access.writ.dev/v1",
		"GET /version", "GET /healthz", "HEAD /healthz", "GET /readyz", "HEAD /readyz",
	},
	draw: func(d random.Source, _ *site, route string) *request {
		r := get(route)
		r.set("X-Remote-User", d.One(random.Users))
		return r
	},
	judge: func(x *exchange) string {
		if users := x.sent.Header["X-Remote-User"]; len(users) != 1 || users[0] == "" {
			return "a request without one user gets an answer"
		}
		return ""
	},
}

// FuzzAPI asks as an API server what the API is.
func FuzzAPI(f *testing.F) { apiAttack.fuzz(f) }

func isOneOf(name string, names any) bool {
	list, _ := names.([]any)
	return slices.ContainsFunc(list, func(each any) bool { return text(each) == name })
}
