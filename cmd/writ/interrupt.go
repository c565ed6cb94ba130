package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
)

// patience is how long an interrupted command may take to return.
const patience = 500 * time.Millisecond

// errStuck is the error of an interrupted command that did not return in time.
var errStuck = errors.New("interrupted")

// interruption is the cause of a context that a signal cancelled.
type interruption struct{ syscall.Signal }

func (i interruption) Error() string { return i.String() }

// Unwrap makes the cause a cancellation, as the error of the context is.
func (interruption) Unwrap() error { return context.Canceled }

// untilSignal returns a context that the first signal cancels. The second one ends the
// process at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		received, _ := (<-signals).(syscall.Signal)
		signal.Stop(signals)
		cancel(interruption{received})
	}()
	return ctx
}

// interruptedStatus is the exit status of a command whose context is cancelled.
func interruptedStatus(ctx context.Context) int {
	if i, ok := errors.AsType[interruption](context.Cause(ctx)); ok {
		return exitInterrupted + int(i.Signal)
	}
	return exitInterrupted + int(syscall.SIGINT)
}

// execute runs one command line. Once the context is cancelled, it returns errStuck for a
// command that does not: OPA's compiler, for one, cannot be interrupted. A command that
// drains limits its time itself.
func execute(ctx context.Context, root *cobra.Command, args []string) error {
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	if cmd, _, err := root.Find(args); err == nil && cmd.Annotations[cli.Drains] != "" {
		return <-ended
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		return errStuck
	}
}
