package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles/remote"
)

// remoteFlags are the flags for access to bundles on servers and in registries.
type remoteFlags struct {
	config       string
	user         string
	passwordFile string
	plainHTTP    bool
}

// passwordVariable is the environment variable of a registry's password. There is no
// flag for it, because every user of the machine can read the arguments of a process.
const passwordVariable = environmentPrefix + "REGISTRY_PASSWORD"

func (f *remoteFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "bundle-config", "", "OPA configuration `file` with services and their credentials")
	flags.StringVar(&f.user, "registry-user", "", "`user` of the registry; default: the credentials of docker login")
	flags.StringVar(&f.passwordFile, "registry-password-file", "", "`file` with that user's password; default: "+passwordVariable)
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "reach the registry without TLS")
}

func (f *remoteFlags) credentials() remote.Credentials {
	return remote.Credentials{User: f.user, PasswordFile: f.passwordFile, Password: os.Getenv(passwordVariable)}
}

// options returns the options of a feed. If at is empty, the configuration names the
// location. It returns an error if the configuration cannot be read.
func (f *remoteFlags) options(at string) (remote.Options, error) {
	config, err := f.readConfig()
	return remote.Options{Location: at, Config: config, Credentials: f.credentials(), PlainHTTP: f.plainHTTP}, err
}

// readConfig reads the OPA configuration. It returns nil if no file is named, and an
// error if the file cannot be read.
func (f *remoteFlags) readConfig() (*remote.Config, error) {
	if f.config == "" {
		return nil, nil
	}
	return remote.ReadConfig(f.config)
}
