package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-policy/writ/internal/progress"
)

// lasting returns a step that takes a duration of the test's fake time.
func lasting(takes time.Duration, count func(*progress.Span)) func(context.Context) error {
	return func(ctx context.Context) error {
		if count != nil {
			count(progress.FromContext(ctx))
		}
		wait(ctx, takes)
		return nil
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// states returns the successive contents of a terminal's line.
func states(written string) []string {
	var seen []string
	for state := range strings.SplitSeq(written, "\r\x1b[K") {
		if len(seen) == 0 || seen[len(seen)-1] != state {
			seen = append(seen, state)
		}
	}
	return seen
}

func TestProgressOnTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		reporter := NewProgress(&out)
		reporter.isTerminal, reporter.delay = true, progressDelay
		ctx, whole := progress.Start(progress.WithObservers(t.Context(), reporter), progress.Reload)
		_ = progress.Do(ctx, progress.Build, lasting(progressDelay-time.Millisecond, nil))
		_ = progress.Do(ctx, progress.Snapshot, func(ctx context.Context) error {
			return progress.Do(ctx, progress.Fetch, lasting(2*time.Second+time.Millisecond, func(p *progress.Span) { p.Count(3<<20, "bytes") }))
		})
		_ = progress.Do(ctx, progress.Wait, lasting(time.Minute, nil))
		_ = progress.Do(ctx, progress.Activate, lasting(time.Second+time.Millisecond, nil))
		whole.End(nil)
		want := []string{"", "fetching: 3.0 MiB, 1s", "fetching: 3.0 MiB, 2s", "", "activating, 1s", ""}
		if got := states(out.String()); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// The progress line is erased before the log writes to the terminal.
func TestProgressLineIsErasedForLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		reporter := NewProgress(&out)
		reporter.isTerminal, reporter.delay = true, progressDelay
		ctx := progress.WithObservers(t.Context(), reporter)
		_ = progress.Do(ctx, progress.Fetch, func(ctx context.Context) error {
			wait(ctx, progressDelay+time.Millisecond)
			fmt.Fprintln(reporter, "a line of the log")
			return nil
		})
		if got, want := out.String(), "\r\x1b[Kfetching, 1s\r\x1b[Ka line of the log\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestProgressInLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		reporter := NewProgress(&out)
		reporter.LogTo(slog.New(slog.NewTextHandler(reporter, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		}})))
		attempt := func(takes time.Duration, err error) string {
			out.Reset()
			ctx, whole := progress.Start(progress.WithObservers(t.Context(), reporter), progress.Reload)
			_ = progress.Do(ctx, progress.Fetch, lasting(takes, func(p *progress.Span) { p.Count(512, "bytes") }))
			whole.End(err)
			return out.String()
		}
		line := func(message string, took int) string {
			return fmt.Sprintf("msg=%q step=fetching done=\"512 bytes\" took=%ds\n", message, took)
		}
		running := func(took int) string { return line("step in progress", took) }
		for _, row := range []struct {
			name  string
			takes time.Duration
			err   error
			want  string
		}{
			{"short", time.Second - 1, errors.New("no"), ""},
			{"long, with an error", 23 * time.Second, errors.New("no"), running(1) + running(11) + running(21) + line("step done", 23)},
			{"longer than a second", 2 * time.Second, nil, running(1) + line("step done", 2)},
			{"after a success", 9 * time.Second, nil, ""},
			{"long, after a success", 12 * time.Second, nil, running(10) + line("step done", 12)},
		} {
			if got := attempt(row.takes, row.err); got != row.want {
				t.Errorf("%s: got\n%swant\n%s", row.name, got, row.want)
			}
		}
	})
}

// Without a terminal a long step writes a line every ten seconds, and a shorter step none.
func TestProgressWithoutTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		ctx := progress.WithObservers(t.Context(), NewProgress(&out))
		_ = progress.Do(ctx, progress.Translate, lasting(9*time.Second, nil))
		_ = progress.Do(ctx, progress.Test, lasting(25*time.Second, func(p *progress.Span) { p.Count(7, "cases run") }))
		want := "writ: testing: 7 cases run, 10s\nwrit: testing: 7 cases run, 20s\n"
		if got := out.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestByteSize(t *testing.T) {
	for _, row := range []struct {
		n    int64
		want string
	}{{0, "0 bytes"}, {1023, "1023 bytes"}, {1024, "1.0 KiB"}, {3 << 20, "3.0 MiB"}, {5 << 40, "5120.0 GiB"}} {
		if got := byteSize(row.n); got != row.want {
			t.Errorf("%d: got %s, want %s", row.n, got, row.want)
		}
	}
}
