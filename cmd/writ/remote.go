package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles/remote"
)

// remoteFlags say how a place of bundles is reached.
type remoteFlags struct {
	config       string
	user         string
	passwordFile string
	plainHTTP    bool
}

// passwordVariable is the environment's password of a registry. It is not a flag: the
// arguments of a process are everybody's to read.
const passwordVariable = environmentPrefix + "REGISTRY_PASSWORD"

func (f *remoteFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "bundle-config", "", "OPA configuration `file` with services and their credentials")
	flags.StringVar(&f.user, "registry-user", "", "`user` of the registry; default: what docker login has stored")
	flags.StringVar(&f.passwordFile, "registry-password-file", "", "`file` with that user's password; default: "+passwordVariable)
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "reach the registry without TLS")
}

func (f *remoteFlags) credentials() remote.Credentials {
	return remote.Credentials{User: f.user, PasswordFile: f.passwordFile, Password: os.Getenv(passwordVariable)}
}

// options are those of a feed from a place; an empty one is for the configuration to
// name.
func (f *remoteFlags) options(at string) (remote.Options, error) {
	config, err := f.readConfig()
	return remote.Options{Location: at, Config: config, Credentials: f.credentials(), PlainHTTP: f.plainHTTP}, err
}

// readConfig is nil where no file is named.
func (f *remoteFlags) readConfig() (*remote.Config, error) {
	if f.config == "" {
		return nil, nil
	}
	return remote.ReadConfig(f.config)
}
