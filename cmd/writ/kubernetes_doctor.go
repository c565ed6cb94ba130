package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/kubernetes"
	"github.com/writ-policy/writ/translator/diag"
)

func newKubernetesDoctor(s cli.Streams) *cobra.Command {
	d := kubernetes.Doctor{Authorization: "/etc/kubernetes/writ/authorization.yaml", Timeout: 10 * time.Second}
	var form string
	cmd := &cobra.Command{
		Use:   "doctor [--authorization-config FILE] [--kubeconfig FILE] [--identity USER]",
		Short: "Check the chain from an API server to writ",
		Long: `doctor checks the file of kube-apiserver --authorization-config: the order of
the authorizers, what happens while writ does not answer, timeout and time of
cached decisions, and the match conditions, by evaluating them for writ itself,
the control plane, nodes, probes and users. It sends a review to writ with the
kubeconfig of the webhook, and checks certificates, credentials and versions.
With --kubeconfig it asks the API server whether it has loaded this file, and
whether it lets writ read pods, namespaces and the objects of --facts.
--companion sends each API server a dry-run request that only the companion of
that folder refuses, slice by slice.

Run it where the file and the kubeconfig of the webhook are. The exit status is
1 if a check fails; warnings do not count.`,
		Example: `  writ kubernetes doctor --authorization-config /etc/kubernetes/writ/authorization.yaml \
    --kubeconfig /etc/kubernetes/admin.conf --identity system:serviceaccount:writ:writ`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.Version = cli.Version()
			return writeFindings(s.Out, form, d.Examine(cmd.Context()))
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.Authorization, "authorization-config", d.Authorization, "`file` of the API server")
	f.StringVar(&d.Webhook, "webhook", "", "`name` of the authorizer that is writ, if there are several webhooks")
	f.StringVar(&d.Kubeconfig, "kubeconfig", "", "kubeconfig `file` of an administrator; empty: the API server is not asked")
	f.StringVar(&d.Context, "context", "", "`context` of --kubeconfig; empty: the current one")
	f.StringArrayVar(&d.Identities, "identity", nil, "`user` as whom writ reads the cluster; repeatable")
	f.StringSliceVar(&d.Objects, "facts", nil, "`resources` whose labels writ reads for the facts of its clusters file, as secrets,deployments.apps")
	f.StringVar(&d.Companion, "companion", "", "`folder` of writ kubernetes admission, which each API server must have in force")
	f.StringArrayVar(&d.Addresses, "companion-address", nil, "`address` of an API server that must have it; repeatable; empty: that of --kubeconfig")
	f.StringVar(&d.ProbeNamespace, "probe-namespace", "writ", "namespace, by its `name`, in which the probe would be created")
	f.BoolVar(&d.Pods, "pods", false, "policies evaluate pods: decisions that allow must not be kept")
	f.DurationVar(&d.Timeout, "timeout", d.Timeout, "`time` for each request")
	cli.FormatFlag(cmd, &form, "text", "json")
	cli.MarkCommandLineOnly(cmd, "authorization-config", "webhook", "kubeconfig", "context", "identity", "facts", "pods", "timeout",
		"companion", "companion-address", "probe-namespace")
	return cmd
}

// writeFindings prints what the checks found. It returns a finding if one failed.
func writeFindings(out io.Writer, form string, findings []kubernetes.Finding) error {
	counts := make(map[string]int)
	for _, f := range findings {
		counts[f.Severity]++
		if form == "json" {
			continue
		}
		at := ""
		if f.At != "" {
			at = diag.Line(f.At) + ": "
		}
		fmt.Fprintf(out, "%-8s %-13s %s%s\n", f.Severity, f.Check, at, diag.Line(f.Message))
		if f.Hint != "" {
			fmt.Fprintf(out, "%22s = hint: %s\n", "", diag.Line(f.Hint))
		}
	}
	if form == "json" {
		if err := diag.WriteIndented(out, map[string]any{"findings": findings}); err != nil {
			return err
		}
	}
	if n := counts[kubernetes.Failed]; n > 0 {
		return cli.Findingf("%s, %s", diag.Counted(n, "error"), diag.Counted(counts[kubernetes.Warning], "warning"))
	}
	return nil
}
