// Package kubernetes writes the files that make an API server ask writ: an
// AuthorizationConfiguration, the kubeconfig that it names, and the grants of writ's own
// identity. The input is where writ answers and who it is; the output is YAML. It also
// checks a running chain of such files.
package kubernetes

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"text/template"
	"time"

	"github.com/writ-policy/writ/translator/tables"
)

// Config describes the chain from an API server to writ. URL and Identities are required.
type Config struct {
	// URL is where writ listens, without a path.
	URL string
	// Cluster is the name of the cluster in reviews; empty means the default one.
	Cluster string
	// Folder is where the files are on the machine of the API server.
	Folder string
	// CA, Token, Cert and Key are files on that machine: the authority of writ's
	// certificate, and the credentials of the API server. They may be empty.
	CA, Token, Cert, Key string
	// Identities are the users as whom writ reads the cluster: service accounts as
	// system:serviceaccount:NAMESPACE:NAME. Writ is never asked about them.
	Identities []string
	// Pods states that policies evaluate pods, which no cached decision may outlive.
	Pods bool
	// TTL is how long the API server keeps a decision.
	TTL time.Duration
}

// File is one file of the chain.
type File struct {
	Name    string
	Content []byte
}

var (
	//go:embed authorization.yaml.tmpl
	authorization string
	//go:embed webhook.kubeconfig.tmpl
	kubeconfig string
	//go:embed identity.yaml.tmpl
	identity string
)

// Files returns the files of the chain in the order in which they must be written: a running
// API server reads authorization.yaml when it changes, and does not try again if the
// kubeconfig that it names is missing then. It returns an error if the configuration is not
// complete or an API server would reject it.
func (c Config) Files() ([]File, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	var files []File
	for _, f := range []struct{ name, text string }{
		{"identity.yaml", identity}, {"webhook.kubeconfig", kubeconfig}, {"authorization.yaml", authorization},
	} {
		t, err := template.New(f.name).Funcs(template.FuncMap{"quote": quote}).Option("missingkey=error").Parse(f.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		var out bytes.Buffer
		if err := t.Execute(&out, c.values()); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, File{f.name, out.Bytes()})
	}
	return files, nil
}

func (c Config) validate() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("the URL must have the form https://HOST:PORT")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return errors.New("the URL must have no path, no parameters and no user")
	case len(c.Identities) == 0:
		return errors.New("the identity of writ is required: its own requests would wait for themselves")
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("a client certificate and its key are required together")
	case c.TTL < time.Second:
		return errors.New("the time to keep decisions must be at least one second")
	case strings.Contains(c.Cluster, "/"):
		return errors.New("the name of the cluster must not contain a slash")
	}
	for _, user := range c.Identities {
		if strings.HasPrefix(user, serviceAccount) && len(strings.Split(user, ":")) != 4 {
			return fmt.Errorf("identity %q: must have the form system:serviceaccount:NAMESPACE:NAME", user)
		}
		if user == "" {
			return errors.New("an identity must not be empty")
		}
	}
	return nil
}

const serviceAccount = tables.AccountPrefix

// values are what the templates show.
type values struct {
	Config
	Endpoint, Kubeconfig, IsAsked string
	Subjects                      []subject
}

func (c Config) values() values {
	return values{
		Config: c, Endpoint: c.endpoint(), IsAsked: c.isAsked(), Subjects: c.subjects(),
		Kubeconfig: strings.TrimRight(c.Folder, "/") + "/webhook.kubeconfig",
	}
}

// endpoint is the URL that the API server posts reviews to.
func (c Config) endpoint() string {
	path := "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	if c.Cluster != "" {
		path = "/clusters/" + url.PathEscape(c.Cluster) + path
	}
	return strings.TrimRight(c.URL, "/") + path
}

// isAsked is the CEL expression that is true for requests of all users but the identities.
func (c Config) isAsked() string {
	users, err := json.Marshal(c.Identities)
	if err != nil {
		panic(err) // strings
	}
	return "!(request.user in " + string(users) + ")"
}

// subject is the subject of a binding.
type subject struct{ Kind, Group, Name, Namespace string }

// subjects returns the identities as subjects of a binding.
func (c Config) subjects() []subject {
	subjects := make([]subject, len(c.Identities))
	for i, user := range c.Identities {
		subjects[i] = subject{Kind: "User", Group: "rbac.authorization.k8s.io", Name: user}
		if account, ok := strings.CutPrefix(user, serviceAccount); ok {
			namespace, name, _ := strings.Cut(account, ":")
			subjects[i] = subject{Kind: "ServiceAccount", Name: name, Namespace: namespace}
		}
	}
	return subjects
}

// quote returns a YAML string: JSON is a subset of YAML.
func quote(text string) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(text)
	return strings.TrimSuffix(out.String(), "\n"), err
}
