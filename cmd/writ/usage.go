package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// usagef returns an error about the command line, with the usage of the command.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s\n  usage: writ %s\n  see writ %s --help", fmt.Sprintf(format, args...), cmd.Use, cmd.Name())
}

// oneSource checks the arguments of commands that take one directory, or files.
func oneSource(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return usagef(cmd, "name a policy directory, or - for documents on standard input")
	}
	if areFiles(args) {
		return nil
	}
	return usagef(cmd, "name one policy directory, or files, not %d", len(args))
}
