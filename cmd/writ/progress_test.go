package main

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

	"github.com/writ-policy/writ/translator/progress"
)

// lasting is a step that takes a while, in the time of the test alone.
func lasting(takes time.Duration, count func(*progress.Span)) func(context.Context) error {
	return func(ctx context.Context) error {
		if count != nil {
			count(progress.FromContext(ctx))
		}
		pass(ctx, takes)
		return nil
	}
}

func pass(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// states are what stays on a terminal of what was written to it, each state once.
func states(written string) []string {
	var seen []string
	for _, state := range strings.Split(written, "\r\x1b[K") {
		if len(seen) == 0 || seen[len(seen)-1] != state {
			seen = append(seen, state)
		}
	}
	return seen
}

func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		told := newTeller(&out)
		told.live, told.after = true, progressAfter
		ctx, whole := progress.Start(progress.WithObservers(t.Context(), told), progress.Reload)
		_ = progress.Do(ctx, progress.Build, lasting(progressAfter-time.Millisecond, nil))
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

// What others write to the terminal stands on lines of its own.
func TestProgressMakesRoomForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		told := newTeller(&out)
		told.live, told.after = true, progressAfter
		ctx := progress.WithObservers(t.Context(), told)
		_ = progress.Do(ctx, progress.Fetch, func(ctx context.Context) error {
			pass(ctx, progressAfter+time.Millisecond)
			fmt.Fprintln(told, "a line of the log")
			return nil
		})
		if got, want := out.String(), "\r\x1b[Kfetching, 1s\r\x1b[Ka line of the log\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestProgressInALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		told := newTeller(&out)
		told.logs(slog.New(slog.NewTextHandler(told, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		}})))
		attempt := func(takes time.Duration, err error) string {
			out.Reset()
			ctx, whole := progress.Start(progress.WithObservers(t.Context(), told), progress.Reload)
			_ = progress.Do(ctx, progress.Fetch, lasting(takes, func(p *progress.Span) { p.Count(512, "bytes") }))
			whole.End(err)
			return out.String()
		}
		line := func(message string, took int) string {
			return fmt.Sprintf("msg=%s doing=fetching done=\"512 bytes\" took=%ds\n", message, took)
		}
		under := func(took int) string { return line(`"under way"`, took) }
		for _, row := range []struct {
			name  string
			takes time.Duration
			err   error
			want  string
		}{
			{"short", time.Second - 1, errors.New("no"), ""},
			{"long, in vain", 23 * time.Second, errors.New("no"), under(1) + under(11) + under(21) + line("done", 23)},
			{"longer than a second", 2 * time.Second, nil, under(1) + line("done", 2)},
			{"once something is served", 9 * time.Second, nil, ""},
			{"long once something is served", 12 * time.Second, nil, under(10) + line("done", 12)},
		} {
			if got := attempt(row.takes, row.err); got != row.want {
				t.Errorf("%s: got\n%swant\n%s", row.name, got, row.want)
			}
		}
	})
}

// A pipeline's output has a line every ten seconds, and none of what is only slow.
func TestProgressOfACommandWithoutATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		ctx := progress.WithObservers(t.Context(), newTeller(&out))
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
