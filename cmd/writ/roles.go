package main

import (
	"bytes"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator/roles"
)

func newRoles(s cli.Streams) *cobra.Command {
	var family string
	var all bool
	cmd := &cobra.Command{
		Use:   "roles [--family kubernetes|origin] [NAME...]",
		Short: "Print the stock roles as documents",
		Long: `roles prints the stock roles view, edit, admin and cluster-admin as documents,
to copy into a policy directory. They are not implied: a binding to a role that
no document declares is an error.

Without --family it prints both families, without names all roles. A Kubernetes
role is printed together with the roles it aggregates. The Origin roles are in
the namespace "master"; if the master namespace has another name, edit it.

With --all it prints all roles and bindings that every Kubernetes 1.36 API
server makes; --bootstrap-roles kubernetes adds them to a directory, and
--bootstrap-roles origin the Origin roles in its master namespace.`,
		Example: `  writ roles --family origin > policies/stock.yaml
  writ roles --family kubernetes view edit
  writ roles --family origin cluster-admin | writ check -
  writ roles --family kubernetes --all > bootstrap.yaml`,
		ValidArgs: roles.Names,
		RunE: func(cmd *cobra.Command, names []string) error {
			if all {
				return writeBootstrap(cmd, s.Out, family, names)
			}
			families := roles.Families
			if family != "" {
				families = []string{family}
			}
			for _, name := range names {
				if !slices.Contains(roles.Names, name) {
					return cli.Unknown("role", name, slices.Clone(roles.Names), "must be "+cli.Alternatives(roles.Names))
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
			_, err := s.Out.Write(bytes.Join(parts, []byte("---\n")))
			return err
		},
	}
	cli.ChoiceFlag(cmd, &family, "family", "only this `family`: kubernetes or origin", roles.Families...)
	cmd.Flags().BoolVar(&all, "all", false, "all roles and bindings that every Kubernetes API server makes, as --bootstrap-roles adds them")
	return cmd
}

// writeBootstrap prints the documents of --bootstrap-roles.
func writeBootstrap(cmd *cobra.Command, out io.Writer, family string, names []string) error {
	if family == roles.Origin || len(names) > 0 {
		return cli.Usagef(cmd, "--all prints the Kubernetes family, and takes no names")
	}
	text, err := roles.BootstrapDocuments()
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}
