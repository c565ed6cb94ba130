package server

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
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
	"github.com/writ-policy/writ/tests/issuer"
)

// guarded is a server with every listener and every kind of credentials.
type guarded struct {
	*running
	house     *house
	authority *authority
	issuer    *issuer.Issuer
	log       *syncBuffer
	revoked   atomic.Bool // by the API server that reviews tokens
	down      atomic.Bool // that API server
	addresses map[string]string
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

func newGuarded(t *testing.T) *guarded {
	h := newHouse(t)
	g := &guarded{house: h, authority: newAuthority(t), issuer: issuer.New(t), log: &syncBuffer{}, addresses: map[string]string{}}
	cert, key := g.authority.issue(2)
	c := &h.config
	c.TLS.Cert, c.TLS.Key, c.TLS.ClientCA = h.write("tls.crt", cert), h.write("tls.key", key), h.write("ca.crt", g.authority.pem)
	c.Callers.Tokens = h.write("tokens.csv", "static,olga,1,ops\n")
	c.Callers.OIDC.URL, c.Callers.OIDC.Audience, c.Callers.OIDC.CA = g.issuer.URL(), issuer.Audience, h.write("issuer.crt", g.issuer.CA())
	c.Callers.OIDC.Refresh = 50 * time.Millisecond
	c.Callers.TokenReview = h.write("reviewer.yaml", strings.ReplaceAll(reviewer, "URL", g.apiServer(t).URL))
	c.Callers.Operators = []string{"ops"}
	c.Logger = slog.New(slog.NewJSONHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.Envoy.Listen, c.Admin.Listen, c.Metrics.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	at := map[string]chan net.Addr{}
	for name, listening := range map[string]*func(net.Addr){
		"proxies": &c.Envoy.Listening, "operators": &c.Admin.Listening, "metrics": &c.Metrics.Listening,
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

// ask sends a request to a listener and returns how it was answered.
func (g *guarded) ask(t *testing.T, listener string, config *tls.Config, token string) string {
	t.Helper()
	if listener == "proxies" {
		connection, err := grpc.NewClient(g.addresses[listener], grpc.WithTransportCredentials(credentials.NewTLS(config.Clone())))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		err = checkOnce(t, connection, token)
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
	path, accepted := map[string]string{"callers": "/v1/status", "operators": "/v1/revisions", "metrics": "/metrics"}[listener], http.StatusOK
	if listener == "operators" {
		accepted = http.StatusConflict // there is no state directory
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+g.addresses[listener]+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config.Clone(), DisableKeepAlives: true}, Timeout: time.Minute}
	response, err := client.Do(request)
	if err != nil {
		return "refused" // as above
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case accepted:
		return "accepted"
	case http.StatusUnauthorized:
		return "refused"
	}
	return response.Status
}

// Every listener accepts each kind of credentials if they are right, and refuses those
// that are wrong, expired, revoked or absent. The log has no secret.
func TestCredentialsOfEveryListener(t *testing.T) {
	g := newGuarded(t)
	strangers := newAuthority(t)
	olga := map[string]any{"sub": "olga", "groups": []string{"ops"}}
	late := map[string]any{"sub": "olga", "groups": []string{"ops"}, "exp": time.Now().Add(-time.Minute).Unix()}
	none, certified := g.authority.client(""), g.authority.client("olga", "ops")
	stranger, expired := strangers.client("olga", "ops"), g.authority.expired("olga", "ops")
	stranger.RootCAs = none.RootCAs
	signed := g.issuer.Token(olga)
	rows := []struct {
		kind, state string
		config      *tls.Config
		token, want string
	}{
		{"none", "absent", none, "", "refused"},
		{"static token", "right", none, "static", "accepted"},
		{"static token", "wrong", none, "statik", "refused"},
		{"issuer's token", "right", none, signed, "accepted"},
		{"issuer's token", "wrong", none, g.issuer.Forged("key-1", olga), "refused"},
		{"issuer's token", "expired", none, g.issuer.Token(late), "refused"},
		{"issuer's token", "for another audience", none, g.issuer.Token(map[string]any{"sub": "olga", "aud": "x"}), "refused"},
		{"reviewed token", "right", none, "reviewed", "accepted"},
		{"reviewed token", "wrong", none, "reviewed-never", "refused"},
		{"certificate", "right", certified, "", "accepted"},
		{"certificate", "wrong", stranger, "", "refused"},
		{"certificate", "expired", expired, "", "refused"},
		{"certificate", "right, with a wrong token", certified, "statik", "refused"},
	}
	listeners := []string{"callers", "proxies", "operators", "metrics"}
	g.eventually("the keys of the issuer are read", func() bool { return g.ask(t, "callers", none, signed) == "accepted" })
	for _, row := range rows {
		for _, listener := range listeners {
			if got := g.ask(t, listener, row.config, row.token); got != row.want {
				t.Errorf("%s, %s, at the listener of %s: got %s, want %s", row.kind, row.state, listener, got, row.want)
			}
		}
	}
	g.down.Store(true)
	for _, listener := range listeners {
		if got := g.ask(t, listener, none, "reviewed-later"); got == "accepted" || got == "refused" {
			t.Errorf("a token that cannot be reviewed, at the listener of %s: got %s", listener, got)
		}
	}
	g.down.Store(false)
	g.revoked.Store(true)
	g.house.write("tokens.csv", "other,olga,1,ops\n")
	g.house.write("ca.crt", strangers.pem)
	g.issuer.Add()
	g.issuer.Withdraw()
	for _, row := range []struct {
		kind   string
		config *tls.Config
		token  string
	}{{"static token", none, "static"}, {"issuer's token", none, signed}, {"reviewed token", none, "reviewed-later"}, {"certificate", certified, ""}} {
		for _, listener := range listeners {
			g.eventually(row.kind+", revoked, is refused at the listener of "+listener, func() bool {
				return g.ask(t, listener, row.config, row.token) == "refused"
			})
		}
	}
	if got := g.ask(t, "metrics", stranger, ""); got != "accepted" {
		t.Errorf("a certificate of the new authority: got %s", got)
	}
	text := g.log.String()
	if !strings.Contains(text, "a caller was not accepted") || !strings.Contains(text, "the token is expired") {
		t.Error("the log has no record of callers that were not accepted")
	}
	for _, secret := range []string{"static", "statik", signed, "reviewed-", "secret-of-writ", "PRIVATE KEY", strings.Split(signed, ".")[2]} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has the secret %s", secret)
		}
	}
}

// Certificates of the server and keys of the issuer change while requests are answered:
// none of them fails.
func TestRotationWhileRequestsRun(t *testing.T) {
	g := newGuarded(t)
	olga := map[string]any{"sub": "olga", "groups": []string{"ops"}}
	config := g.authority.client("")
	g.eventually("the keys of the issuer are read", func() bool { return g.ask(t, "callers", config, g.issuer.Token(olga)) == "accepted" })
	var work sync.WaitGroup
	var stop atomic.Bool
	var answered atomic.Int64
	for _, listener := range []string{"callers", "proxies", "metrics"} {
		work.Go(func() {
			for !stop.Load() {
				if got := g.ask(t, listener, config, g.issuer.Token(olga)); got != "accepted" {
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
