package api

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

func signed(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func TestPoke(t *testing.T) {
	body, secret := []byte(`{"ref":"refs/heads/main"}`), "s3cret"
	pokes := 0
	_, o := endpoints(&fake{}, func(o *Options) { o.Poke, o.PokeSecret = func() { pokes++ }, func() []byte { return []byte(secret) } })
	h := New(o)
	for name, row := range map[string]struct {
		header, value string
		body          []byte
		want          int
	}{
		"GitHub":                 {githubSignature, signed(secret, body), body, http.StatusAccepted},
		"GitHub, capitals":       {githubSignature, "sha256=" + strings.ToUpper(signed(secret, body)[7:]), body, http.StatusAccepted},
		"GitLab":                 {gitlabToken, secret, body, http.StatusAccepted},
		"nothing":                {"X-Other", "", body, http.StatusForbidden},
		"an empty token":         {gitlabToken, "", body, http.StatusForbidden},
		"another token":          {gitlabToken, secret + " ", body, http.StatusForbidden},
		"another body":           {githubSignature, signed(secret, body), body[1:], http.StatusForbidden},
		"another secret":         {githubSignature, signed("other", body), body, http.StatusForbidden},
		"no secret":              {githubSignature, signed("", body), body, http.StatusForbidden},
		"half a signature":       {githubSignature, signed(secret, body)[:40], body, http.StatusForbidden},
		"an empty signature":     {githubSignature, "sha256=", body, http.StatusForbidden},
		"no signature":           {githubSignature, "sha256=zz", body, http.StatusForbidden},
		"a weaker hash":          {githubSignature, "sha1=" + signed(secret, body)[7:], body, http.StatusForbidden},
		"the secret as its hash": {githubSignature, secret, body, http.StatusForbidden},
		"too large":              {gitlabToken, secret, make([]byte, maxPoke+1), http.StatusRequestEntityTooLarge},
	} {
		before := pokes
		r := httptest.NewRequest(http.MethodPost, "/v1/poke", bytes.NewReader(row.body))
		r.Header.Set(row.header, row.value)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != row.want || (pokes > before) != (row.want == http.StatusAccepted) {
			t.Errorf("%s: got %d and %d pokes, want %d", name, w.Code, pokes-before, row.want)
		}
	}
	secret = ""
	for header, value := range map[string]string{githubSignature: signed("", body), gitlabToken: ""} {
		r := httptest.NewRequest(http.MethodPost, "/v1/poke", bytes.NewReader(body))
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusForbidden {
			t.Errorf("without a secret, %s: got %d", header, w.Code)
		}
	}
}

// Anybody may send a body here, and many at a time: none is held in memory.
func TestPokeHoldsNoBody(t *testing.T) {
	body := make([]byte, maxPoke)
	_, o := endpoints(&fake{}, func(o *Options) { o.Poke, o.PokeSecret = func() {}, func() []byte { return []byte("s3cret") } })
	h := New(o)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		r := httptest.NewRequest(http.MethodPost, "/v1/poke", bytes.NewReader(body))
		r.Header.Set(githubSignature, signed("s3cret", body))
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusAccepted {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 10; each > maxPoke/4 {
		t.Errorf("a poke takes %d bytes", each)
	}
}
