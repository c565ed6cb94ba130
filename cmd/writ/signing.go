package main

import (
	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
)

// signingFlags say by which key a bundle is signed.
type signingFlags struct {
	sign      bool
	key       string
	id        string
	algorithm string
	keys      string
}

func (f *signingFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.sign, "sign", false, "sign the bundle; --signing-key alone does as well")
	flags.StringVar(&f.key, "signing-key", "", "`file` of the private key to sign by, in PEM")
	flags.StringVar(&f.id, "signing-key-id", "", "`name` of the key in the signature; default: its name in --keys, or \"default\"")
	flags.StringVar(&f.algorithm, "signing-alg", "", "`algorithm` of the signature; default: that in --keys, or the key's usual one")
	flags.StringVar(&f.keys, "keys", "", "YAML `file` of the keys that readers have; the key must be an active one of them")
}

// signed is the bundle, signed where that was asked for.
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

// readKeys is nil where no file is named.
func readKeys(path string) (*bundles.Keys, error) {
	if path == "" {
		return nil, nil
	}
	return bundles.ReadKeys(path)
}
