package redirect_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-policy/writ/internal/redirect"
)

func TestSameServer(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{"https://a/x", "https://A:443/y", true},
		{"http://a", "http://a:80", true},
		{"https://[::1]:1", "https://[::1]:1/x", true},
		{"https://a", "http://a", false},
		{"http://a", "https://a", false},
		{"https://a", "https://a:8443", false},
		{"https://a", "https://b.a", false},
		{"https://a.b", "https://a", false},
	} {
		a, _ := url.Parse(row.a)
		b, _ := url.Parse(row.b)
		if got := redirect.SameServer(a, b); got != row.want {
			t.Errorf("SameServer(%s, %s) = %v, want %v", row.a, row.b, got, row.want)
		}
	}
}

// Each row is a chain of redirects, and the headers of the request at its end.
func TestRedirects(t *testing.T) {
	var target string // of the next redirect; empty: none
	var got http.Header
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to, rest, ok := strings.Cut(target, " "); to != "" {
			if target = rest; !ok {
				target = ""
			}
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		got = r.Header
	})
	plain, other, secure := httptest.NewServer(handler), httptest.NewServer(handler), httptest.NewTLSServer(handler)
	for _, s := range []*httptest.Server{plain, other, secure} {
		defer s.Close()
	}
	const secret = "PRIVATE-TOKEN"
	for _, row := range []struct {
		name, from, chain  string
		hasSecret          bool
		followErr, stayErr string
	}{
		{"none", plain.URL, "", true, "", ""},
		{"same server", plain.URL, plain.URL + "/x", true, "", ""},
		{"other port", plain.URL, other.URL + "/x", false, "", "another server"},
		{"other host", plain.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), false, "", "another server"},
		{"there and back", plain.URL, other.URL + " " + plain.URL, false, "", "another server"},
		{"to https", plain.URL, secure.URL, false, "", "another server"},
		{"to http", secure.URL, plain.URL, false, "https to http", "https to http"},
		{"to https and to http", plain.URL, secure.URL + " " + plain.URL, false, "https to http", "another server"},
		{"endless", plain.URL, strings.Repeat(plain.URL+" ", 20), false, "10 redirects", "10 redirects"},
	} {
		for name, policy := range map[string]func(*http.Request, []*http.Request) error{"follow": redirect.Follow("If-None-Match"), "stay": redirect.Stay} {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				client := secure.Client()
				client.CheckRedirect = policy
				want := row.followErr
				if name == "stay" {
					want = row.stayErr
				}
				target, got = row.chain, nil
				request, err := http.NewRequest(http.MethodGet, row.from, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{secret, "Authorization", "If-None-Match"} {
					request.Header.Set(name, "x")
				}
				response, err := client.Do(request)
				if err == nil {
					response.Body.Close()
				}
				if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
					t.Fatalf("got error %v, want %q", err, want)
				}
				if err != nil {
					return
				}
				for _, name := range []string{secret, "Authorization"} {
					if has := got.Get(name) != ""; has != row.hasSecret {
						t.Errorf("%s: sent %v, want %v", name, has, row.hasSecret)
					}
				}
				if got.Get("If-None-Match") == "" || got.Get("Referer") != "" && !row.hasSecret {
					t.Errorf("got headers %v", got)
				}
			})
		}
	}
}

func TestStayKeepsTheMethod(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/x", http.StatusFound)
		}
	}))
	defer server.Close()
	client := &http.Client{CheckRedirect: redirect.Stay}
	if _, err := client.Post(server.URL, "text/plain", strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "another method") {
		t.Errorf("got error %v", err)
	}
}
