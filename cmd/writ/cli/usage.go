package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/translator/diag"
)

// Unknown returns an error for an unknown name, with the closest known name or
// else the text otherwise.
func Unknown(what, got string, known []string, otherwise string) error {
	slices.Sort(known)
	if near := diag.Suggest(got, known); near != "" {
		return fmt.Errorf("unknown %s %q: did you mean %q?", what, got, near)
	}
	return fmt.Errorf("unknown %s %q: %s", what, got, otherwise)
}

// Usagef returns an error about the command line, with the usage of the command.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s\n  usage: writ %s\n  see writ %s --help", fmt.Sprintf(format, args...), cmd.Use, cmd.Name())
}
