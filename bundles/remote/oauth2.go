package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins/rest"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/internal/redirect"
)

// tokenPlugin authenticates a service by tokens of an OAuth2 server, which it requests by
// the client credentials grant. It takes the place of OPA's own plugin, which follows
// redirects of the token request with the credentials in its body, and reads answers of
// any length. Keys that sign requests for tokens are not supported. It is safe for
// concurrent use.
type tokenPlugin struct {
	settings oauth2Settings

	mu      sync.Mutex
	client  *http.Client // for requests for tokens
	token   string
	expires time.Time
}

// oauth2Settings are OPA's settings below credentials.oauth2.
type oauth2Settings struct {
	GrantType            string            `json:"grant_type"`
	TokenURL             string            `json:"token_url"`
	ClientID             string            `json:"client_id"`
	ClientSecret         string            `json:"client_secret"`
	Scopes               []string          `json:"scopes"`
	AdditionalHeaders    map[string]string `json:"additional_headers"`
	AdditionalParameters map[string]string `json:"additional_parameters"`
	ClientAssertionType  string            `json:"client_assertion_type"`
	ClientAssertion      string            `json:"client_assertion"`
	ClientAssertionPath  string            `json:"client_assertion_path"`
}

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	// tokenLifetime is how long a token must still be valid to be used.
	tokenLifetime = 10 * time.Second
	// tokenTimeout bounds a request for a token, and maxToken its answer.
	tokenTimeout = 10 * time.Second
	maxToken     = 1 << 20
)

// newTokenPlugin returns the plugin of a service in JSON; nil if the service has no
// credentials.oauth2.
func newTokenPlugin(service []byte) (*tokenPlugin, error) {
	var config struct {
		Credentials struct {
			OAuth2 json.RawMessage `json:"oauth2"`
		} `json:"credentials"`
	}
	if err := json.Unmarshal(service, &config); err != nil {
		return nil, err
	}
	if config.Credentials.OAuth2 == nil {
		return nil, nil
	}
	p := &tokenPlugin{}
	decoder := json.NewDecoder(bytes.NewReader(config.Credentials.OAuth2))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p.settings); err != nil {
		return nil, fmt.Errorf("credentials.oauth2: %w", err)
	}
	if err := p.settings.check(); err != nil {
		return nil, fmt.Errorf("credentials.oauth2: %w", err)
	}
	return p, nil
}

func (s *oauth2Settings) check() error {
	given := 0
	for _, credential := range []string{s.ClientSecret, s.ClientAssertion, s.ClientAssertionPath} {
		if credential != "" {
			given++
		}
	}
	switch {
	case s.GrantType != "" && s.GrantType != "client_credentials":
		return errors.New("grant_type must be client_credentials")
	case !strings.HasPrefix(s.TokenURL, "https://"):
		return errors.New("token_url must begin with https://")
	case given != 1:
		return errors.New("one of client_secret, client_assertion and client_assertion_path must be given")
	case s.ClientSecret != "" && s.ClientID == "":
		return errors.New("client_id must be given beside client_secret")
	}
	return nil
}

// NewClient returns the client of the service. That of the token server has its TLS.
func (p *tokenPlugin) NewClient(c rest.Config) (*http.Client, error) {
	config, err := rest.DefaultTLSConfig(c)
	if err != nil {
		return nil, err
	}
	tokens := config.Clone()
	tokens.InsecureSkipVerify = c.AllowInsecureTLS
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client = rest.DefaultRoundTripperClient(tokens, int64(tokenTimeout/time.Second))
	p.client.Transport = progress.Transport(p.client.Transport)
	p.client.Timeout = tokenTimeout
	p.client.CheckRedirect = redirect.Stay
	return rest.DefaultRoundTripperClient(config, *c.ResponseHeaderTimeoutSeconds), nil
}

// Prepare adds the token to a request. It requests a new one if it has none or it
// expires.
func (p *tokenPlugin) Prepare(r *http.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Until(p.expires) < tokenLifetime {
		if err := p.request(r.Context()); err != nil {
			return fmt.Errorf("request a token of %s: %w", host(p.settings.TokenURL), err)
		}
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	return nil
}

func host(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return "the token server"
	}
	return u.Host
}

// request requests a token. Its errors have no part of the answer, which may have secrets.
func (p *tokenPlugin) request(ctx context.Context) error {
	form, err := p.settings.form()
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.settings.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.settings.ClientSecret != "" {
		r.SetBasicAuth(p.settings.ClientID, p.settings.ClientSecret)
	}
	for name, value := range p.settings.AdditionalHeaders {
		r.Header.Add(name, value)
	}
	response, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxToken))
	if err != nil {
		return err
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if err := json.Unmarshal(content, &answer); err != nil || answer.AccessToken == "" || !strings.EqualFold(answer.TokenType, "bearer") {
		return errors.New("the answer has no bearer token")
	}
	p.token = strings.TrimSpace(answer.AccessToken)
	p.expires = time.Now().Add(time.Duration(min(answer.ExpiresIn, int64(24*time.Hour/time.Second))) * time.Second)
	return nil
}

// form is the body of a request for a token.
func (s *oauth2Settings) form() (url.Values, error) {
	form := url.Values{}
	if len(s.Scopes) > 0 {
		form.Set("scope", strings.Join(s.Scopes, " "))
	}
	for name, value := range s.AdditionalParameters {
		form.Set(name, value)
	}
	form.Set("grant_type", "client_credentials")
	if s.ClientSecret != "" {
		return form, nil
	}
	assertion := s.ClientAssertion
	if s.ClientAssertionPath != "" {
		content, err := os.ReadFile(s.ClientAssertionPath)
		if err != nil {
			return nil, fmt.Errorf("read the client assertion: %w", err)
		}
		assertion = strings.TrimSpace(string(content))
	}
	kind := cmp.Or(s.ClientAssertionType, assertionType)
	form.Set("client_assertion_type", kind)
	form.Set("client_assertion", assertion)
	if s.ClientID != "" {
		form.Set("client_id", s.ClientID)
	}
	return form, nil
}
