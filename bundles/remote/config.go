package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins/rest"

	"github.com/writ-policy/writ/translator/syntax"
)

// Config is the part of an OPA configuration that bundles are fetched by: services with
// their credentials, and at most one bundle.
type Config struct {
	services map[string]*service
	bundle   *bundleConfig
}

// configFile is the form of the file. OPA decodes the services.
type configFile struct {
	Services any                      `yaml:"services"`
	Bundles  map[string]*bundleConfig `yaml:"bundles"`
}

type bundleConfig struct {
	Service  string `yaml:"service"`
	Resource string `yaml:"resource"`
	Polling  struct {
		Min  int `yaml:"min_delay_seconds"`
		Max  int `yaml:"max_delay_seconds"`
		Wait int `yaml:"long_polling_timeout_seconds"`
	} `yaml:"polling"`
}

// service is a server that requests are made of.
type service struct {
	url    string // without a slash at its end
	config []byte // in JSON
}

// ReadConfig reads an OPA configuration in YAML or JSON. Like OPA it replaces ${NAME} by
// the environment variable; a variable that is not set is an error. A key other than
// services and bundles is an error too, because it would have no effect.
func ReadConfig(path string) (*Config, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the bundle configuration: %w", err)
	}
	config, err := parseConfig(content)
	if err != nil {
		return nil, fmt.Errorf("read the bundle configuration %s: %w", path, err)
	}
	return config, nil
}

func parseConfig(content []byte) (*Config, error) {
	content, err := Substitute(content)
	if err != nil {
		return nil, err
	}
	var file configFile
	if err := syntax.DecodeStrict(content, &file); err != nil {
		return nil, fmt.Errorf("%w (services and bundles are read; keys are given by --keys)", err)
	}
	c := &Config{services: map[string]*service{}}
	if err := c.addServices(file.Services); err != nil {
		return nil, err
	}
	if len(file.Bundles) > 1 {
		return nil, fmt.Errorf("%d bundles; one can be served", len(file.Bundles))
	}
	for name, bundle := range file.Bundles {
		if err := c.setBundle(name, bundle); err != nil {
			return nil, fmt.Errorf("bundles.%s: %w", name, err)
		}
	}
	return c, nil
}

var variable = regexp.MustCompile(`\$\{\w+\}`)

// Substitute replaces ${NAME} by the environment variable, like OPA. A variable that is not
// set is an error.
func Substitute(content []byte) ([]byte, error) {
	var problem error
	content = variable.ReplaceAllFunc(content, func(found []byte) []byte {
		name := string(found[2 : len(found)-1])
		value, ok := os.LookupEnv(name)
		if !ok && problem == nil {
			problem = fmt.Errorf("environment variable %s is not set", name)
		}
		return []byte(value)
	})
	return content, problem
}

// addServices decodes a mapping by name, or a list of services with names, like OPA.
func (c *Config) addServices(services any) error {
	switch services := services.(type) {
	case nil:
		return nil
	case map[string]any:
		for name, config := range services {
			if err := c.addService(name, config); err != nil {
				return err
			}
		}
		return nil
	case []any:
		for i, config := range services {
			fields, _ := config.(map[string]any)
			name, _ := fields["name"].(string)
			if name == "" {
				return fmt.Errorf("services[%d]: no name", i)
			}
			if err := c.addService(name, config); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("services: want a mapping or a list")
}

func (c *Config) addService(name string, config any) error {
	fields, _ := config.(map[string]any)
	at, _ := fields["url"].(string)
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("services.%s: no url of https or http", name)
	}
	encoded, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("services.%s: %w", name, err)
	}
	s := &service{url: strings.TrimRight(at, "/"), config: encoded}
	if _, err := s.client(0); err != nil {
		return fmt.Errorf("services.%s: %w", name, err)
	}
	c.services[name] = s
	return nil
}

func (c *Config) setBundle(name string, b *bundleConfig) error {
	b = cmp.Or(b, &bundleConfig{})
	if b.Service == "" && len(c.services) == 1 {
		for only := range c.services {
			b.Service = only
		}
	}
	b.Resource = cmp.Or(b.Resource, "bundles/"+name)
	if c.services[b.Service] == nil {
		return fmt.Errorf("service %q is not one of the services", b.Service)
	}
	if p := b.Polling; p.Min < 0 || p.Max < p.Min || p.Wait < 0 {
		return errors.New("polling: want max_delay_seconds of at least min_delay_seconds, and neither below 0")
	}
	c.bundle = b
	return nil
}

// resolve returns the service of a location, which may be nil, and the location.
func (c *Config) resolve(location string) (*service, string, error) {
	c = cmp.Or(c, &Config{})
	if location == "" {
		if c.bundle == nil {
			return nil, "", errors.New("no location of a bundle")
		}
		s := c.services[c.bundle.Service]
		if s.isRegistry() {
			return s, "oci://" + strings.TrimPrefix(c.bundle.Resource, "oci://"), nil
		}
		return s, s.url + "/" + strings.TrimLeft(c.bundle.Resource, "/"), nil
	}
	var best *service
	for _, name := range slices.Sorted(maps.Keys(c.services)) {
		s := c.services[name]
		if s.serves(location) && (best == nil || len(s.url) > len(best.url)) {
			best = s
		}
	}
	return best, location, nil
}

// timing returns the configured polling delays and long-polling time; zero if unset.
func (c *Config) timing() (least, most, wait time.Duration) {
	if c == nil || c.bundle == nil {
		return 0, 0, 0
	}
	p := c.bundle.Polling
	return time.Duration(p.Min) * time.Second, time.Duration(p.Max) * time.Second, time.Duration(p.Wait) * time.Second
}

// bare returns a service without credentials, for a location of no configured one.
func bare(location string) *service {
	u, err := url.Parse(location)
	if err != nil {
		return &service{}
	}
	at := u.Scheme + "://" + u.Host
	config, _ := json.Marshal(map[string]string{"url": at}) // texts always encode
	return &service{url: at, config: config}
}

func (s *service) isRegistry() bool {
	var config rest.Config
	return json.Unmarshal(s.config, &config) == nil && config.Type == "oci"
}

// serves reports whether the location belongs to the service. Credentials must not be
// sent to another host whose name only has the same prefix.
func (s *service) serves(location string) bool {
	if rest, ok := strings.CutPrefix(location, "oci://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		u, err := url.Parse(s.url)
		return err == nil && s.isRegistry() && u.Host == host
	}
	return location == s.url || strings.HasPrefix(location, s.url+"/")
}

// below returns the path of the location below the service.
func (s *service) below(location string) string {
	return strings.TrimPrefix(strings.TrimPrefix(location, s.url), "/")
}

// client returns OPA's client. It logs nothing and waits for an answer as long as the
// server may hold it.
func (s *service) client(wait time.Duration) (rest.Client, error) {
	client, err := s.limitedClient()
	if err != nil {
		return rest.Client{}, err
	}
	if wait > 0 {
		seconds := *client.Config().ResponseHeaderTimeoutSeconds + int64(wait/time.Second)
		client = client.SetResponseHeaderTimeout(&seconds)
	}
	return client, nil
}
