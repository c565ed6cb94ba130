// Package terminal shows the progress of a command to its user. It does not know the
// commands.
package terminal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/writ-policy/writ/internal/progress"
)

const (
	progressDelay        = time.Second            // before a step is shown
	progressRefresh      = 200 * time.Millisecond // of the line on a terminal
	progressLineInterval = 10 * time.Second       // between lines elsewhere
)

// stepTexts are the texts of the steps that are shown. Operations, whose steps are shown
// instead, and long polls have none.
var stepTexts = map[progress.Name]string{
	progress.Snapshot:  "reading the documents",
	progress.Fetch:     "fetching",
	progress.Read:      "reading the bundle",
	progress.Translate: "translating",
	progress.Build:     "building the bundle",
	progress.Check:     "checking the bundle",
	progress.Activate:  "activating",
	progress.Verify:    "proving assertions",
	progress.Keep:      "storing the bundle",
	progress.Answer:    "answering",
	progress.Test:      "testing",
	progress.Search:    "searching",
	progress.Replay:    "replaying",
	progress.Push:      "pushing",
}

// Progress shows the innermost running step: its text, count and duration. It is a
// progress.Observer, and the writer through which others write to the same terminal. It is
// safe for concurrent use.
type Progress struct {
	w          io.Writer
	isTerminal bool // one line is rewritten, and removed at the end
	// delay is how long a step runs before it is shown.
	delay time.Duration
	// writeLine writes a line if w is not a terminal.
	writeLine func(text, done string, took time.Duration, ended bool)

	reporting sync.Mutex // held to show and to end a step, so that an ended step is not shown

	mu          sync.Mutex // held to access the fields below and to write to w, but not to call writeLine, which calls Write
	running     []*step    // the innermost is the last
	lineVisible bool
}

// NewProgress returns the reporter of a command. Without a terminal its delay is
// longer, to keep the logs of pipelines short.
func NewProgress(w io.Writer) *Progress {
	r := &Progress{w: w, isTerminal: Is(w) && os.Getenv("TERM") != "dumb", delay: progressDelay}
	if !r.isTerminal {
		r.delay = progressLineInterval
	}
	r.writeLine = func(text, done string, took time.Duration, ended bool) {
		if !ended {
			fmt.Fprintf(r, "writ: %s\n", formatProgress(text, done, took))
		}
	}
	return r
}

// LogTo writes log records instead of lines. After the first successful operation only
// steps of at least progressLineInterval are logged.
func (r *Progress) LogTo(log *slog.Logger) {
	r.delay = progressDelay
	r.writeLine = func(text, done string, took time.Duration, ended bool) {
		message := "step in progress"
		if ended {
			message = "step done"
		}
		args := []any{"step", text}
		if done != "" {
			args = append(args, "done", done)
		}
		log.Info(message, append(args, "took", took)...)
	}
}

var _ progress.Observer = (*Progress)(nil)

// Start implements progress.Observer.
func (r *Progress) Start(ctx context.Context, span *progress.Span) (context.Context, progress.SpanObserver) {
	s := &step{r: r, span: span, text: stepTexts[span.Name], started: time.Now()}
	if s.text == "" {
		return ctx, s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = append(r.running, s)
	s.timer = time.AfterFunc(r.delay, s.report)
	return ctx, s
}

// step is a running span.
type step struct {
	r         *Progress
	span      *progress.Span
	text      string
	started   time.Time
	timer     *time.Timer // nil if the step is not shown
	wasLogged bool        // writeLine was called
}

// Set implements progress.SpanObserver. Attributes are not shown.
func (s *step) Set(progress.Attribute, any) {}

// report shows the step unless a step within it is running.
func (s *step) report() {
	r := s.r
	r.reporting.Lock()
	defer r.reporting.Unlock()
	r.mu.Lock()
	i := slices.Index(r.running, s)
	if i < 0 { // ended since the timer fired
		r.mu.Unlock()
		return
	}
	isInnermost := i == len(r.running)-1
	if r.isTerminal {
		if isInnermost {
			fmt.Fprintf(r.w, "\r\x1b[K%s", formatProgress(s.text, s.done(), s.took()))
			r.lineVisible = true
		}
		s.timer.Reset(progressRefresh)
		r.mu.Unlock()
		return
	}
	s.wasLogged = s.wasLogged || isInnermost
	s.timer.Reset(progressLineInterval)
	r.mu.Unlock()
	if isInnermost {
		r.writeLine(s.text, s.done(), s.took(), false)
	}
}

// End implements progress.SpanObserver.
func (s *step) End(err error) {
	s.r.reporting.Lock()
	defer s.r.reporting.Unlock()
	if s.remove(err) {
		s.r.writeLine(s.text, s.done(), s.took(), true)
	}
}

// remove removes the step from the running ones and reports whether it was logged.
func (s *step) remove(err error) (wasLogged bool) {
	r := s.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.timer == nil {
		if err == nil && s.span.Name != progress.Wait {
			r.delay = max(r.delay, progressLineInterval) // an operation has succeeded
		}
		return false
	}
	s.timer.Stop()
	r.running = slices.DeleteFunc(r.running, func(other *step) bool { return other == s })
	r.eraseLine()
	return s.wasLogged
}

func (s *step) took() time.Duration { return time.Since(s.started).Round(time.Second) }

// done returns the count of the step with its unit, empty if the step does not count.
func (s *step) done() string {
	n, unit := s.span.Done()
	switch unit {
	case "":
		return ""
	case "bytes":
		return byteSize(n)
	}
	return fmt.Sprintf("%d %s", n, unit)
}

func formatProgress(text, done string, took time.Duration) string {
	if done != "" {
		text += ": " + done
	}
	return fmt.Sprintf("%s, %s", text, took)
}

// byteSize formats a number of bytes with a binary unit.
func byteSize(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	size, names := float64(n)/unit, []string{"KiB", "MiB", "GiB"}
	for size >= unit && len(names) > 1 {
		size, names = size/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %s", size, names[0])
}

func (r *Progress) eraseLine() {
	if r.lineVisible {
		fmt.Fprint(r.w, "\r\x1b[K")
		r.lineVisible = false
	}
}

// Is reports whether a stream is a terminal.
func Is(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Write writes content in place of the progress line, which reappears at the next refresh.
// It returns the error of the underlying writer.
func (r *Progress) Write(content []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.eraseLine()
	return r.w.Write(content)
}
