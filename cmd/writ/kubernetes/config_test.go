package kubernetes

import (
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

func complete() Config {
	return Config{URL: "https://writ:8443/", Identities: []string{"system:serviceaccount:ns:writ", `a "b"`}, Folder: "/etc/writ/", TTL: time.Minute}
}

func TestFilesAreYAML(t *testing.T) {
	c := complete()
	c.Cluster, c.Token, c.Cert, c.Key, c.CA, c.Pods = "prod", "/t", "/c", "/k", "/ca: x", true
	for _, config := range []Config{complete(), c} {
		files, err := config.Files()
		if err != nil || len(files) != 3 {
			t.Fatalf("got %d files, %v", len(files), err)
		}
		if last := files[2].Name; last != "authorization.yaml" {
			t.Errorf("the last file is %s, but a running API server does not wait for what authorization.yaml names", last)
		}
		for _, f := range files {
			decoder := yaml.NewDecoder(strings.NewReader(string(f.Content)))
			documents := 1
			if f.Name == "identity.yaml" {
				documents = 2
			}
			for range documents {
				var document map[string]any
				if err := decoder.Decode(&document); err != nil || document["kind"] == nil {
					t.Errorf("%s: got %v, %v:\n%s", f.Name, document, err, f.Content)
				}
			}
		}
	}
}

func TestFilesHaveWhatIsConfigured(t *testing.T) {
	c := complete()
	c.Cluster, c.Token, c.Pods = "prod/eu", "/run/token", true
	if _, err := c.Files(); err == nil {
		t.Error("a cluster with a slash: got no error")
	}
	c.Cluster = "prod eu"
	files, err := c.Files()
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, f := range files {
		all += string(f.Content)
	}
	for _, want := range []string{
		`server: "https://writ:8443/clusters/prod%20eu/apis/authorization.k8s.io/v1/subjectaccessreviews"`,
		`tokenFile: "/run/token"`, "user: api-server", "authorizedTTL: 1m0s", "cacheAuthorizedRequests: false", "failurePolicy: Deny",
		`kubeConfigFile: "/etc/writ/webhook.kubeconfig"`,
		`expression: "!(request.user in [\"system:serviceaccount:ns:writ\",\"a \\\"b\\\"\"])"`,
		"- kind: ServiceAccount\n  name: \"writ\"\n  namespace: \"ns\"", "- kind: User\n  name: \"a \\\"b\\\"\"\n  apiGroup: rbac",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in:\n%s", want, all)
		}
	}
}

func TestIncompleteConfigs(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(c *Config)
		want   string
	}{
		{"no URL", func(c *Config) { c.URL = "" }, "https://HOST:PORT"},
		{"a path", func(c *Config) { c.URL = "https://writ/x" }, "no path"},
		{"a password", func(c *Config) { c.URL = "https://u:p@writ" }, "no user"},
		{"another scheme", func(c *Config) { c.URL = "ftp://writ" }, "https://HOST:PORT"},
		{"no identity", func(c *Config) { c.Identities = nil }, "would wait for themselves"},
		{"an empty identity", func(c *Config) { c.Identities = []string{""} }, "must not be empty"},
		{"half a service account", func(c *Config) { c.Identities = []string{"system:serviceaccount:writ"} }, "NAMESPACE:NAME"},
		{"a certificate alone", func(c *Config) { c.Cert = "c" }, "together"},
		{"no time", func(c *Config) { c.TTL = 0 }, "at least one second"},
	} {
		c := complete()
		row.change(&c)
		if _, err := c.Files(); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
}
