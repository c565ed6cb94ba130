package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/schema"
	"github.com/writ-policy/writ/translator/syntax"
)

func newSchema(s cli.Streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the fields of documents: as a JSON Schema, or to read",
		Long: `schema prints a JSON Schema (draft 7) of the documents that writ reads. It has
the fields of each kind, a sentence about each and the types of their values, as
the decoders of writ have them; writ check finds more. Documents of other kinds
validate. With a kind, only that kind is described; a kind of several API groups
is narrowed by its group: Role.writ.dev. The formats text and markdown list the
fields for people.`,
		Example: `  writ schema > writ.schema.json
  writ schema DenyPolicy -o text`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return schemaNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef(cmd, "name one kind, or none for all")
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			kinds := schemaKinds(name)
			if len(kinds) == 0 {
				return cli.Unknown("kind", name, schemaNames(), "writ schema without a kind describes all")
			}
			var all schema.Any
			for _, kind := range kinds {
				all = append(all, schema.Of(translator.Kinds(), kind))
			}
			switch format {
			case "text":
				return all.WriteText(s.Out)
			case "markdown":
				return all.WriteMarkdown(s.Out)
			}
			return diag.WriteIndented(s.Out, all)
		},
	}
	cli.FormatFlag(cmd, &format, "json", "text", "markdown")
	return cmd
}

// schemaKinds returns the kinds with a name, which may have its group behind a dot; all
// kinds for an empty name.
func schemaKinds(name string) []syntax.Kind {
	var found []syntax.Kind
	for _, kind := range translator.Kinds() {
		group, _, _ := strings.Cut(kind.APIVersion, "/")
		if kind.APIVersion != "" && slices.Contains([]string{"", kind.Name, kind.Name + "." + group}, name) {
			found = append(found, kind)
		}
	}
	return found
}

func schemaNames() []string {
	names := elements.Map(schemaKinds(""), func(kind syntax.Kind) string { return kind.Name })
	slices.Sort(names)
	return slices.Compact(names)
}
