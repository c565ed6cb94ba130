// Package issuer is an OpenID Connect issuer for tests: discovery and keys over TLS, and
// tokens with any claims. Keys are added and withdrawn while it runs.
package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Audience is what tokens are issued for unless their claims name another.
const Audience = "writ"

// Issuer is a running issuer. It is safe for concurrent use.
type Issuer struct {
	t      testing.TB
	server *httptest.Server

	mu      sync.Mutex // held to read and write the rest
	keys    []jose.JSONWebKey
	made    int
	fetched int
	down    bool
}

// New starts an issuer with one key. It ends with the test.
func New(t testing.TB) *Issuer {
	i := &Issuer{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.answer(w, map[string]any{"issuer": i.URL(), "jwks_uri": i.URL() + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.fetched++
		public := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
		for _, key := range i.keys {
			public.Keys = append(public.Keys, key.Public())
		}
		i.answer(w, public)
	})
	i.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		down := i.down
		i.mu.Unlock()
		if down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.server.Close)
	i.Add()
	return i
}

// URL is the issuer, as its tokens name it.
func (i *Issuer) URL() string { return i.server.URL }

// CA is the PEM form of the authority to trust.
func (i *Issuer) CA() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.server.Certificate().Raw}))
}

// Add makes a key, which signs tokens from now on. Earlier keys stay valid.
func (i *Issuer) Add() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.made++
	i.keys = append(i.keys, i.newKey("key-"+strconv.Itoa(i.made)))
}

// Withdraw removes all keys but the last.
func (i *Issuer) Withdraw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = i.keys[len(i.keys)-1:]
}

// SetDown makes the issuer answer 503 to everything, or end that.
func (i *Issuer) SetDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// Fetched counts how often the keys were read.
func (i *Issuer) Fetched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetched
}

// Token returns a token for the audience, valid for an hour, with further or other claims.
func (i *Issuer) Token(claims map[string]any) string {
	i.mu.Lock()
	key := i.keys[len(i.keys)-1]
	i.mu.Unlock()
	return i.sign(key, claims)
}

// Forged returns a token by a key that is not the issuer's, but has the name of one, or
// of none of them.
func (i *Issuer) Forged(name string, claims map[string]any) string {
	return i.sign(i.newKey(name), claims)
}

func (i *Issuer) newKey(name string) jose.JSONWebKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: name, Algorithm: string(jose.ES256), Use: "sig"}
}

func (i *Issuer) sign(key jose.JSONWebKey, claims map[string]any) string {
	all := map[string]any{"iss": i.URL(), "aud": Audience, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	payload, err := json.Marshal(all)
	if err != nil {
		i.t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

func (i *Issuer) answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		i.t.Error(err)
	}
}
