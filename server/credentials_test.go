package server

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/issuer"
)

// guarded is a server with every listener and every kind of credentials.
type guarded struct {
	*running
	house     *house
	authority *authority
	issuer    *issuer.Issuer
	log       *syncBuffer
	spans     *receiver
	reviewer  *httptest.Server // the API server that reviews tokens
	logs      *httptest.Server // receives the log of decisions, and audit events
	revoked   atomic.Bool      // by reviewer
	down      atomic.Bool      // reviewer
	late      atomic.Int64     // by how much the clock of the server is ahead
	addresses map[string]string
}

// sent is what a request shows of its sender.
type sent struct {
	config         *tls.Config
	token, session string
}

// apiServer knows the token "reviewed", of olga.
func (g *guarded) apiServer(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct{ Spec struct{ Token string } }
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		if g.down.Load() {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		good := review.Spec.Token == "reviewed" || review.Spec.Token == "reviewed-later" && !g.revoked.Load()
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"TokenReview","status":{"authenticated":%t,"user":{"username":"olga","groups":["ops"]}}}`, good)
	}))
	t.Cleanup(server.Close)
	return server
}

const reviewer = `apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "URL"}}]
users: [{name: u, user: {token: secret-of-writ}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
`

const uploads = `services: {logs: {url: "URL", credentials: {bearer: {token: secret-of-logs}}}}
decision_logs: {service: logs}
`

const denial = `apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: no-secrets}
spec: {rules: [{verbs: [get], apiGroups: [""], resources: [secrets], namespaces: [hammer]}]}
`

func newGuarded(t *testing.T) *guarded {
	h := newHouse(t)
	g := &guarded{house: h, authority: newAuthority(t), issuer: issuer.New(t), log: &syncBuffer{}, spans: &receiver{}, addresses: map[string]string{}}
	g.logs = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(g.logs.Close)
	g.reviewer = g.apiServer(t)
	collector := httptest.NewServer(g.spans)
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	cert, key := g.authority.issue(2)
	c := &h.config
	c.TLS.Cert, c.TLS.Key, c.TLS.ClientCA = h.write("tls.crt", cert), h.write("tls.key", key), h.write("ca.crt", g.authority.pem)
	c.Callers.Tokens = h.write("tokens.csv", "static,olga,1,ops\n")
	c.Callers.OIDC.URL, c.Callers.OIDC.Audience, c.Callers.OIDC.CA = g.issuer.URL(), issuer.Audience, h.write("issuer.crt", g.issuer.CA())
	c.Callers.OIDC.Refresh = 50 * time.Millisecond
	c.Callers.TokenReview = h.write("reviewer.yaml", strings.ReplaceAll(reviewer, "URL", g.reviewer.URL))
	c.Callers.Operators, c.Callers.Auditors = []string{"ops"}, []string{"ops"}
	c.Audit.DecisionLog, c.Audit.DecisionLogConfig = h.dir+"/decisions.jsonl", h.write("opa.yaml", strings.ReplaceAll(uploads, "URL", g.logs.URL))
	c.Audit.Webhook = g.logs.URL + "/audit?token=secret-of-audit"
	h.write("policies/deny.yaml", denial)
	c.Now = func() time.Time { return time.Now().Add(time.Duration(g.late.Load())) }
	c.Logger = slog.New(slog.NewJSONHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.Envoy.Listen, c.Admin.Listen, c.Metrics.Listen, c.Page.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	at := map[string]chan net.Addr{}
	for name, listening := range map[string]*func(net.Addr){
		"proxies": &c.Envoy.Listening, "operators": &c.Admin.Listening, "metrics": &c.Metrics.Listening, "browsers": &c.Page.Listening,
	} {
		addresses := make(chan net.Addr, 1)
		at[name], *listening = addresses, func(a net.Addr) { addresses <- a }
	}
	g.running = h.run()
	g.addresses["callers"] = strings.TrimPrefix(g.url, "https://")
	for name, address := range at {
		g.addresses[name] = (<-address).String()
	}
	return g
}

// traced is the header traceparent of a request that is part of a sampled trace.
const traced = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// ask sends a request to a listener and returns how it was answered.
func (g *guarded) ask(t *testing.T, listener string, s sent) string {
	t.Helper()
	if listener == "proxies" {
		return g.check(t, s)
	}
	path, accepted := map[string]string{"callers": "/v1/status", "operators": "/v1/revisions", "metrics": "/metrics", "browsers": "/v1/documents"}[listener], http.StatusOK
	if listener == "operators" {
		accepted = http.StatusConflict // without a state directory
	}
	code, _ := g.send(t, http.MethodGet, listener, path, "", s)
	switch code {
	case accepted:
		return "accepted"
	case 0, http.StatusUnauthorized: // a certificate that is refused ends the connection
		return "refused"
	}
	return http.StatusText(code)
}

// check asks the listener of proxies.
func (g *guarded) check(t *testing.T, s sent) string {
	t.Helper()
	connection, err := grpc.NewClient(g.addresses["proxies"], grpc.WithTransportCredentials(credentials.NewTLS(s.config.Clone())))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	err = checkOnce(t, connection, s.token, "traceparent", traced, "cookie", sessionCookie+s.session)
	switch {
	case status.Code(err) == codes.OK:
		return "accepted"
	// A client learns that its certificate is refused after the handshake, or
	// only that the connection is closed.
	case status.Code(err) == codes.Unauthenticated, status.Code(err) == codes.Unavailable && !strings.Contains(err.Error(), auth.ErrUnavailable.Error()):
		return "refused"
	}
	return err.Error()
}

const sessionCookie = "__Host-writ="

// send sends a request, a form if it has a body, and returns the status, 0 for a connection
// that fails, and the answer.
func (g *guarded) send(t *testing.T, method, listener, path, form string, s sent) (int, *http.Response) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://"+g.addresses[listener]+path, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Traceparent", traced)
	if form != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	if s.session != "" {
		request.Header.Set("Cookie", sessionCookie+s.session)
	}
	response, err := (&http.Transport{TLSClientConfig: s.config.Clone(), DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response.StatusCode, response
}

// signIn opens a session at the listener of browsers.
func (g *guarded) signIn(t *testing.T, token string) sent {
	t.Helper()
	s := sent{config: g.authority.client("")}
	code, response := g.send(t, http.MethodPost, "browsers", "/page/sign-in", url.Values{"token": {token}}.Encode(), s)
	if code != http.StatusSeeOther || len(response.Cookies()) != 1 {
		t.Fatalf("sign in: got %d", code)
	}
	s.session = response.Cookies()[0].Value
	return s
}

// Every listener accepts each kind of credentials if they are right, and refuses those
// that are wrong, expired, revoked or absent; a session is that of the listener of browsers.
// Log, spans, status, metrics and the log of decisions have no secret.
func TestCredentialsOfEveryListener(t *testing.T) {
	gate.Only(t)
	g := newGuarded(t)
	strangers := newAuthority(t)
	olga := map[string]any{"sub": "olga", "groups": []string{"ops"}}
	late := map[string]any{"sub": "olga", "groups": []string{"ops"}, "exp": time.Now().Add(-time.Minute).Unix()}
	none, certified := g.authority.client(""), g.authority.client("olga", "ops")
	stranger, expired := strangers.client("olga", "ops"), g.authority.expired("olga", "ops")
	stranger.RootCAs = none.RootCAs
	signed := g.issuer.Token(olga)
	g.eventually("the keys of the issuer are read", func() bool { return g.ask(t, "callers", sent{config: none, token: signed}) == "accepted" })
	byStatic, byIssuer, byReview, closed := g.signIn(t, "static"), g.signIn(t, signed), g.signIn(t, "reviewed-later"), g.signIn(t, "static")
	if code, _ := g.send(t, http.MethodPost, "browsers", "/page/sign-out", "", closed); code != http.StatusSeeOther {
		t.Fatalf("sign out: got %d", code)
	}
	rows := []struct {
		kind, state string
		sent        sent
		want        string
	}{
		{"none", "absent", sent{config: none}, "refused"},
		{"static token", "right", sent{config: none, token: "static"}, "accepted"},
		{"static token", "wrong", sent{config: none, token: "statik"}, "refused"},
		{"issuer's token", "right", sent{config: none, token: signed}, "accepted"},
		{"issuer's token", "wrong", sent{config: none, token: g.issuer.Forged("key-1", olga)}, "refused"},
		{"issuer's token", "expired", sent{config: none, token: g.issuer.Token(late)}, "refused"},
		{"issuer's token", "for another audience", sent{config: none, token: g.issuer.Token(map[string]any{"sub": "olga", "aud": "x"})}, "refused"},
		{"reviewed token", "right", sent{config: none, token: "reviewed"}, "accepted"},
		{"reviewed token", "wrong, expired for the API server", sent{config: none, token: "reviewed-never"}, "refused"},
		{"certificate", "right", sent{config: certified}, "accepted"},
		{"certificate", "wrong", sent{config: stranger}, "refused"},
		{"certificate", "expired", sent{config: expired}, "refused"},
		{"certificate", "right, with a wrong token", sent{config: certified, token: "statik"}, "refused"},
		{"session of a static token", "right", byStatic, "accepted"},
		{"session of an issuer's token", "right", byIssuer, "accepted"},
		{"session of a reviewed token", "right", byReview, "accepted"},
		{"session", "wrong", sent{config: none, session: "c29tZW9uZSBlbHNl"}, "refused"},
		{"session", "signed out", closed, "refused"},
		{"session", "right, with a wrong token", sent{config: none, session: byStatic.session, token: "statik"}, "refused"},
	}
	listeners := []string{"callers", "proxies", "operators", "metrics", "browsers"}
	for _, row := range rows {
		for _, listener := range listeners {
			want := row.want
			if row.sent.session != "" && listener != "browsers" {
				want = "refused"
			}
			if got := g.ask(t, listener, row.sent); got != want {
				t.Errorf("%s, %s, at the listener of %s: got %s, want %s", row.kind, row.state, listener, got, want)
			}
		}
	}
	g.down.Store(true)
	for _, listener := range listeners {
		if got := g.ask(t, listener, sent{config: none, token: "reviewed-unknown"}); got == "accepted" || got == "refused" {
			t.Errorf("a token that cannot be reviewed, at the listener of %s: got %s", listener, got)
		}
	}
	g.down.Store(false)
	g.late.Store(int64(9 * time.Hour))
	if got := g.ask(t, "browsers", byIssuer); got != "refused" {
		t.Errorf("a session after nine hours: got %s", got)
	}
	g.late.Store(0)
	byIssuer = g.signIn(t, signed)
	g.revoked.Store(true)
	g.late.Store(int64(time.Minute)) // longer than the answer of the API server is used
	g.house.write("tokens.csv", "other,olga,1,ops\n")
	g.house.write("ca.crt", strangers.pem)
	g.issuer.Add()
	g.issuer.Withdraw()
	for _, row := range []struct {
		kind string
		sent sent
	}{
		{"static token", sent{config: none, token: "static"}}, {"issuer's token", sent{config: none, token: signed}},
		{"reviewed token", sent{config: none, token: "reviewed-later"}}, {"certificate", sent{config: certified}},
		{"session of a static token", byStatic}, {"session of an issuer's token", byIssuer}, {"session of a reviewed token", byReview},
	} {
		for _, listener := range listeners {
			g.eventually(row.kind+", revoked, is refused at the listener of "+listener, func() bool {
				return g.ask(t, listener, row.sent) == "refused"
			})
		}
	}
	if got := g.ask(t, "metrics", sent{config: stranger}); got != "accepted" {
		t.Errorf("a certificate of the new authority: got %s", got)
	}
	g.checkSecrets(t, sent{config: none, token: "other"}, "static", "statik", signed, strings.Split(signed, ".")[2], "reviewed-", "secret-of-writ", "secret-of-logs", "secret-of-audit", "PRIVATE KEY",
		byStatic.session, byIssuer.session, byReview.session)
	for _, want := range []struct{ url, parent string }{
		{g.issuer.URL(), ""}, {g.reviewer.URL, "GET /v1/status"}, {g.reviewer.URL, "envoy.service.auth.v3.Authorization/Check"},
		{g.logs.URL + "/logs", ""}, {g.logs.URL + "/audit", ""},
	} {
		if parents := g.spans.requestsTo(t, want.url); !slices.Contains(parents, want.parent) {
			t.Errorf("requests to %s: got parents %q, want %q", want.url, parents, want.parent)
		}
	}
}

// checkSecrets ends the server, and reads everything that it shows of itself.
func (g *guarded) checkSecrets(t *testing.T, auditor sent, secrets ...string) {
	t.Helper()
	shown := map[string]string{}
	for name, at := range map[string][2]string{"status": {"callers", "/v1/status"}, "metrics": {"metrics", "/metrics"}, "page": {"browsers", "/page/"}} {
		code, response := g.send(t, http.MethodGet, at[0], at[1], "", auditor)
		if code != http.StatusOK {
			t.Fatalf("%s: got %d", name, code)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		shown[name] = string(body)
	}
	if code, _ := g.send(t, http.MethodPost, "callers", "/v1/decisions/access", `{"user":"alice","verb":"get","resource":"secrets","namespace":"hammer"}`, auditor); code != http.StatusOK {
		t.Fatalf("a decision: got %d", code)
	}
	g.stop()
	if err := <-g.ended; err != nil {
		t.Fatal(err)
	}
	decisions, err := os.ReadFile(g.house.config.Audit.DecisionLog)
	if err != nil {
		t.Fatal(err)
	}
	shown["log"], shown["log of decisions"], shown["spans"] = g.log.String(), string(decisions), g.spans.text()
	for name, want := range map[string]string{
		"log": "a caller was not accepted", "spans": "server.address", "status": "revision", "metrics": "writ_", "page": "olga", "log of decisions": `"revision"`,
	} {
		if !strings.Contains(shown[name], want) {
			t.Errorf("the %s has no %s: %s", name, want, shown[name])
		}
	}
	if !strings.Contains(shown["log"], "the token is expired") {
		t.Error("the log has no record of a token that is expired")
	}
	for name, text := range shown {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("the %s has the secret %s", name, secret)
			}
		}
	}
}

// Certificates of the server and keys of the issuer change while requests are answered:
// none of them fails.
func TestRotationWhileRequestsRun(t *testing.T) {
	gate.Only(t)
	g := newGuarded(t)
	olga := map[string]any{"sub": "olga", "groups": []string{"ops"}}
	config := g.authority.client("")
	g.eventually("the keys of the issuer are read", func() bool {
		return g.ask(t, "callers", sent{config: config, token: g.issuer.Token(olga)}) == "accepted"
	})
	var work sync.WaitGroup
	var stop atomic.Bool
	var answered atomic.Int64
	for _, listener := range []string{"callers", "proxies", "metrics", "browsers"} {
		work.Go(func() {
			for !stop.Load() {
				if got := g.ask(t, listener, sent{config: config, token: g.issuer.Token(olga)}); got != "accepted" {
					t.Errorf("at the listener of %s: got %s", listener, got)
					return
				}
				answered.Add(1)
			}
		})
	}
	for serial := int64(10); serial < 13; serial++ {
		g.issuer.Add()
		cert, key := g.authority.issue(serial)
		g.house.write("tls.key", key) // does not fit the certificate yet
		g.house.write("tls.crt", cert)
		before := answered.Load()
		g.eventually("the new certificate is used, and requests are answered", func() bool {
			connection, err := tls.Dial("tcp", g.addresses["callers"], config.Clone())
			if err != nil {
				return false
			}
			defer connection.Close()
			return connection.ConnectionState().PeerCertificates[0].SerialNumber.Int64() == serial && answered.Load() > before+3
		})
	}
	stop.Store(true)
	work.Wait()
}
