// Command writ compiles authorization documents into an OPA bundle and answers
// requests by it, on the command line and over HTTP. This package converts arguments
// to calls, and results to text and exit status. It contains no policy.
//
// # Design
//
// Results are written to standard output and messages to standard error, so that
// every command works in a pipe. A command determines its exit status by the error
// it returns: nil is 0, a *finding is 1 (the documents or tests have errors, and the
// report is already printed), any other error is 2 and printed here.
package main

//go:generate go test -run TestReference -update .

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	// Authorities of public servers for systems that have none, such as the image.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/writ-policy/writ/cmd/writ/terminal"
	"github.com/writ-policy/writ/translator/progress"
)

// Exit statuses. An interrupted command ends with 128 and the signal's number,
// as a shell would report it.
const (
	exitFine        = 0
	exitFinding     = 1
	exitUsage       = 2
	exitInterrupted = 128 + int(syscall.SIGINT)
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal cancels the context; the second one ends the process at once.
	context.AfterFunc(ctx, stop)
	args, isPlugin := calledAs(os.Args[0], os.Args[1:])
	os.Exit(run(ctx, args, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, isPlugin: isPlugin}))
}

// streams are the standard streams of one run.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer

	// isPlugin is set if kubectl runs the command.
	isPlugin bool
	progress *terminal.Progress // of run; it writes to err
}

// run executes one command line and returns its exit status.
func run(ctx context.Context, args []string, s streams) int {
	s.progress = terminal.NewProgress(s.err)
	ctx = progress.WithObservers(ctx, s.progress)
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var found *finding
	switch {
	case err == nil:
		return exitFine
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &found):
		if found.text != "" {
			fmt.Fprintln(s.err, "writ: "+found.text)
		}
		return exitFinding
	}
	fmt.Fprintln(s.err, "writ: "+err.Error())
	return exitUsage
}

// finding is the error of a command that worked but found a fault: an error in
// documents, a failed test. The text may be empty if the report is complete.
type finding struct{ text string }

func (f *finding) Error() string { return f.text }

func foundf(format string, args ...any) error {
	return &finding{fmt.Sprintf(format, args...)}
}
