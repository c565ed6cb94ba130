package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/writ-policy/writ/translator/source"
)

// Credentials state where the credentials for registries are. The zero value uses those
// of docker login: the file in DOCKER_CONFIG or the home directory, and the helpers it
// names.
type Credentials struct {
	// User belongs to PasswordFile, or to Password if no file is set. The file is read
	// again each time a registry requests credentials.
	User         string
	Password     string
	PasswordFile string
}

// String does not contain the password.
func (c Credentials) String() string { return fmt.Sprintf("credentials of %q", c.User) }

// GoString is String.
func (c Credentials) GoString() string { return c.String() }

func (c Credentials) find(ctx context.Context, host string) (auth.Credential, error) {
	switch {
	case c.PasswordFile != "":
		content, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return auth.EmptyCredential, fmt.Errorf("read the registry's password: %w", source.TrimPath(err))
		}
		return auth.Credential{Username: c.User, Password: strings.TrimRight(string(content), "\r\n")}, nil
	case c.User != "":
		return auth.Credential{Username: c.User, Password: c.Password}, nil
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		// The error may quote the file.
		return auth.EmptyCredential, errors.New("the docker configuration cannot be read")
	}
	found, err := credentials.Credential(store)(ctx, host)
	if err != nil {
		return auth.EmptyCredential, fmt.Errorf("the docker configuration has no good credentials for %s", host)
	}
	return found, nil
}
