package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// usagef is a mistake on the command line, with the way to the help.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s\n  usage: writ %s\n  writ %s --help says more", fmt.Sprintf(format, args...), cmd.Use, cmd.Name())
}

// oneDirectory is the argument check of commands about one directory.
func oneDirectory(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return usagef(cmd, "name a policy directory, or - for documents on standard input")
	}
	return usagef(cmd, "name one policy directory, not %d", len(args))
}
