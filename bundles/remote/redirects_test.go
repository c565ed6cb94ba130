package remote

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A service's credentials and headers are sent to no other server, and a bundle is not
// fetched over http if the service has https.
func TestServiceRedirects(t *testing.T) {
	content := packed(t, built(t, "dev", 1))
	other := serve(t, content)
	for _, row := range []struct {
		name    string
		to      string
		service string // fields of the service
		has     bool   // the last request has the secrets
	}{
		{"same server", "/elsewhere", "", true},
		{"other port", other.URL + "/b.tar.gz", "", false},
		{"other host", strings.Replace(other.URL, "127.0.0.1", "localhost", 1) + "/b.tar.gz", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := serve(t, content)
			s.set(content, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/elsewhere" {
					_, _ = w.Write(content)
					return
				}
				http.Redirect(w, r, row.to, http.StatusFound)
			})
			config, err := parseConfig(fmt.Appendf(nil, `services: {s: {url: %q, headers: {X-Api-Key: hunter2, Prefer: hunter2}, credentials: {bearer: {token: hunter2}}}}`, s.URL))
			check(t, err)
			check(t, listen(t, Options{Location: s.URL + "/b.tar.gz?signature=hunter2", Config: config}).step())
			last := s
			if !row.has {
				last = other
			}
			last.mu.Lock()
			defer last.mu.Unlock()
			got := last.asked[len(last.asked)-1]
			if has := strings.Contains(fmt.Sprint(got.Header), "hunter2"); has != row.has {
				t.Errorf("got headers %v, want secrets: %v", got.Header, row.has)
			}
		})
	}
}

func TestServiceRedirectsToHTTP(t *testing.T) {
	content := packed(t, built(t, "dev", 1))
	other := serve(t, content)
	s := httptest.NewTLSServer(http.RedirectHandler(other.URL+"/b.tar.gz", http.StatusFound))
	defer s.Close()
	config, err := parseConfig(fmt.Appendf(nil, `services: {s: {url: %q, allow_insecure_tls: true}}`, s.URL))
	check(t, err)
	wantError(t, listen(t, Options{Location: s.URL + "/b.tar.gz", Config: config}).step(), "from https to http")
	if len(other.asked) > 0 {
		t.Errorf("got request %v", other.asked[0])
	}
}

// A registry redirects blobs to a store of files, which is another server.
func TestRegistryRedirects(t *testing.T) {
	b := built(t, "dev", 1)
	d := newDepot(t)
	d.push(t, b, "policies:latest")
	d.password = "hunter2"
	var blobs *httptest.Server
	var headers []http.Header
	redirected := func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
		if !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		if "http://"+r.Host != blobs.URL {
			http.Redirect(w, r, blobs.URL+r.URL.Path, http.StatusTemporaryRedirect)
			return true
		}
		headers = append(headers, r.Header)
		real.ServeHTTP(w, r)
		return true
	}
	d.fault.Store(&redirected)
	blobs = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers = append(headers, r.Header.Clone())
		r.SetBasicAuth("robot", "hunter2")
		d.Config.Handler.ServeHTTP(w, r)
	}))
	defer blobs.Close()
	config, err := parseConfig(fmt.Appendf(nil, `services: {d: {url: %q, type: oci, headers: {X-Api-Key: aHVudGVyMg}, credentials: {bearer: {scheme: Basic, token: "robot:hunter2"}}}}`, d.URL))
	check(t, err)
	for name, o := range map[string]Options{
		"service":     {Config: config},
		"credentials": {Credentials: Credentials{User: "robot", Password: "hunter2"}},
	} {
		headers = nil
		o.Location, o.PlainHTTP = d.at("policies:latest"), true
		check(t, listen(t, o).step())
		if len(headers) == 0 {
			t.Fatalf("%s: nothing was redirected", name)
		}
		for _, h := range headers[:1] {
			if h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" {
				t.Errorf("%s: got headers %v", name, h)
			}
		}
	}
}

// A request for a token has the credentials of the service in its header or in its body.
// It stays at the token server.
func TestTokenRequestsStay(t *testing.T) {
	content := packed(t, built(t, "dev", 1))
	for _, row := range []struct {
		name, credential string
		status           int
		stays            bool
	}{
		{"a secret", "client_id: robot, client_secret: hunter2", http.StatusTemporaryRedirect, false},
		{"an assertion", "client_assertion: hunter2", http.StatusPermanentRedirect, false},
		{"another method", "client_assertion: hunter2", http.StatusFound, false},
		{"no redirect", "client_id: robot, client_secret: hunter2, scopes: [a, b], additional_parameters: {audience: x}", 0, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			leaked := 0
			other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				leaked++
				_, _ = w.Write([]byte(`{"access_token":"x","token_type":"bearer","expires_in":60}`))
			}))
			defer other.Close()
			asked := 0
			tokens := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				user, secret, _ := r.BasicAuth()
				switch {
				case row.status != 0:
					http.Redirect(w, r, other.URL+"/token", row.status)
				case r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "a b" || r.FormValue("audience") != "x" || user+secret != "robothunter2":
					http.Error(w, "no", http.StatusBadRequest)
				default:
					_, _ = w.Write([]byte(`{"access_token":"granted","token_type":"Bearer","expires_in":60}`))
				}
			}))
			defer tokens.Close()
			s := serve(t, content)
			config, err := parseConfig(fmt.Appendf(nil, `services: {s: {url: %q, allow_insecure_tls: true, credentials: {oauth2: {token_url: %q, %s}}}}`,
				s.URL, tokens.URL+"/token", row.credential))
			check(t, err)
			from := listen(t, Options{Location: s.URL + "/b.tar.gz", Config: config})
			err = from.step()
			if row.stays {
				check(t, err)
				check(t, from.step())
				if got := s.asked[len(s.asked)-1].Header.Get("Authorization"); got != "Bearer granted" || asked != 1 || from.requests.Load() != 3 {
					t.Errorf("got %q after %d requests for tokens, %d observed", got, asked, from.requests.Load())
				}
			} else if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got error %v", err)
			}
			if leaked > 0 {
				t.Errorf("%d requests for tokens went to another server", leaked)
			}
		})
	}
}

func TestOAuth2Settings(t *testing.T) {
	for settings, want := range map[string]string{
		`token_url: "http://a", client_id: a, client_secret: b`:                         "token_url must begin with https://",
		`token_url: "https://a", client_id: a`:                                          "one of client_secret",
		`token_url: "https://a", client_secret: b`:                                      "client_id must be given",
		`token_url: "https://a", client_id: a, client_secret: b, client_assertion: c`:   "one of client_secret",
		`token_url: "https://a", grant_type: jwt_bearer, client_assertion: b`:           "grant_type must be client_credentials",
		`token_url: "https://a", client_id: a, signing_key: k`:                          "unknown field",
		`token_url: "https://a", client_id: a, client_secret: b, additional_claims: {}`: "unknown field",
	} {
		_, err := parseConfig(fmt.Appendf(nil, `services: {s: {url: "https://b", credentials: {oauth2: {%s}}}}`, settings))
		wantError(t, err, want)
	}
}
