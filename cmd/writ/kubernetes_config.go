package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/kubernetes"
)

func newKubernetes(s cli.Streams) *cobra.Command {
	return cli.Group("kubernetes config|doctor|admission",
		"Write and check the files that make an API server ask writ",
		"kubernetes has commands about writ beside a Kubernetes API server.",
		newKubernetesConfig(s), newKubernetesDoctor(s), newKubernetesAdmission(s))
}

func newKubernetesConfig(s cli.Streams) *cobra.Command {
	c := kubernetes.Config{Folder: "/etc/kubernetes/writ", TTL: 10 * time.Second}
	var folder string
	cmd := &cobra.Command{
		Use:   "config --url URL --identity USER [-o FOLDER]",
		Short: "Write the files that make an API server ask writ",
		Long: `config writes three files. authorization.yaml is for kube-apiserver
--authorization-config: it asks the authorizers Node, writ and RBAC in this
order, denies while writ does not answer, and does not ask about writ itself,
the control plane, nodes and probes. webhook.kubeconfig is how the API server
reaches writ. identity.yaml grants what writ reads of the cluster.

The API server keeps decisions for --ttl; a change of policy is in force after
it. With --pods, decisions that allow are not kept, because a pod may change
after an exec was allowed: use it if deny policies have podSecurityRules.`,
		Example: `  writ kubernetes config --url https://writ.example:8443 --ca /etc/kubernetes/writ/ca.crt \
    --client-cert /etc/kubernetes/writ/api-server.crt --client-key /etc/kubernetes/writ/api-server.key \
    --identity system:serviceaccount:writ:writ -o writ/
  kubectl apply -f writ/identity.yaml`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.URL == "" {
				return cli.Usagef(cmd, "--url is required")
			}
			if len(c.Identities) == 0 {
				return cli.Usagef(cmd, "--identity is required: writ's own requests would wait for their own answer")
			}
			files, err := c.Files()
			if err != nil {
				return err
			}
			return writeChain(s, files, folder)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.URL, "url", "", "`URL` of writ, without a path")
	f.StringVar(&c.Cluster, "cluster", "", "`name` of the cluster in --clusters; empty: the default one")
	f.StringArrayVar(&c.Identities, "identity", nil, "`user` as whom writ reads the cluster; repeatable")
	f.StringVar(&c.Folder, "path", c.Folder, "`folder` of the files on the machine of the API server")
	f.StringVar(&c.CA, "ca", "", "PEM `file` of the authority of writ's certificate, on that machine")
	f.StringVar(&c.Token, "token-file", "", "`file` with the token of the API server, on that machine")
	f.StringVar(&c.Cert, "client-cert", "", "PEM `file` of the certificate of the API server, on that machine")
	f.StringVar(&c.Key, "client-key", "", "PEM `file` of its key, on that machine")
	f.BoolVar(&c.Pods, "pods", false, "policies evaluate pods: decisions that allow are not kept")
	f.DurationVar(&c.TTL, "ttl", c.TTL, "`time` for which the API server keeps decisions")
	f.StringVarP(&folder, "output", "o", "", "`folder` to write into; without it the files are printed")
	cli.MarkCommandLineOnly(cmd, "url", "cluster", "identity", "path", "ca", "token-file", "client-cert", "client-key", "pods", "ttl", "output")
	return cmd
}

// writeChain writes the files into a folder, or prints them.
func writeChain(s cli.Streams, files []kubernetes.File, folder string) error {
	for _, f := range files {
		if folder == "" {
			if _, err := fmt.Fprintf(s.Out, "---\n# %s\n%s", f.Name, f.Content); err != nil {
				return err
			}
			continue
		}
		path := filepath.Join(folder, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
