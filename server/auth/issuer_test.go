package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/issuer"
)

// runIssuer returns an authenticator of the issuer's tokens, which reads its keys.
func runIssuer(t *testing.T, from *issuer.Issuer, change func(*IssuerOptions)) *Issuer {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, []byte(from.CA()), 0o600); err != nil {
		t.Fatal(err)
	}
	o := IssuerOptions{
		URL: from.URL(), Audience: issuer.Audience, UsernameClaim: "sub", GroupsClaim: "groups", CA: ca, Refresh: 20 * time.Millisecond,
	}
	if change != nil {
		change(&o)
	}
	i, err := NewIssuer(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.Run(ctx, func(bool, error) {})
	}()
	t.Cleanup(func() { stop(); <-ended })
	return i
}

func withToken(token string) Credentials {
	return Credentials{Authorization: []string{"Bearer " + token}}
}

type claims = map[string]any

func TestIssuer(t *testing.T) {
	from, other := issuer.New(t), issuer.New(t)
	i := runIssuer(t, from, func(o *IssuerOptions) { o.UsernamePrefix, o.GroupsPrefix = "o:", "g:" })
	valid := from.Token(claims{"sub": "ada", "groups": []string{"dev", "ops"}})
	head, rest, _ := strings.Cut(valid, ".")
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + rest[:strings.LastIndex(rest, ".")+1]
	for _, tt := range []struct {
		name, token string
		caller      *Caller
		foreign     bool
	}{
		{"valid", valid, &Caller{Name: "o:ada", UID: "ada", Groups: []string{"g:dev", "g:ops"}}, false},
		{"one group", from.Token(claims{"sub": "ada", "groups": "dev"}), &Caller{Name: "o:ada", UID: "ada", Groups: []string{"g:dev"}}, false},
		{"no groups", from.Token(claims{"sub": "ada"}), &Caller{Name: "o:ada", UID: "ada", Groups: nil}, false},
		{"several audiences", from.Token(claims{"sub": "ada", "aud": []string{"x", issuer.Audience}}), &Caller{Name: "o:ada", UID: "ada", Groups: nil}, false},
		{"another audience", from.Token(claims{"sub": "ada", "aud": "x"}), nil, false},
		{"expired", from.Token(claims{"sub": "ada", "exp": time.Now().Add(-time.Second).Unix()}), nil, false},
		{"no expiry", from.Token(claims{"sub": "ada", "exp": nil}), nil, false},
		{"not yet valid", from.Token(claims{"sub": "ada", "nbf": time.Now().Add(time.Hour).Unix()}), nil, false},
		{"no user", from.Token(claims{}), nil, false},
		{"a user that is not a string", from.Token(claims{"sub": "ada", "groups": 7}), nil, false},
		{"a group that is not a string", from.Token(claims{"sub": "ada", "groups": []any{"dev", 7}}), nil, false},
		{"forged with a known key", from.Forged("key-1", claims{"sub": "ada"}), nil, false},
		{"forged with an unknown key", from.Forged("key-9", claims{"sub": "ada"}), nil, false},
		{"a changed payload", head + "." + rest[:5] + "A" + rest[6:], nil, true},
		{"unsigned", unsigned, nil, true},
		{"another issuer", other.Token(claims{"sub": "ada"}), nil, true},
		{"not a token of an issuer", "secret", nil, true},
	} {
		caller, err := i.Authenticate(t.Context(), withToken(tt.token))
		if !reflect.DeepEqual(caller, tt.caller) || (err != nil) != (tt.caller == nil) {
			t.Errorf("%s: got %+v, %v", tt.name, caller, err)
		}
		if err != nil && (!errors.Is(err, errCredentials) || errors.Is(err, errForeign) != tt.foreign || strings.Contains(err.Error(), tt.token)) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
	if caller, err := i.Authenticate(t.Context(), Credentials{}); caller != nil || err != nil {
		t.Errorf("without a token: got %+v, %v", caller, err)
	}
}

// An issuer does not give names and groups that Kubernetes reserves, and an address that
// is not verified may belong to another person.
func TestIssuerNames(t *testing.T) {
	from := issuer.New(t)
	i := runIssuer(t, from, func(o *IssuerOptions) { o.UsernameClaim = "email" })
	for _, tt := range []struct {
		name   string
		claims claims
		want   *Caller
	}{
		{"an address", claims{"email": "a@b.c"}, &Caller{Name: "a@b.c"}},
		{"a verified address", claims{"email": "a@b.c", "email_verified": true}, &Caller{Name: "a@b.c"}},
		{"another address", claims{"email": "a@b.c", "email_verified": false}, nil},
		{"a word for verified", claims{"email": "a@b.c", "email_verified": "true"}, nil},
		{"a reserved user", claims{"email": "system:admin"}, nil},
		{"a reserved group", claims{"email": "a@b.c", "groups": []string{"system:masters", "dev"}}, &Caller{Name: "a@b.c", Groups: []string{"dev"}}},
	} {
		if got, err := i.Authenticate(t.Context(), withToken(from.Token(tt.claims))); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, %v", tt.name, got, err)
		}
	}
}

// Keys of the issuer change while it is used: a new one is accepted at once, a withdrawn
// one is refused soon, and an issuer that does not answer changes nothing.
func TestIssuerKeys(t *testing.T) {
	gate.Only(t)
	from := issuer.New(t)
	from.SetDown(true)
	i := runIssuer(t, from, nil)
	ask := func(token string) error {
		_, err := i.Authenticate(t.Context(), withToken(token))
		return err
	}
	eventually := func(what string, so func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not so: %s", what)
			}
		}
	}
	first := from.Token(claims{"sub": "ada"})
	if err := ask(first); !errors.Is(err, ErrUnavailable) || errors.Is(err, errCredentials) {
		t.Errorf("before the issuer answers: got %v", err)
	}
	from.SetDown(false)
	eventually("the first key is read", func() bool { return ask(first) == nil })
	from.Add()
	second := from.Token(claims{"sub": "ada"})
	eventually("the second key is read", func() bool { return ask(second) == nil })
	if err := ask(first); err != nil {
		t.Errorf("the first key, not withdrawn: got %v", err)
	}
	from.Withdraw()
	eventually("the first key is refused", func() bool { return errors.Is(ask(first), errCredentials) })
	if err := ask(second); err != nil {
		t.Errorf("the second key: got %v", err)
	}
	from.SetDown(true)
	before := from.Fetched()
	for range 100 {
		if err := ask(second); err != nil {
			t.Fatalf("the issuer does not answer: got %v", err)
		}
	}
	from.SetDown(false)
	var senders sync.WaitGroup
	for range 200 { // one sender makes keys up
		senders.Go(func() {
			if err := ask(from.Forged("made-up", claims{"sub": "ada"})); !errors.Is(err, errCredentials) {
				t.Errorf("a made-up key: got %v", err)
			}
		})
	}
	senders.Wait()
	if fetched := from.Fetched() - before; fetched > 100 {
		t.Errorf("200 tokens with unknown keys read the keys %d times", fetched)
	}
}

// The file of authorities is read with the keys: a changed file counts, for open
// connections too, and one without a certificate leaves the keys in use.
func TestIssuerAuthorities(t *testing.T) {
	from := issuer.New(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	stranger := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	ca := filepath.Join(t.TempDir(), "ca.crt")
	trust := func(content string) {
		t.Helper()
		if err := os.WriteFile(ca, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust(stranger)
	i, err := NewIssuer(IssuerOptions{URL: from.URL(), Audience: issuer.Audience, UsernameClaim: "sub", CA: ca, Refresh: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	read := func() error {
		i.read = time.Time{} // no pause
		_, err := i.refresh(t.Context())
		return err
	}
	ask := func() error {
		_, err := i.Authenticate(t.Context(), withToken(from.Token(claims{"sub": "ada"})))
		return err
	}
	var unknown *tls.CertificateVerificationError
	if err := read(); !errors.As(err, &unknown) {
		t.Errorf("another authority: got %v", err)
	}
	trust(from.CA())
	if err := errors.Join(read(), ask()); err != nil {
		t.Errorf("the authority of the issuer: got %v", err)
	}
	for _, tt := range []struct{ name, content, want string }{
		{"another authority", stranger, "certificate signed by unknown authority"},
		{"no certificate", "none", "contains no certificate"},
	} {
		trust(tt.content)
		if err := read(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v", tt.name, err)
		}
		if err := ask(); err != nil {
			t.Errorf("%s, with keys that were read before: got %v", tt.name, err)
		}
	}
}

func TestIssuerOptions(t *testing.T) {
	for name, change := range map[string]func(*IssuerOptions){
		"plain HTTP":   func(o *IssuerOptions) { o.URL = "http://issuer.example" },
		"a query":      func(o *IssuerOptions) { o.URL += "?a=b" },
		"not a URL":    func(o *IssuerOptions) { o.URL = "issuer" },
		"no audience":  func(o *IssuerOptions) { o.Audience = "" },
		"no user":      func(o *IssuerOptions) { o.UsernameClaim = "" },
		"no refresh":   func(o *IssuerOptions) { o.Refresh = 0 },
		"no authority": func(o *IssuerOptions) { o.CA = filepath.Join(t.TempDir(), "none") },
		"not PEM":      func(o *IssuerOptions) { o.CA = "issuer_test.go" },
	} {
		o := IssuerOptions{URL: "https://issuer.example", Audience: "writ", UsernameClaim: "sub", Refresh: time.Minute}
		change(&o)
		if _, err := NewIssuer(o); err == nil {
			t.Errorf("%s: the options were accepted", name)
		}
	}
}
