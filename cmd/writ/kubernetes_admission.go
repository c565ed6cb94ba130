package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/analysis/companion"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/cmd/writ/kubernetes"
	sar "github.com/writ-policy/writ/server/api/kubernetes"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

const admissionHelp = `admission prints ValidatingAdmissionPolicies with their bindings. An authorizer
sees neither the labels of an object that is written, nor the changed fields,
nor the name of what is created. These policies check the conditions of the
documents on them, for the same users as reviews of writ kubernetes config.

A condition is printed exactly or refused with the reason: it is never weaker.
What is refused is listed on standard error. For users whom a rule could allow
by its condition, the object must fulfil the condition of one.

--denials all prints all deny rules and deny policies about writes, for clusters
whose API server cannot ask a webhook. Reads, exec and impersonation are not
guarded then.

--guard adds a policy by which only --writer may change policy documents,
admission and the deployment of writ. --static writes the files that an API
server of 1.37 reads from its disk: the API cannot change them.

-o FOLDER writes a file for each policy; -o json prints policies, digest and
refusals.

Exit status 0: everything is printed; 1: a condition is refused, or errors in
the documents; 2: usage.`

const admissionExamples = `  writ kubernetes admission policies | kubectl apply -f -
  writ kubernetes admission kube: --cluster prod-eu-1 -o companion/
  writ kubernetes admission policies --guard --static -o /etc/kubernetes/writ \
    --writer user:system:serviceaccount:argocd:argocd-application-controller`

type admissionOptions struct {
	documents documents.Flags
	companion companion.Options
	guard     kubernetes.Guard
	guards    bool
	static    bool
	denials   string
	path      string
	output    string
}

func newKubernetesAdmission(s cli.Streams) *cobra.Command {
	o := admissionOptions{path: "/etc/kubernetes/writ", denials: "deferred", companion: companion.Options{
		MaxSubjects: 1000, SessionKey: sar.DefaultSessionKey, EscalationKey: sar.DefaultEscalationKey,
	}}
	cmd := &cobra.Command{
		Use:     "admission DIR [-o FOLDER|json]",
		Short:   "Print admission policies for what no authorizer sees",
		Long:    admissionHelp,
		Example: admissionExamples,
		Args:    documents.OneSource,
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, s, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.companion.Cluster, "cluster", "", "`name` of the cluster, as deny policies write it")
	f.StringVar(&o.companion.Tenant, "tenant", "", "`tenant` of the cluster")
	f.IntVar(&o.companion.MaxSubjects, "max-subjects", o.companion.MaxSubjects, "refuse a condition that names more `subjects`")
	cli.ChoiceFlag(cmd, &o.denials, "denials", "which denials: those that the object decides, or all", "deferred", "all")
	f.BoolVar(&o.guards, "guard", false, "print the guard of policy documents")
	f.StringArrayVar(&o.guard.Writers, "writer", nil, "`principal` who may change them: user:NAME or group:NAME; repeatable")
	f.StringArrayVar(&o.guard.Controllers, "controller", nil, "`principal` who may change the status of break-glass documents; repeatable")
	f.StringVar(&o.guard.Namespace, "guard-namespace", "writ", "`namespace` of writ, whose deployment is guarded")
	f.BoolVar(&o.guard.Gateways, "guard-gateways", false, "guard gateways and routes too")
	f.BoolVar(&o.static, "static", false, "write static manifests for an API server of 1.37")
	f.StringVar(&o.path, "path", o.path, "`folder` of static manifests on the machine of the API server")
	f.StringVarP(&o.output, "output", "o", "", "`folder` to write into, or json; without it the policies are printed")
	o.documents.Add(cmd)
	cli.MarkCommandLineOnly(cmd, "cluster", "tenant", "max-subjects", "denials", "guard", "writer", "controller",
		"guard-namespace", "guard-gateways", "static", "path", "output")
	return cmd
}

func (o *admissionOptions) run(cmd *cobra.Command, s cli.Streams, args []string) error {
	switch {
	case o.companion.MaxSubjects < 1:
		return cli.Usagef(cmd, "--max-subjects must be at least 1")
	case !strings.HasPrefix(o.path, "/"):
		return cli.Usagef(cmd, "--path must be an absolute path")
	case !o.guards && len(o.guard.Writers)+len(o.guard.Controllers) > 0:
		return cli.Usagef(cmd, "--writer and --controller require --guard")
	}
	a := kubernetes.Admission{Static: o.static, Folder: o.path}
	if o.guards {
		if err := o.guard.Validate(); err != nil {
			return cli.Usagef(cmd, "%s", err)
		}
		a.Guard = &o.guard
	}
	c, err := o.make(cmd.Context(), s, args)
	if err != nil {
		return err
	}
	a.Companion = c
	if err := o.write(s, &a); err != nil {
		return err
	}
	if o.output != "json" {
		for _, r := range c.Refused {
			fmt.Fprintf(s.Err, "%s: refused: %s [%s]\n", diag.Line(r.Place), diag.Line(r.Title+": "+r.Reason), r.Code)
		}
	}
	if n := len(c.Refused); n > 0 {
		return cli.Findingf("%s refused", diag.Counted(n, "condition"))
	}
	return nil
}

// make returns the companion of the documents of a source.
func (o *admissionOptions) make(ctx context.Context, s cli.Streams, args []string) (*companion.Companion, error) {
	r, err := o.documents.OpenTables(ctx, s, args)
	if err != nil {
		return nil, err
	}
	options := o.companion
	options.AllDenials = o.denials == "all"
	return companion.Make(statement.NewWorld(tables.Revision{Tables: r.Result.Tables}), options), nil
}

func (o *admissionOptions) write(s cli.Streams, a *kubernetes.Admission) error {
	if o.output == "json" {
		return diag.WriteIndented(s.Out, map[string]any{
			"digest": a.Companion.Digest, "policies": a.Objects(), "refused": append([]companion.Refusal{}, a.Companion.Refused...),
		})
	}
	files, err := a.Files()
	if err != nil {
		return err
	}
	return writeChain(s, files, o.output)
}
