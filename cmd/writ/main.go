// Command writ compiles authorization documents into an OPA bundle and answers
// requests by it, on the command line and over HTTP. It converts arguments
// to calls, and results to text and exit status, and contains no policy. Commands that belong
// together have a folder; those of one file are here.
//
// # Design
//
// Results are written to standard output and messages to standard error, so that
// every command works in a pipe. A command determines its exit status by the error
// it returns: nil is 0, a *cli.Finding is 1 (the documents or tests have errors, and the
// report is already printed), any other error is 2 and printed here.
package main

//go:generate go test -run TestReference -update .

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	// Authorities of public servers for systems that have none, such as the image.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/terminal"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator/diag"
)

// Exit statuses. An interrupted command ends with 128 and the signal's number,
// as a shell would report it.
const (
	exitFine        = 0
	exitFinding     = 1
	exitUsage       = 2
	exitInterrupted = 128
)

func main() {
	ctx := untilSignal()
	args, isPlugin := calledAs(os.Args[0], os.Args[1:])
	os.Exit(run(ctx, args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, IsPlugin: isPlugin}))
}

// run executes one command line and returns its exit status.
func run(ctx context.Context, args []string, s cli.Streams) int {
	s.Progress = terminal.NewProgress(s.Err)
	ctx = progress.WithObservers(ctx, s.Progress)
	root := newRoot(s)
	root.SetArgs(args)
	help := &checkedWriter{to: s.Out}
	root.SetOut(help)
	err := execute(ctx, root, args)
	if err == nil {
		err = help.err
	}
	var found *cli.Finding
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, errStuck):
		fmt.Fprintln(s.Err, "writ: interrupted")
		return interruptedStatus(ctx)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return interruptedStatus(ctx)
	case errors.As(err, &found):
		if found.Text != "" {
			writeError(s.Err, found.Text)
		}
		return exitFinding
	}
	writeError(s.Err, err.Error())
	return exitUsage
}

// checkedWriter keeps the first error of its writes. cobra writes help to it and ignores errors.
type checkedWriter struct {
	to  io.Writer
	err error
}

func (c *checkedWriter) Write(text []byte) (int, error) {
	n, err := c.to.Write(text)
	c.err = cmp.Or(c.err, err)
	return n, err
}

// writeError writes an error, whose lines may hold names of documents.
func writeError(w io.Writer, text string) {
	for line := range strings.SplitSeq("writ: "+strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(w, diag.Line(strings.ReplaceAll(line, "\t", "  ")))
	}
}
