package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-policy/writ/cmd/writ/cli"
)

const (
	// helpWidth is the longest line of help: the width of a terminal.
	helpWidth = 80
	// longName is the length of the longest flags that stand among the others.
	longName = 26
)

// usage writes how a command is called, as cobra does, with flags for the width of a terminal.
// It is not a template of cobra: a program that links text/template keeps every method of its
// types, and is a fifth larger.
func usage(c *cobra.Command) error {
	var out strings.Builder
	out.WriteString("Usage:")
	if c.Runnable() {
		fmt.Fprintf(&out, "\n  %s", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "\n  %s [command]", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&out, "\n\nExamples:\n%s", c.Example)
	}
	if c.HasAvailableSubCommands() {
		out.WriteString("\n\nAvailable Commands:")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&out, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		out.WriteString("\n\nFlags:\n" + flagUsages(c.LocalFlags()))
	}
	if c.HasAvailableInheritedFlags() {
		out.WriteString("\n\nGlobal Flags:\n" + flagUsages(c.InheritedFlags()))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	return cli.Print(c.OutOrStderr(), out.String()+"\n")
}

// flagUsages describes flags for a terminal. The descriptions begin after the longest flag, so
// that a few long ones, which stand last, have a column of their own.
func flagUsages(all *pflag.FlagSet) string {
	var common, long pflag.FlagSet
	all.VisitAll(func(f *pflag.Flag) {
		if len(f.Name) > longName {
			long.AddFlag(f)
		} else {
			common.AddFlag(f)
		}
	})
	return strings.TrimRightFunc(common.FlagUsagesWrapped(helpWidth)+long.FlagUsagesWrapped(helpWidth), unicode.IsSpace)
}
