package bundle

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/progress"
)

const pushHelp = `push uploads a built bundle to an OCI registry, in the format that opa and writ
serve read, and prints the digests. The bundle is verified first, and an invalid
bundle is not pushed. With --keys one of the keys must have signed it.

Credentials are those of docker login, or --registry-user with a password in a
file or in WRIT_REGISTRY_PASSWORD, or those of a service in --bundle-config.`

const pushExamples = `  writ push bundle.tar.gz oci://registry.example/team/policies:v42
  writ push bundle.tar.gz oci://localhost:5000/policies:latest --plain-http
  writ build policies -o - --sign --signing-key private.pem |
    writ push - oci://registry.example/team/policies:v42 --keys keys.yaml`

type pushOptions struct {
	remote RemoteFlags
	keys   string
}

// NewPush returns the command push.
func NewPush(s cli.Streams) *cobra.Command {
	var o pushOptions
	cmd := &cobra.Command{
		Use:     "push BUNDLE oci://REGISTRY/REPOSITORY:TAG",
		Short:   "Upload a bundle to an OCI registry",
		Long:    pushHelp,
		Example: pushExamples,
		Args:    cli.Arguments(2, 2, "name a bundle and a registry location"),
		RunE:    func(cmd *cobra.Command, args []string) error { return push(cmd, s, args[0], args[1], o) },
	}
	cmd.Flags().StringVar(&o.keys, "keys", "", "YAML `file` of keys, one of which must have signed the bundle")
	o.remote.Add(cmd)
	return cmd
}

func push(cmd *cobra.Command, s cli.Streams, path, to string, o pushOptions) error {
	if !strings.HasPrefix(to, "oci://") {
		return cli.Usagef(cmd, "%q: must be oci://REGISTRY/REPOSITORY:TAG", to)
	}
	keys, err := readKeys(o.keys)
	if err != nil {
		return err
	}
	config, err := o.remote.readConfig()
	if err != nil {
		return err
	}
	b, packed, err := readPacked(s, path, keys)
	if err != nil {
		return err
	}
	ctx, p := progress.Start(cmd.Context(), progress.Push)
	pushed, err := remote.Push(ctx, b, packed, remote.PushOptions{
		Location: to, Config: config, Credentials: o.remote.Credentials(), PlainHTTP: o.remote.PlainHTTP,
	})
	p.End(err)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "revision %s\nmanifest %s\nlayer    %s\n", b.Manifest.Revision, pushed.Manifest, pushed.Layer)
	fmt.Fprintf(s.Err, "pushed %s, %d bytes\n", to, pushed.Size)
	return nil
}

// readPacked reads a bundle and the bytes of its tarball. A folder is packed. It returns
// a finding if the bundle is invalid.
func readPacked(s cli.Streams, path string, keys *bundles.Keys) (*bundles.Bundle, []byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		b, err := bundles.ReadSignedDir(path, keys)
		if err != nil {
			return nil, nil, cli.Findingf("%v", err)
		}
		var packed bytes.Buffer
		err = b.WriteTar(&packed)
		return b, packed.Bytes(), err
	}
	packed, err := cli.ReadAll(s.In, path)
	if err != nil {
		return nil, nil, fmt.Errorf("read bundle: %w", err)
	}
	b, err := bundles.ReadSigned(bytes.NewReader(packed), keys)
	if err != nil {
		return nil, nil, cli.Findingf("%v", err)
	}
	return b, packed, nil
}
