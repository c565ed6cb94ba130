package serve

import (
	"cmp"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-policy/writ/cmd/writ/bundle"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator/diag"
)

// NewConfig returns the command config.
func NewConfig(s cli.Streams) *cobra.Command {
	return cli.Group("config show", "Show the effective configuration of a server", "config has commands about the configuration of writ serve.",
		newConfigShow(s))
}

// shownSetting is the effective value of a setting.
type shownSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Origin is a flag, a variable, a position in a file, or "default".
	Origin string `json:"origin"`
}

func newConfigShow(s cli.Streams) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:   "show [FLAGS OF writ serve]",
		Short: "Print the effective settings of writ serve with their origin",
		Long: `show prints each setting of writ serve: its value and where the value comes
from, a flag, an environment variable, a position in the configuration file, or
the default. It takes the flags of writ serve and starts nothing.

Secrets are not shown: passwords of the environment, and user information and
queries in URLs. Settings in .writ.yaml of a policy directory hold for that
directory; writ check reports which of them are overridden.`,
		Example: `  writ config show --config writ.yaml
  writ config show --policies policies --listen :8443 -o json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeSettings(s.Out, form, effectiveSettings(cmd.Flags()))
		},
	}
	New(s).Flags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = true // writ serve documents it
		cmd.Flags().AddFlag(f)
	})
	cli.FormatFlag(cmd, &form, "text", "json")
	cli.MarkCommandLineOnly(cmd, "output")
	return cmd
}

// secretVariables are settings of the environment without a flag, because every user of the
// machine can read the arguments of a process.
var secretVariables = []string{cli.EnvironmentPrefix + "GIT_USER", cli.EnvironmentPrefix + "GIT_PASSWORD", bundle.PasswordVariable}

func effectiveSettings(flags *pflag.FlagSet) []shownSetting {
	var list []shownSetting
	flags.VisitAll(func(f *pflag.Flag) {
		if !cli.Configurable(f) {
			return
		}
		shown := shownSetting{f.Name, shownValue(f.Value), "default"}
		if f.Changed {
			shown.Origin = strings.TrimSuffix(cli.SetBy(f), ": "+f.Name)
		}
		list = append(list, shown)
	})
	for _, name := range secretVariables {
		if os.Getenv(name) != "" {
			list = append(list, shownSetting{name, "(hidden)", name})
		}
	}
	return list
}

// shownValue formats a value without secrets. Items of a list have commas between them.
func shownValue(v pflag.Value) string {
	items := []string{v.String()}
	if list, ok := v.(pflag.SliceValue); ok {
		items = list.GetSlice()
	}
	for i := range items {
		items[i] = withoutSecrets(items[i])
	}
	return strings.Join(items, ",")
}

// withoutSecrets hides user information and values of the query in a URL.
func withoutSecrets(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	at, err := url.Parse(text)
	if err != nil {
		return "(hidden: not a URL)"
	}
	if at.User != nil {
		at.User = url.User("hidden")
	}
	query := at.Query()
	for key := range query {
		if key != "ref" && key != "namespace" && key != "kinds" { // of documents
			query.Set(key, "hidden")
		}
	}
	at.RawQuery = query.Encode()
	return at.String()
}

func writeSettings(w io.Writer, form string, list []shownSetting) error {
	if form == "json" {
		return diag.WriteIndented(w, map[string]any{"settings": list})
	}
	var rows [][]string
	for _, s := range list {
		rows = append(rows, []string{s.Name, cmp.Or(s.Value, `""`), s.Origin})
	}
	return cli.PrintTable(w, rows)
}
