package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/translator/diag"
)

// Unknown returns an error for an unknown name, with the closest known name or
// else the text otherwise.
func Unknown(what, got string, known []string, otherwise string) error {
	slices.Sort(known)
	return fmt.Errorf("unknown %s %q: %s", what, got, diag.Meant(got, known, otherwise))
}

// UnknownCommand returns an error if the first argument is not a command below cmd.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return Unknown("command", args[0], names, cmd.CommandPath()+" --help lists the commands")
}

// Group returns a command that does nothing but have others.
func Group(use, short, long string, of ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  long,
		Args:  UnknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(of...)
	return cmd
}

// Usagef returns an error about the command line, with the usage of the command.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	usage := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	return fmt.Errorf("%s\n  usage: %s\n  see %s --help", fmt.Sprintf(format, args...), usage, cmd.CommandPath())
}

// NoArguments returns an error if a command has an argument.
func NoArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.Flags().Lookup("policies") != nil:
		return Usagef(cmd, "unknown argument %q: --policies names the documents", args[0])
	}
	return Usagef(cmd, "unknown argument %q", args[0])
}
