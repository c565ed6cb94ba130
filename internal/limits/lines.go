package limits

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// MaxLines is how many lines with one message a logger of Lines writes within a minute.
const MaxLines = 60

// Lines returns a logger for lines that callers cause, as by requests that are refused: a caller
// must not be able to fill a disk. Of each message and level it writes MaxLines within a minute.
// Further ones are counted, and one line has their number at the end of the minute. Lines at level
// debug are not bounded: who enables them wants one for each request. Messages must be constants.
func Lines(log *slog.Logger) *slog.Logger {
	return slog.New(lines{log.Handler(), &windows{log: log, after: func(end func()) { time.AfterFunc(time.Minute, end) }}})
}

type lines struct {
	slog.Handler
	windows *windows
}

// Handle implements slog.Handler.
func (l lines) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug && !l.windows.admit(window{r.Message, r.Level}) {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lines{l.Handler.WithAttrs(attrs), l.windows}
}

// WithGroup implements slog.Handler.
func (l lines) WithGroup(name string) slog.Handler {
	return lines{l.Handler.WithGroup(name), l.windows}
}

// windows count lines. A window opens with a line and ends by itself.
type windows struct {
	log   *slog.Logger
	after func(end func())

	mu   sync.Mutex // guards open
	open map[window]int
}

type window struct {
	message string
	level   slog.Level
}

// admit counts a line and reports whether it is written.
func (w *windows) admit(of window) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = make(map[window]int)
	}
	if w.open[of]++; w.open[of] == 1 {
		w.after(func() { w.end(of) })
	}
	return w.open[of] <= MaxLines
}

func (w *windows) end(of window) {
	w.mu.Lock()
	more := w.open[of] - MaxLines
	delete(w.open, of)
	w.mu.Unlock()
	if more > 0 {
		w.log.Log(context.Background(), of.level, "further lines not logged", "message", of.message, "lines", more)
	}
}
