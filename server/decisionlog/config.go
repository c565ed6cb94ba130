package decisionlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/writ-policy/writ/bundles/remote"
)

// maxBuffer is how many events wait for an upload unless the configuration states it.
const maxBuffer = 10_000

// configuration is what is read of an OPA configuration.
type configuration struct {
	Services any               `json:"services,omitempty"`
	Logs     map[string]any    `json:"decision_logs"`
	Labels   map[string]string `json:"labels,omitempty"`
}

// read returns OPA's configuration as JSON, and the Rego for masking and dropping by path,
// none without such a file.
func read(o Options) (config []byte, rules map[string]string, err error) {
	var c configuration
	if o.Config != "" {
		if c, err = readConfig(o.Config); err != nil {
			return nil, nil, err
		}
	}
	if c.Logs == nil {
		c.Logs = make(map[string]any)
	}
	if o.Config != "" {
		if rules, err = readRules(strings.TrimSuffix(o.Config, filepath.Ext(o.Config))+".rego", c.Logs); err != nil {
			return nil, nil, err
		}
	}
	if c.Logs["plugin"] != nil {
		return nil, nil, errors.New("decision_logs.plugin is not supported; use a file, the console or a service")
	}
	if o.File != "" {
		c.Logs["plugin"] = filePlugin
	}
	if o.File == "" && c.Logs["service"] == nil && c.Logs["console"] != true {
		return nil, nil, errors.New("decision_logs has neither service nor console")
	}
	boundBuffer(c.Logs)
	config, err = json.Marshal(c)
	return config, rules, err
}

func readConfig(path string) (c configuration, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if content, err = remote.Substitute(content); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if err := yaml.UnmarshalStrict(content, &c); err != nil {
		return c, fmt.Errorf("%s: %w (services, decision_logs and labels are read)", path, err)
	}
	return c, nil
}

// boundBuffer bounds the events that wait for an upload: OPA's default keeps all of them.
func boundBuffer(config map[string]any) {
	reporting, ok := config["reporting"].(map[string]any)
	if !ok {
		if config["reporting"] != nil {
			return // OPA reports it
		}
		reporting = make(map[string]any)
		config["reporting"] = reporting
	}
	if reporting["buffer_type"] == nil && reporting["buffer_size_limit_bytes"] == nil {
		reporting["buffer_type"] = "event"
	}
	switch {
	case reporting["buffer_type"] == "event" && reporting["buffer_size_limit_events"] == nil:
		reporting["buffer_size_limit_events"] = maxBuffer
	case reporting["buffer_type"] == "size" && reporting["buffer_size_limit_bytes"] == nil:
		reporting["buffer_size_limit_bytes"] = maxQueuedBytes
	}
}
