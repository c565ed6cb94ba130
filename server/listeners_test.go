package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/openapi"
)

// Whose certificate the authority did not sign is rejected by every listener.
func TestEveryListenerRequiresAClientCertificate(t *testing.T) {
	a, strangers := newAuthority(t), newAuthority(t)
	h := newHouse(t)
	cert, key := a.issue(2)
	h.config.TLS.Cert, h.config.TLS.Key = h.write("tls.crt", cert), h.write("tls.key", key)
	h.config.TLS.ClientCA = h.write("ca.crt", a.pem)
	h.config.Envoy.Listen, h.config.Admin.Listen = "127.0.0.1:0", "127.0.0.1:0"
	h.config.Callers.Tokens, h.config.Callers.Operators = h.write("tokens", "t0ken,olga,1,ops\n"), []string{"ops"}
	h.config.TLS.RequireClientCert = true
	proxies, operators := make(chan net.Addr, 1), make(chan net.Addr, 1)
	h.config.Envoy.Listening = func(a net.Addr) { proxies <- a }
	h.config.Admin.Listening = func(a net.Addr) { operators <- a }
	h.run()
	envoyAt, adminAt := (<-proxies).String(), (<-operators).String()

	for name, row := range map[string]struct {
		by   *authority
		want bool
	}{"the authority's": {a, true}, "a stranger's": {strangers, false}, "none": {nil, false}} {
		config := &tls.Config{RootCAs: x509.NewCertPool()}
		config.RootCAs.AddCert(a.cert)
		if row.by != nil {
			cert, key := row.by.issue(9)
			pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		connection, err := grpc.NewClient(envoyAt, grpc.WithTransportCredentials(credentials.NewTLS(config.Clone())))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err = authv3.NewAuthorizationClient(connection).Check(ctx, &authv3.CheckRequest{})
		cancel()
		_ = connection.Close()
		if (err == nil) != row.want {
			t.Errorf("%s at Envoy's listener: got %v", name, err)
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		for token, want := range map[string]int{"t0ken": http.StatusConflict, "other": http.StatusUnauthorized} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+adminAt+"/v1/revisions", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			response, err := client.Do(r)
			if err == nil {
				response.Body.Close()
			}
			if (err == nil) != row.want || err == nil && response.StatusCode != want {
				t.Errorf("%s at the operators' listener: got %v, %v, want %d", name, response, err, want)
			}
		}
	}
}

// Certificates authenticate users and groups on every listener, and a kept connection is
// refused once its authority is withdrawn.
func TestClientCertificates(t *testing.T) {
	gate.Only(t)
	a, next := newAuthority(t), newAuthority(t)
	h := newHouse(t)
	cert, key := a.issue(2)
	h.config.TLS.Cert, h.config.TLS.Key = h.write("tls.crt", cert), h.write("tls.key", key)
	h.config.TLS.ClientCA = h.write("ca.crt", a.pem)
	h.config.Callers.Tokens = h.write("tokens.csv", "good,vera,1,sec\n")
	h.config.Callers.Auditors, h.config.Callers.Operators = []string{"sec"}, []string{"ops"}
	h.config.Envoy.Listen, h.config.Admin.Listen = "127.0.0.1:0", "127.0.0.1:0"
	proxies, operators := make(chan net.Addr, 1), make(chan net.Addr, 1)
	h.config.Envoy.Listening = func(a net.Addr) { proxies <- a }
	h.config.Admin.Listening = func(a net.Addr) { operators <- a }
	r := h.run()
	envoyAt, adminAt := (<-proxies).String(), (<-operators).String()
	code := func(c *http.Client, method, url, token string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := c.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode
	}
	probe := &http.Client{Transport: &http.Transport{TLSClientConfig: a.client("")}}
	r.eventually("ready", func() bool { return code(probe, "GET", r.url+"/readyz", "") == http.StatusOK })
	kept := make(map[string]*http.Client)
	checks := make(map[string]*grpc.ClientConn)
	for _, row := range []struct {
		name, user, group, token                 string
		probe, decides, status, effective, admin int
		check                                    codes.Code
	}{
		{"no credentials", "", "", "", 200, 401, 401, 401, 401, codes.Unauthenticated},
		{"a wrong token", "", "", "bad", 200, 401, 401, 401, 401, codes.Unauthenticated},
		{"a token", "", "", "good", 200, 400, 200, 404, 403, codes.OK},
		{"a certificate", "clark", "dev", "", 200, 400, 200, 403, 403, codes.OK},
		{"a certificate and a wrong token", "clark", "dev", "bad", 200, 401, 401, 401, 401, codes.Unauthenticated},
		{"a certificate of an auditor", "vera", "sec", "", 200, 400, 200, 404, 403, codes.OK},
		{"a certificate of an operator", "olga", "ops", "", 200, 400, 200, 403, 409, codes.OK},
	} {
		config := a.client(row.user, row.group)
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: config.Clone()}}
		kept[row.name] = c
		for _, e := range []struct {
			method, url string
			want        int
		}{
			{"GET", r.url + "/healthz", row.probe}, {"POST", r.url + "/v1/decisions/access", row.decides}, {"GET", r.url + "/v1/status", row.status},
			{"GET", r.url + "/v1/effective/AuthPolicy/Gateway/n/x", row.effective}, {"GET", "https://" + adminAt + "/v1/revisions", row.admin},
		} {
			if got := code(c, e.method, e.url, row.token); got != e.want {
				t.Errorf("%s: %s: got %d, want %d", row.name, e.url, got, e.want)
			}
		}
		connection, err := grpc.NewClient(envoyAt, grpc.WithTransportCredentials(credentials.NewTLS(config.Clone())))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		checks[row.name] = connection
		if got := status.Code(checkOnce(t, connection, row.token)); got != row.check {
			t.Errorf("%s: Envoy: got %v, want %v", row.name, got, row.check)
		}
	}
	h.write("ca.crt", next.pem)
	r.eventually("the kept connection is refused", func() bool {
		return code(kept["a certificate"], "GET", r.url+"/healthz", "") == http.StatusUnauthorized
	})
	if got := status.Code(checkOnce(t, checks["a certificate"], "")); got != codes.Unauthenticated {
		t.Errorf("a kept connection of Envoy: got %v, want Unauthenticated", got)
	}
	if got := code(kept["a token"], "GET", r.url+"/v1/status", "good"); got != http.StatusOK {
		t.Errorf("a token after the authority was withdrawn: got %d, want 200", got)
	}
	h.write("tokens.csv", "other,vera,1,sec\n")
	r.eventually("the token is refused", func() bool {
		return code(kept["a token"], "GET", r.url+"/v1/status", "good") == http.StatusUnauthorized
	})
	if got := status.Code(checkOnce(t, checks["a token"], "good")); got != codes.Unauthenticated {
		t.Errorf("a withdrawn token of Envoy: got %v, want Unauthenticated", got)
	}
	if err := checkOnce(t, checks["a token"], "other", "origin", "https://evil.example"); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a browser: got %v, want PermissionDenied", err)
	}
}

// checkOnce asks Envoy's listener. Further pairs are metadata.
func checkOnce(t *testing.T, connection *grpc.ClientConn, token string, pairs ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if token != "" {
		pairs = append(pairs, "authorization", "Bearer "+token)
	}
	_, err := authv3.NewAuthorizationClient(connection).Check(metadata.AppendToOutgoingContext(ctx, pairs...), &authv3.CheckRequest{})
	return err
}

// Callers without the role see no documents in the status.
func TestStatusDetails(t *testing.T) {
	h := newHouse(t)
	h.config.Callers.Tokens, h.config.Callers.Auditors = h.write("tokens.csv", "plain,clark,1\naudit,vera,2,sec\n"), []string{"sec"}
	h.write("policies/broken.yaml", "apiVersion: writ.dev/v1\nkind: Rolle\n")
	r := h.run()
	var plain, full string
	r.eventually("the documents were read", func() bool {
		_, full = r.as("audit", "GET", "/v1/status", "")
		_, plain = r.as("plain", "GET", "/v1/status", "")
		return strings.Contains(full, "Rolle")
	})
	for _, member := range []string{"location", "diagnostics", "lastError"} {
		if !strings.Contains(full, `"`+member+`"`) || strings.Contains(plain, member) {
			t.Errorf("%s: an auditor got %s, and another caller %s", member, full, plain)
		}
	}
	if strings.Contains(plain, "Rolle") || strings.Contains(plain, h.dir) || !strings.Contains(plain, `"ready"`) {
		t.Errorf("a caller without the role got %s", plain)
	}
	_, document := r.as("plain", "GET", "/v1/openapi.json", "")
	described, err := openapi.Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{full, plain} {
		if err := described.Check("GET", "/v1/status", 200, "application/json", []byte(body)); err != nil {
			t.Error(err)
		}
	}
}
