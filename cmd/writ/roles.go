package main

import (
	"bytes"
	"slices"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/translator/roles"
)

func newRoles(s streams) *cobra.Command {
	var family string
	cmd := &cobra.Command{
		Use:   "roles [--family kubernetes|origin] [NAME...]",
		Short: "Print the stock roles as documents",
		Long: `roles prints the stock roles view, edit, admin and cluster-admin as documents, to copy
into a policy directory. They are not implied: a binding to a role that no document
declares is an error.

Without --family it prints both families, without names all roles. A Kubernetes role is
printed together with the roles it aggregates. The Origin roles are in the namespace
"master"; if the master namespace has another name, edit it.`,
		Example: `  writ roles --family origin > policies/stock.yaml
  writ roles --family kubernetes view edit
  writ roles --family origin cluster-admin | writ check -`,
		ValidArgs: roles.Names,
		RunE: func(_ *cobra.Command, names []string) error {
			families := roles.Families
			if family != "" {
				families = []string{family}
			}
			for _, name := range names {
				if !slices.Contains(roles.Names, name) {
					return unknown("role", name, slices.Clone(roles.Names), "must be "+alternatives(roles.Names))
				}
			}
			var parts [][]byte
			for _, f := range families {
				text, err := roles.Documents(f, names...)
				if err != nil {
					return err
				}
				parts = append(parts, text)
			}
			_, err := s.out.Write(bytes.Join(parts, []byte("---\n")))
			return err
		},
	}
	cmd.Flags().Var(&choice{&family, roles.Families}, "family", "only this `family`: kubernetes or origin")
	complete(cmd, "family", roles.Families...)
	return cmd
}

// complete registers the values of a flag for shell completion.
func complete(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // a flag that does not exist: a mistake in this package
	}
}
