package documents

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint/accept"
)

// AcceptedHelp explains in the help of commands what silences a warning.
const AcceptedHelp = `Warnings that were accepted are counted and not listed; JSON and SARIF have them
as suppressed. A comment "# writ:ignore CODE REASON" accepts those of its line
or of the next one, "accepted" in .writ.yaml those of files until a date, and
--baseline those that were there when --write-baseline wrote it. An acceptance
that has expired or silences nothing is a warning. Errors cannot be accepted.`

const writeBaseline = "write-baseline"

// AddWriteBaseline adds the flag of commands that write a baseline.
func (d *Flags) AddWriteBaseline(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.writeBaseline, writeBaseline, "", "write the warnings that there are to a `file`, and accept them")
	cli.MarkCommandLineOnly(cmd, writeBaseline)
}

// Silence removes the warnings that were accepted from the list, and adds those about
// acceptances. raises reports which codes the list would have; nil leaves out what is said
// of unused acceptances. No baseline is written of documents with errors: the phases that find
// most warnings do not run then, and a complete one would be lost. Silence returns an error if a
// baseline cannot be read or written.
func (d *Flags) Silence(r *Translation, raises func(diag.Code) bool) error {
	in := accept.Input{Snapshot: r.snapshot, Documents: r.documents, Now: time.Now(), Raises: raises}
	if d.Part {
		in.Raises = nil
	}
	r.baselineIsLeft = d.writeBaseline != "" && r.Result == nil
	if d.writeBaseline != "" && !r.baselineIsLeft {
		left, _ := accept.Apply(r.List, in)
		in.Baseline = accept.NewBaseline(d.writeBaseline, left, r.documents)
		if err := cli.WriteFile(d.writeBaseline, in.Baseline.Encode()); err != nil {
			return fmt.Errorf("write baseline: %w", err)
		}
	} else if d.baseline != "" {
		content, err := cli.ReadFile(d.baseline)
		if err != nil {
			return fmt.Errorf("read baseline: %w", err)
		}
		if in.Baseline, err = accept.ParseBaseline(d.baseline, content); err != nil {
			return err
		}
	}
	r.List, r.silenced = accept.Apply(r.List, in)
	return nil
}
