package remote

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins/rest"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/internal/redirect"
)

// checkRedirect returns the limits of redirects of a service with this configuration. The
// credentials and headers of a service are sent to no other server. A TLS client would
// present its certificate to every server, so it must stay.
func checkRedirect(c *rest.Config) func(*http.Request, []*http.Request) error {
	if c.Credentials.ClientTLS != nil {
		return redirect.Stay
	}
	keep := []string{"Accept", "If-None-Match", "Prefer", "Range"}
	for name := range c.Headers {
		keep = slices.DeleteFunc(keep, func(kept string) bool { return kept == http.CanonicalHeaderKey(name) })
	}
	return redirect.Follow(keep...)
}

// limitedPlugin is an authentication of OPA whose clients limit redirects: OPA's client has
// no other place for that.
type limitedPlugin struct {
	rest.HTTPAuthPlugin
	config rest.Config // with the credentials
}

const limitedPluginName = "limited"

// NewClient returns an error if the plugin of the configured credentials does.
func (p *limitedPlugin) NewClient(c rest.Config) (*http.Client, error) {
	config := p.config
	config.ResponseHeaderTimeoutSeconds = c.ResponseHeaderTimeoutSeconds
	client, err := p.HTTPAuthPlugin.NewClient(config)
	if err != nil {
		return nil, err
	}
	client.Transport = progress.Transport(client.Transport)
	client.CheckRedirect = checkRedirect(&config)
	return client, nil
}

// authentication returns the authentication of the service and its configuration: OPA's,
// except for OAuth2.
func (s *service) authentication() (rest.HTTPAuthPlugin, *rest.Config, error) {
	client, err := rest.New(s.config, nil, rest.Logger(logging.NewNoOpLogger()))
	if err != nil {
		return nil, nil, err
	}
	tokens, err := newTokenPlugin(s.config)
	if err != nil {
		return nil, nil, err
	}
	if tokens != nil {
		return tokens, client.Config(), nil
	}
	plugin, err := client.Config().AuthPlugin(nil)
	return plugin, client.Config(), err
}

// limitedClient returns OPA's client of the service, with limited redirects. It logs nothing.
func (s *service) limitedClient() (rest.Client, error) {
	plugin, config, err := s.authentication()
	if err != nil {
		return rest.Client{}, err
	}
	var fields map[string]any
	if err := json.Unmarshal(s.config, &fields); err != nil {
		return rest.Client{}, err
	}
	fields["credentials"] = map[string]string{"plugin": limitedPluginName}
	encoded, err := json.Marshal(fields)
	if err != nil {
		return rest.Client{}, err
	}
	limited := &limitedPlugin{plugin, *config}
	return rest.New(encoded, nil, rest.Logger(logging.NewNoOpLogger()),
		rest.AuthPluginLookup(func(string) rest.HTTPAuthPlugin { return limited }))
}
