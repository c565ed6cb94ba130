package git

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"

	"github.com/writ-policy/writ/translator/source"
)

// Credentials configure the authentication. Empty fields are ignored: the zero value uses
// no authentication over HTTP and the user's agent over SSH.
type Credentials struct {
	// File is the path of a file with lines https://USER:PASSWORD@HOST, the format of
	// git-credential-store.
	File string
	// User and Password are used for hosts that File does not list.
	User, Password string
	// SSHKey is the path of a private key, KnownHosts the path of a known_hosts file.
	SSHKey, KnownHosts string
}

// For returns the authentication for a location, nil for none. It returns an error if the
// credentials file, the SSH key or the known hosts cannot be read or parsed. Errors do not
// contain credentials.
func (c Credentials) For(at source.GitLocation) (transport.AuthMethod, error) {
	u, err := url.Parse(at.URL)
	if err != nil {
		return nil, errInvalidURL
	}
	switch u.Scheme {
	case "ssh":
		return c.forSSH(at)
	case "https", "http":
		return c.forHTTP(u)
	}
	return nil, nil
}

func (c Credentials) forSSH(at source.GitLocation) (transport.AuthMethod, error) {
	user := at.User
	if user == "" {
		user = "git"
	}
	if c.SSHKey == "" {
		return nil, nil // the transport uses the agent
	}
	keys, err := ssh.NewPublicKeysFromFile(user, c.SSHKey, "")
	if err != nil {
		return nil, fmt.Errorf("read the SSH key: %w", source.TrimPath(err))
	}
	if c.KnownHosts != "" {
		if keys.HostKeyCallback, err = ssh.NewKnownHostsCallback(c.KnownHosts); err != nil {
			return nil, fmt.Errorf("read the known hosts: %w", source.TrimPath(err))
		}
	}
	return keys, nil
}

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
