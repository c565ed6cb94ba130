package bundle

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/cmd/writ/cli"
)

// RemoteFlags are the flags for access to bundles on servers and in registries.
type RemoteFlags struct {
	Config       string
	user         string
	passwordFile string
	PlainHTTP    bool
}

// PasswordVariable is the environment variable of a registry's password. It is not
// a flag, because every user of the machine can read the arguments of a process.
const PasswordVariable = cli.EnvironmentPrefix + "REGISTRY_PASSWORD"

// Add adds the flags to a command.
func (f *RemoteFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Config, "bundle-config", "", "OPA configuration `file` with services and their credentials")
	flags.StringVar(&f.user, "registry-user", "", "`user` of the registry; default: the credentials of docker login")
	flags.StringVar(&f.passwordFile, "registry-password-file", "", "`file` with that user's password; default: "+PasswordVariable)
	flags.BoolVar(&f.PlainHTTP, "plain-http", false, "reach the registry without TLS")
}

// Credentials returns those of the flags, with the password of the environment.
func (f *RemoteFlags) Credentials() remote.Credentials {
	return remote.Credentials{User: f.user, PasswordFile: f.passwordFile, Password: os.Getenv(PasswordVariable)}
}

// options returns the options of a feed. If at is empty, the configuration names the
// location. It returns an error if the configuration cannot be read.
func (f *RemoteFlags) options(at string) (remote.Options, error) {
	config, err := f.readConfig()
	return remote.Options{Location: at, Config: config, Credentials: f.Credentials(), PlainHTTP: f.PlainHTTP}, err
}

// readConfig reads the OPA configuration. It returns nil if no file is named, and an
// error if the file cannot be read.
func (f *RemoteFlags) readConfig() (*remote.Config, error) {
	if f.Config == "" {
		return nil, nil
	}
	return remote.ReadConfig(f.Config)
}
