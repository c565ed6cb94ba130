package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/terminal"
)

// formatFlag adds -o with the formats of a command. The first one is the default.
func formatFlag(cmd *cobra.Command, into *string, forms ...string) {
	cmd.Flags().VarP(&choice{into, forms}, "output", "o", "`format` of the output: "+alternatives(forms))
	*into = forms[0]
	complete(cmd, "output", forms...)
}

// choice is the value of a flag that accepts a closed set of values.
type choice struct {
	value *string
	of    []string
}

func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

func (c *choice) Type() string { return "string" }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("must be %s", alternatives(c.of))
	}
	*c.value = text
	return nil
}

// alternatives formats a list as "a, b or c".
func alternatives(of []string) string {
	if len(of) == 1 {
		return of[0]
	}
	return strings.Join(of[:len(of)-1], ", ") + " or " + of[len(of)-1]
}

// colours reports whether a stream should be written in colours.
func colours(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal.Is(w)
}
