package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// Whose certificate the authority did not sign is rejected by every listener.
func TestEveryListenerRequiresAClientCertificate(t *testing.T) {
	a, strangers := newAuthority(t), newAuthority(t)
	h := newHouse(t)
	cert, key := a.issue(2)
	h.config.TLSCert, h.config.TLSKey = h.write("tls.crt", cert), h.write("tls.key", key)
	h.config.ClientCA = h.write("ca.crt", a.pem)
	h.config.EnvoyListen, h.config.AdminListen = "127.0.0.1:0", "127.0.0.1:0"
	h.config.AdminTokens = h.write("operators", "t0ken,olga,1\n")
	proxies, operators := make(chan net.Addr, 1), make(chan net.Addr, 1)
	h.config.EnvoyListening = func(a net.Addr) { proxies <- a }
	h.config.AdminListening = func(a net.Addr) { operators <- a }
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
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
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
