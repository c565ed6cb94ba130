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

// Credentials are where credentials for git are found. What is empty is not
// looked at; the zero value authenticates nowhere over HTTP, and as the user's agent
// does over SSH.
type Credentials struct {
	// File has lines https://USER:PASSWORD@HOST, as git's own store has them.
	File string
	// User and Password serve a host that File does not name.
	User, Password string
	// SSHKey is a private key's file, KnownHosts the file of hosts' keys.
	SSHKey, KnownHosts string
}

// For finds what to authenticate with at a location; nil is nothing. The errors name
// no credential.
func (c Credentials) For(at source.GitLocation) (transport.AuthMethod, error) {
	u, err := url.Parse(at.URL)
	if err != nil {
		return nil, errors.New("the location is no URL")
	}
	switch u.Scheme {
	case "ssh":
		return c.overSSH(at)
	case "https", "http":
		return c.overHTTP(u)
	}
	return nil, nil
}

func (c Credentials) overSSH(at source.GitLocation) (transport.AuthMethod, error) {
	user := at.User
	if user == "" {
		user = "git"
	}
	if c.SSHKey == "" {
		return nil, nil // the agent's
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

func (c Credentials) overHTTP(u *url.URL) (transport.AuthMethod, error) {
	user, password := c.User, c.Password
	if c.File != "" {
		content, err := os.ReadFile(c.File)
		if err != nil {
			return nil, fmt.Errorf("read the credentials file: %w", source.TrimPath(err))
		}
		for line := range strings.Lines(string(content)) {
			entry, err := url.Parse(strings.TrimSpace(line))
			if err != nil {
				return nil, errors.New("a line of the credentials file is no URL")
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
