package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-policy/writ/cmd/writ/bundle"
	"github.com/writ-policy/writ/cmd/writ/changes"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/evaluate"
	"github.com/writ-policy/writ/cmd/writ/fleet"
	"github.com/writ-policy/writ/cmd/writ/serve"
)

const rootHelp = `writ compiles the authorization documents that a team keeps in git into one OPA
bundle, and answers requests by it. Each decision names the file and line that
decided.

Families of documents:
  Kubernetes RBAC      Role, ClusterRole, RoleBinding, ClusterRoleBinding
  Origin policy        Role, RoleBinding, Policy, PolicyBinding, with deny rules
  deny policies        DenyPolicy with pod security, BreakglassEscalation
  sessions             BreakglassSession, DebugSession, ClusterConfig
  visibility           MonitorAccessPolicy, MetricSource
  gateway policies     AuthPolicy, RateLimitPolicy, TokenRateLimitPolicy
Extensions in Rego (*.rego) and DecisionTests may stand beside them.

All commands:
  -  means standard input or standard output
  results are written to standard output, messages to standard error
  the form of -o json is stable
  colours are used on terminals only, and never if NO_COLOR is set
  exit status 0: success; 1: a finding (an error in documents, a failed test);
  2: wrong usage or input

Flags can also be set by an environment variable (--master-namespace by
WRIT_MASTER_NAMESPACE) and in a YAML file named by --config or WRIT_CONFIG
(master-namespace: main), except those of one run, such as --now, --log or -o of
build. Flags take precedence over the environment, the environment over the
file, and the file over the defaults.`

const rootExamples = `  writ check policies                      report mistakes in the documents
  writ test policies                       run the tests of the documents
  writ build policies -o bundle.tar.gz     build a bundle for any OPA
  writ inspect bundle.tar.gz               show and verify a bundle
  writ serve --policies policies           answer over HTTP, reloading on change
  echo '{"user":"alice","verb":"get","resource":"pods","namespace":"shop"}' |
    writ eval --policies policies          answer on the command line`

func newRoot(s cli.Streams) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           "writ",
		Short:         "Authorization documents in, explained decisions out",
		Long:          rootHelp,
		Example:       rootExamples,
		Args:          cli.UnknownCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				_, err := fmt.Fprintf(s.Out, "writ %s\n", cli.Version())
				return err
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return nil // also beside a configuration that cannot be read
			}
			return cli.ApplySettings(cmd)
		},
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.PersistentFlags().String("config", "", "YAML `file` with values for flags")
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.Flags().BoolVarP(&version, "version", "v", false, "version for writ")
	cli.MarkCommandLineOnly(root, "version")
	root.SetUsageFunc(usage)
	root.AddCommand(
		newCheck(s), newLint(s), evaluate.NewTest(s), evaluate.NewEval(s), evaluate.NewFilter(s), evaluate.NewEffective(s),
		changes.NewDiff(s), changes.NewExpect(s), changes.NewVerify(s), changes.NewReplay(s), changes.NewWhoCan(s),
		changes.NewWhatCan(s), changes.NewEscalations(s), changes.NewReach(s), changes.NewShrink(s, evaluate.DecisionTests),
		bundle.NewBuild(s), bundle.NewInspect(s), bundle.NewPush(s), serve.New(s), serve.NewConfig(s),
		fleet.NewStatus(s), fleet.NewFleet(s), fleet.NewRollback(s), newKubernetes(s),
		newExplain(s), newSchema(s), newLSP(s), newRoles(s), newVersion(s), newCompletion(s),
	)
	root.SetHelpCommand(newHelp(root))
	if s.IsPlugin {
		asPlugin(root)
	}
	return root
}

// newHelp replaces cobra's help command, which exits with status 0 for an unknown
// command.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return cli.UnknownCommand(root, args)
			}
			return cmd.Help()
		},
	}
}

// flagError adds the closest flag name to pflag's error about an unknown flag.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("%w (%s --help lists the flags)", err, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return cli.Unknown("flag", "--"+missing.GetSpecifiedName(), names, cmd.CommandPath()+" --help lists the flags")
}
