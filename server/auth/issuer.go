package auth

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/internal/progress"
)

// IssuerOptions name an OpenID Connect issuer and the claims of its tokens. The zero value
// accepts tokens of no issuer.
type IssuerOptions struct {
	// URL is the issuer, as tokens name it, with https. Audience is what a token must be
	// issued for.
	URL      string
	Audience string
	// UsernameClaim and GroupsClaim are the claims with the user and the groups;
	// UsernamePrefix and GroupsPrefix stand before their values.
	UsernameClaim  string
	UsernamePrefix string
	GroupsClaim    string
	GroupsPrefix   string
	// CA is a PEM file of authorities to trust for the issuer, which is read with its
	// keys; empty means those of the system.
	CA string
	// Refresh is the interval of reading the keys of the issuer. A key that the issuer
	// withdraws is refused after it.
	Refresh time.Duration
}

// Check returns an error if an option is missing or out of range.
func (o *IssuerOptions) Check() error {
	at, err := url.Parse(o.URL)
	switch {
	case err != nil || at.Scheme != "https" || at.Host == "" || at.RawQuery != "" || at.Fragment != "":
		return fmt.Errorf("issuer %q: must be a URL with https and without query and fragment", o.URL)
	case o.Audience == "":
		return errors.New("an issuer requires the audience of its tokens: without it a token for another service is accepted")
	case o.UsernameClaim == "":
		return errors.New("the claim of the user must not be empty")
	case o.Refresh <= 0:
		return errors.New("the interval of reading the keys of the issuer must be positive")
	}
	return nil
}

const (
	// issuerTimeout bounds reading the issuer.
	issuerTimeout = 5 * time.Second
	// issuerPause is the least time between two readings: tokens with unknown keys cause
	// one, and a sender can make them up.
	issuerPause = time.Second
	// maxIssuer bounds a document of the issuer in bytes.
	maxIssuer = 1 << 20
)

// asymmetric are the algorithms of signatures that are accepted. Those with a shared
// secret are not among them.
var asymmetric = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA,
}

// Issuer authenticates tokens that an OpenID Connect issuer signed. Its keys are read by
// Run and, if a token names another key, at once. While the issuer does not answer, the
// keys that it had last are used. It is safe for concurrent use.
type Issuer struct {
	o IssuerOptions

	reading     chan struct{} // one element while the issuer is read; its holder uses the next four
	read        time.Time     // when the last reading began
	client      *http.Client
	transport   *http.Transport // of the client
	authorities []byte          // the content of the file that the client trusts
	active      atomic.Pointer[issuerKeys]
}

var _ Authenticator = (*Issuer)(nil)

// NewIssuer returns an authenticator of an issuer's tokens, which has no keys yet. It
// returns an error if the options are invalid or the file of authorities cannot be read.
func NewIssuer(o IssuerOptions) (*Issuer, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	i := &Issuer{o: o, reading: make(chan struct{}, 1)}
	return i, i.readAuthorities()
}

// readAuthorities makes the client of the issuer, and makes it again if the file of
// authorities has changed.
func (i *Issuer) readAuthorities() error {
	var content []byte
	if i.o.CA != "" {
		var err error
		if content, err = os.ReadFile(i.o.CA); err != nil {
			return fmt.Errorf("read the authorities of the issuer: %w", err)
		}
	}
	if i.client != nil && bytes.Equal(content, i.authorities) {
		return nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if i.o.CA != "" {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(content) {
			return fmt.Errorf("read the authorities of the issuer: %s contains no certificate", i.o.CA)
		}
	}
	if i.client != nil {
		i.transport.CloseIdleConnections() // made with the earlier authorities
	}
	i.authorities, i.transport = content, transport
	i.client = &http.Client{
		Transport: progress.Transport(limits.Responses(transport, maxIssuer)), Timeout: issuerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

// Run reads the keys of the issuer until ctx is done, and reports each reading.
func (i *Issuer) Run(ctx context.Context, report func(changed bool, err error)) {
	for {
		changed, err := i.refresh(ctx)
		if ctx.Err() != nil {
			return
		}
		report(changed, err)
		wait := i.o.Refresh
		if i.active.Load() == nil {
			wait = 0 // refresh pauses
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// refresh reads the issuer, not before the pause after the last reading. A reading that
// began after the call serves it, too.
func (i *Issuer) refresh(ctx context.Context) (changed bool, err error) {
	called := time.Now()
	select {
	case i.reading <- struct{}{}:
		defer func() { <-i.reading }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if i.read.After(called) {
		return false, nil
	}
	select {
	case <-time.After(time.Until(i.read.Add(issuerPause))):
	case <-ctx.Done():
		return false, ctx.Err()
	}
	i.read = time.Now()
	if err := i.readAuthorities(); err != nil {
		return false, err
	}
	next, err := i.readKeys(ctx)
	if err != nil {
		return false, fmt.Errorf("read the keys of issuer %s: %w", i.o.URL, err)
	}
	last := i.active.Swap(next)
	return last == nil || string(last.content) != string(next.content), nil
}

func (i *Issuer) readKeys(ctx context.Context) (*issuerKeys, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.o.URL)
	if err != nil {
		return nil, err
	}
	var discovered struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&discovered); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(discovered.Keys, "https://") {
		return nil, errors.New("its keys are not at a URL with https")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, discovered.Keys, nil)
	if err != nil {
		return nil, err
	}
	response, err := i.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", discovered.Keys, response.Status)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return parseIssuerKeys(content, &i.o)
}

// issuerKeys are the keys of an issuer at a time, and what verifies tokens by them.
type issuerKeys struct {
	content  []byte
	keys     jose.JSONWebKeySet
	verifier *oidc.IDTokenVerifier
}

func parseIssuerKeys(content []byte, o *IssuerOptions) (*issuerKeys, error) {
	k := &issuerKeys{content: content}
	if err := json.Unmarshal(content, &k.keys); err != nil {
		return nil, fmt.Errorf("its keys are malformed: %w", err)
	}
	if len(k.keys.Keys) == 0 {
		return nil, errors.New("it has no keys")
	}
	names := elements.Map(asymmetric, func(algorithm jose.SignatureAlgorithm) string { return string(algorithm) })
	k.verifier = oidc.NewVerifier(o.URL, k, &oidc.Config{ClientID: o.Audience, SupportedSigningAlgs: names})
	return k, nil
}

// named returns the keys that may have signed a token that names a key.
func (k *issuerKeys) named(id string) []jose.JSONWebKey {
	if id == "" {
		return k.keys.Keys
	}
	return k.keys.Key(id)
}

// VerifySignature returns the payload of a token that one of the keys signed. It is
// called by the verifier.
func (k *issuerKeys) VerifySignature(_ context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, asymmetric)
	if err != nil {
		return nil, err
	}
	for _, key := range k.named(signed.Signatures[0].Header.KeyID) {
		if payload, err := signed.Verify(key.Public()); err == nil && key.Use != "enc" {
			return payload, nil
		}
	}
	return nil, errors.New("none of the keys signed the token")
}
