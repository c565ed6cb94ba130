// Package cli has what all commands share: standard streams, exit status, and flags with
// their values from the environment and the configuration file. It knows no documents.
package cli

import (
	"fmt"
	"io"

	"github.com/writ-policy/writ/cmd/writ/terminal"
	"github.com/writ-policy/writ/translator/diag"
)

// Streams are the standard streams of one run of the program. All are set.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	IsPlugin bool               // kubectl runs the command
	Progress *terminal.Progress // writes to Err
}

// Print writes a text.
func Print(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// PrintTable writes rows with aligned cells.
func PrintTable(w io.Writer, rows [][]string) error {
	var text diag.Lines
	text.AddTable(rows)
	return Print(w, text.String())
}

// Finding is the error of a command that worked but found a fault: an error in
// documents, a failed test. The text may be empty if the report is complete.
type Finding struct{ Text string }

func (f *Finding) Error() string { return f.Text }

// Findingf returns a *Finding with a formatted text.
func Findingf(format string, args ...any) error {
	return &Finding{fmt.Sprintf(format, args...)}
}

// Drains is the annotation of a command that limits itself how long it takes to end after a
// signal. Others are ended soon.
const Drains = "writ/drains"
