package decisionlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
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

// read returns OPA's configuration as JSON, and the Rego for masking and dropping, nil
// without such a file.
func read(o Options) (config, policy []byte, err error) {
	var c configuration
	if o.Config != "" {
		if c, err = readConfig(o.Config); err != nil {
			return nil, nil, err
		}
		if policy, err = readPolicy(strings.TrimSuffix(o.Config, filepath.Ext(o.Config)) + ".rego"); err != nil {
			return nil, nil, err
		}
	}
	if c.Logs == nil {
		c.Logs = make(map[string]any)
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
	return config, policy, err
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

// readPolicy reads the Rego beside the configuration. It returns nil if there is no file.
func readPolicy(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	module, err := ast.ParseModuleWithOpts(path, string(content), ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		return nil, err
	}
	if got := module.Package.Path.String(); got != "data.system.log" {
		return nil, fmt.Errorf("%s: the package must be system.log, not %s", path, strings.TrimPrefix(got, "data."))
	}
	return content, nil
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
