package bundle

import (
	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
)

// signingFlags are the flags for signing a bundle.
type signingFlags struct {
	sign      bool
	key       string
	id        string
	algorithm string
	keys      string
}

func (f *signingFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.sign, "sign", false, "sign the bundle; implied by --signing-key")
	flags.StringVar(&f.key, "signing-key", "", "PEM `file` of the private key")
	flags.StringVar(&f.id, "signing-key-id", "", "`name` of the key in the signature; default: its name in --keys, or \"default\"")
	flags.StringVar(&f.algorithm, "signing-alg", "", "`algorithm` of the signature; default: the one in --keys, or the default of the key's type")
	flags.StringVar(&f.keys, "keys", "", "YAML `file` of the keys that readers have; the signing key must be an active one of them")
}

// check returns an error if a flag of the command line is about a signature, and no key is given.
// The environment and a file may have the keys of a server.
func (f *signingFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"sign", "keys", "signing-key-id", "signing-alg"} {
		flag := cmd.Flags().Lookup(name)
		isAsked := flag.Changed && cli.SetBy(flag) == "--"+name || name == "sign" && f.sign
		if isAsked && f.key == "" {
			return cli.Usagef(cmd, "--%s requires --signing-key FILE", name)
		}
	}
	return nil
}

// signed returns the bundle, with a signature if a key is given. It returns an error if
// the key cannot be read or is not an active one of --keys.
func (f *signingFlags) signed(b *bundles.Bundle) (*bundles.Bundle, error) {
	if f.key == "" {
		return b, nil
	}
	keys, err := readKeys(f.keys)
	if err != nil {
		return nil, err
	}
	key, err := bundles.ReadSigningKey(f.key, bundles.SigningOptions{ID: f.id, Algorithm: f.algorithm, Keys: keys})
	if err != nil {
		return nil, err
	}
	return bundles.Sign(b, key)
}

// readKeys reads a file of keys. It returns nil if no file is named, and an error if
// the file cannot be read.
func readKeys(path string) (*bundles.Keys, error) {
	if path == "" {
		return nil, nil
	}
	return bundles.ReadKeys(path)
}
