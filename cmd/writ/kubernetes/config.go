// Package kubernetes writes the files that make an API server ask writ: an
// AuthorizationConfiguration, the kubeconfig that it names, and the grants of writ's own
// identity. The input is where writ answers and who it is; the output is YAML. It also
// checks a running chain of such files.
package kubernetes

import (
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/jsontext"
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
	values := c.values()
	var files []File
	for _, f := range []struct{ name, text string }{
		{"identity.yaml", identity}, {"webhook.kubeconfig", kubeconfig}, {"authorization.yaml", authorization},
	} {
		content := os.Expand(f.text, func(name string) string { return values[name] })
		files = append(files, File{f.name, []byte(content)})
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

// What authorization.yaml says of the cache of decisions that allow.
const (
	podsAreEvaluated = "    # Policies evaluate pods: an exec that was allowed must not stay allowed after the pod has\n" +
		"    # changed.\n    cacheAuthorizedRequests: false"
	podsAreNot = "    # Set this to false if policies evaluate pods (podSecurityRules).\n    cacheAuthorizedRequests: true"
)

// values are what stands for ${NAME} in the files. Those that are whole lines, or nothing, end
// with a newline or stand at the end of a line.
func (c Config) values() map[string]string {
	cache := podsAreNot
	if c.Pods {
		cache = podsAreEvaluated
	}
	credentials := optional("    tokenFile: ", c.Token) + optional("    client-certificate: ", c.Cert) + optional("    client-key: ", c.Key)
	users, user := "", ""
	if credentials != "" {
		users, user = "users:\n- name: api-server\n  user:\n"+credentials, "    user: api-server\n"
	}
	return map[string]string{
		"TTL": c.TTL.String(), "Cache": cache, "IsAsked": quote(c.isAsked()),
		"Kubeconfig": quote(strings.TrimRight(c.Folder, "/") + "/webhook.kubeconfig"),
		"Endpoint":   quote(c.endpoint()), "CA": optional("    certificate-authority: ", c.CA), "Users": users, "User": user,
		"Subjects": c.subjects(),
	}
}

// optional is a line of a member with a text, and nothing for an empty text.
func optional(member, text string) string {
	if text == "" {
		return ""
	}
	return member + quote(text) + "\n"
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
	return "!(request.user in " + string(jsontext.Marshal(c.Identities)) + ")"
}

// subjects are the identities as subjects of a binding.
func (c Config) subjects() string {
	var out strings.Builder
	for _, user := range c.Identities {
		if account, ok := strings.CutPrefix(user, serviceAccount); ok {
			namespace, name, _ := strings.Cut(account, ":")
			fmt.Fprintf(&out, "- kind: ServiceAccount\n  name: %s\n%s", quote(name), optional("  namespace: ", namespace))
		} else {
			fmt.Fprintf(&out, "- kind: User\n  name: %s\n  apiGroup: rbac.authorization.k8s.io\n", quote(user))
		}
	}
	return out.String()
}

// quote returns a YAML string: JSON is a subset of YAML.
func quote(text string) string {
	return string(jsontext.Encode(text))
}
