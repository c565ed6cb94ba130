package changes

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
)

const expectHelp = `expect --clean removes entries from an ExpectedChanges document: those that fit
no change between the revisions, which are done, and those whose time is over.
Without revisions, it removes the latter alone. Comments of the file stay.

The revisions, --apply and --prune are those of writ diff. Exit status 0: the
file is clean; 2: usage, or no comparison was possible.`

// NewExpect returns the command expect.
func NewExpect(s cli.Streams) *cobra.Command {
	o := diffOptions{format: "text", maxClasses: 100000}
	var file string
	cmd := &cobra.Command{
		Use:   "expect --clean FILE [A B | REV1..REV2 [FOLDER]]",
		Short: "Remove expected changes that are done",
		Long:  expectHelp,
		Example: `  writ expect --clean gate/expect.yaml --apply kube: policies
  writ expect --clean gate/expect.yaml`,
		Args: cli.Arguments(0, 2, "name two revisions, REV1..REV2, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" || file == "-" {
				return cli.Usagef(cmd, "--clean names the file to clean")
			}
			if err := o.check(cmd); err != nil {
				return err
			}
			return reportError(s, o.format, o.clean(cmd, s, file, args))
		},
	}
	cmd.Flags().StringVar(&file, "clean", "", "`file` with expected changes to clean")
	cli.TimeFlag(cmd, &o.now, "now", "`time` (RFC 3339) to compare at instead of the machine's")
	o.addApply(cmd)
	o.documents.Add(cmd)
	cli.MarkCommandLineOnly(cmd, "clean", "now")
	return cmd
}

func (o *diffOptions) clean(cmd *cobra.Command, s cli.Streams, file string, args []string) error {
	expected, err := readExpected(file, s)
	if err != nil {
		return err
	}
	now, err := o.time()
	if err != nil {
		return err
	}
	isDone := func(e diff.ExpectedChange) bool { return !e.Until.IsZero() && now.After(e.Until) }
	if len(args) > 0 {
		o.reach = slices.ContainsFunc(expected, func(e diff.ExpectedChange) bool { return e.Reach != nil })
		report, err := o.report(cmd, s, args)
		if err != nil {
			return err
		}
		isExpired := isDone
		isDone = func(e diff.ExpectedChange) bool { return isExpired(e) || report.IsStale(e) }
	}
	removed := make([]bool, len(expected))
	for i, e := range expected {
		if removed[i] = isDone(e); removed[i] {
			fmt.Fprintf(s.Out, "removed: %s %s %s\n", e.Name(), e.Change, e.Text)
		}
	}
	if !slices.Contains(removed, true) {
		fmt.Fprintf(s.Out, "%s is clean\n", file)
		return nil
	}
	return removeEntries(file, removed)
}

// removeEntries removes entries of an ExpectedChanges document that was read.
func removeEntries(file string, removed []bool) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return err
	}
	list := &document
	if len(document.Content) == 1 {
		list = document.Content[0]
	}
	for _, key := range []string{"spec", "changes"} {
		if list = documents.Member(list, key); list == nil {
			return fmt.Errorf("%s: spec.changes not found", file)
		}
	}
	kept := list.Content[:0]
	for i, entry := range list.Content {
		if !removed[i] {
			kept = append(kept, entry)
		}
	}
	if list.Content = kept; len(kept) == 0 {
		list.Style = yaml.FlowStyle
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644) //nolint:gosec // it is committed with the documents
}
