package git

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"
	cryptossh "golang.org/x/crypto/ssh"

	"github.com/writ-policy/writ/translator/source"
)

// Credentials configure the authentication. Empty fields are ignored: the zero value uses
// no authentication over HTTP and, over SSH, the user's agent if there is one.
type Credentials struct {
	// File is the path of a file with lines https://USER:PASSWORD@HOST, the format of
	// git-credential-store.
	File string
	// User and Password are used for hosts that File does not list.
	User, Password string
	// SSHKey is the path of a private key. Empty means the keys of the agent at SSH_AUTH_SOCK,
	// and without an agent no authentication.
	SSHKey string
	// KnownHosts is the path of a known_hosts file, which must have the key of an SSH server
	// however the client is authenticated. Empty means the files of the user.
	KnownHosts string
}

// For returns the authentication for a location, nil for none. It returns an error if the
// credentials file, the SSH key or the known hosts cannot be read or parsed, also if the
// location does not need them. Errors do not contain credentials.
func (c Credentials) For(at source.GitLocation) (transport.AuthMethod, error) {
	u, err := url.Parse(at.URL)
	if err != nil {
		return nil, errInvalidURL
	}
	hosts, err := c.knownHosts(u)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "ssh":
		return c.forSSH(at, hosts)
	case "https", "http":
		return c.forHTTP(u)
	}
	return nil, nil
}

// knownHosts returns how to verify the key of the server, from the file KnownHosts. Its zero
// value stands for the files of the user.
func (c Credentials) knownHosts(u *url.URL) (ssh.HostKeyCallbackHelper, error) {
	if c.KnownHosts == "" {
		return ssh.HostKeyCallbackHelper{}, nil
	}
	content, err := os.Open(c.KnownHosts)
	if err != nil {
		return ssh.HostKeyCallbackHelper{}, fmt.Errorf("read the known hosts: %w", source.TrimPath(err))
	}
	content.Close()
	db, err := ssh.NewKnownHostsDb(c.KnownHosts)
	if err != nil {
		return ssh.HostKeyCallbackHelper{}, fmt.Errorf("read the known hosts: %w", source.TrimPath(err))
	}
	port := cmp.Or(u.Port(), "22")
	return ssh.HostKeyCallbackHelper{
		HostKeyCallback: db.HostKeyCallback(),
		// A server may have keys of other algorithms than those of the file.
		HostKeyAlgorithms: db.HostKeyAlgorithms(net.JoinHostPort(u.Hostname(), port)),
	}, nil
}

func (c Credentials) forSSH(at source.GitLocation, hosts ssh.HostKeyCallbackHelper) (transport.AuthMethod, error) {
	user := cmp.Or(at.User, "git")
	switch {
	case c.SSHKey != "":
		keys, err := ssh.NewPublicKeysFromFile(user, c.SSHKey, "")
		if err != nil {
			return nil, fmt.Errorf("read the SSH key: %w", source.TrimPath(err))
		}
		keys.HostKeyCallbackHelper = hosts
		return keys, nil
	case os.Getenv("SSH_AUTH_SOCK") != "":
		agent, err := ssh.NewSSHAgentAuth(user)
		if err != nil {
			return nil, fmt.Errorf("connect to the SSH agent: %w", err)
		}
		agent.HostKeyCallbackHelper = hosts
		return agent, nil
	}
	return &anonymousSSH{user, hosts}, nil
}

// anonymousSSH authenticates by the user's name alone: the SSH method "none".
type anonymousSSH struct {
	user  string
	hosts ssh.HostKeyCallbackHelper
}

func (*anonymousSSH) Name() string { return "none" }

func (a *anonymousSSH) String() string { return "user: " + a.user + ", name: none" }

func (a *anonymousSSH) ClientConfig() (*cryptossh.ClientConfig, error) {
	return a.hosts.SetHostKeyCallbackAndAlgorithms(&cryptossh.ClientConfig{User: a.user})
}

// forHTTP returns how to authenticate at u: by the first line of the credentials file with
// the same scheme and host, else by user and password; nil if neither is set.
func (c Credentials) forHTTP(u *url.URL) (transport.AuthMethod, error) {
	user, password := c.User, c.Password
	if c.File != "" {
		content, err := os.ReadFile(c.File)
		if err != nil {
			return nil, fmt.Errorf("read the credentials file: %w", source.TrimPath(err))
		}
		for line := range strings.Lines(string(content)) {
			entry, err := url.Parse(strings.TrimSpace(line))
			if err != nil {
				return nil, errors.New("each line of the credentials file must be a URL")
			}
			if entry.User != nil && entry.Scheme == u.Scheme && entry.Host == u.Host {
				user = entry.User.Username()
				password, _ = entry.User.Password()
				break
			}
		}
	}
	if user == "" && password == "" {
		return nil, nil
	}
	return &http.BasicAuth{Username: user, Password: password}, nil
}
