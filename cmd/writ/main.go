// Command writ compiles authorization documents into an OPA bundle and answers
// by it: on the command line, and over HTTP. This package turns arguments into
// calls and results into text and exit status, and decides nothing.
//
// # Design
//
// Results go to standard output and talk to standard error, so that every
// command can stand in a pipe. A command reports its exit status by the error it
// returns: nil is 0, a *finding is 1 (the documents or tests are at fault, and
// the report has been printed), anything else is 2 and printed here.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

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
	// The second signal ends the process at once: the first one only asks.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// streams are the standard streams of one run.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer

	told *teller // run's: it tells on err how far long work has come
}

// run executes one command line and returns its exit status.
func run(ctx context.Context, args []string, s streams) int {
	s.told = newTeller(s.err)
	ctx = progress.WithObservers(ctx, s.told)
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

// finding is what a command reports when it worked and its subject is at fault:
// an error in documents, a failed test. Its text may be empty where the report
// says all.
type finding struct{ text string }

func (f *finding) Error() string { return f.text }

func foundf(format string, args ...any) error {
	return &finding{fmt.Sprintf(format, args...)}
}
