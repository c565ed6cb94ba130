package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/writ-policy/writ/translator/progress"
)

// How often progress is told: in place on a terminal, in lines elsewhere, and not at
// all before a step has become a long one.
const (
	progressAfter = time.Second
	progressLive  = 200 * time.Millisecond
	progressLines = 10 * time.Second
)

// doing is what is said of a step that is under way. What is not here is not told of:
// the whole of which the others are steps, and waiting for what may not come.
var doing = map[progress.Name]string{
	progress.Snapshot:  "reading the documents",
	progress.Fetch:     "fetching",
	progress.Read:      "reading the bundle",
	progress.Translate: "translating",
	progress.Build:     "building the bundle",
	progress.Check:     "checking the bundle",
	progress.Activate:  "activating",
	progress.Keep:      "keeping the bundle",
	progress.Answer:    "answering",
	progress.Test:      "testing",
	progress.Push:      "pushing",
}

// teller tells how far long work has come: the innermost step that is under way, what
// it has done, and for how long it has been. It is a progress.Observer, and a writer for
// those who write to the same terminal. It is safe for concurrent use.
type teller struct {
	w    io.Writer
	live bool // one line is rewritten, and removed at the end
	// after is how long a step is not told of.
	after time.Duration
	// line writes a line where the stream is no terminal.
	line func(text, done string, took time.Duration, ended bool)

	telling sync.Mutex // held to tell and to end a step: nothing is told of it afterwards

	mu    sync.Mutex // held to read and write the rest, and to write to w; not to call line, which calls Write
	under []*telling // the innermost is the last
	shown bool       // there is a line that has to be removed
}

// newTeller is for a command. Without a terminal nobody waits for a first line, and
// logs of pipelines are short of what is only slow.
func newTeller(w io.Writer) *teller {
	t := &teller{w: w, live: isTerminal(w) && os.Getenv("TERM") != "dumb", after: progressAfter}
	if !t.live {
		t.after = progressLines
	}
	t.line = func(text, done string, took time.Duration, ended bool) {
		if !ended {
			fmt.Fprintf(t, "writ: %s\n", told(text, done, took))
		}
	}
	return t
}

// logs makes it write to a log instead of lines. Once something is in service, only
// what takes really long is told of.
func (t *teller) logs(log *slog.Logger) {
	t.after = progressAfter
	t.line = func(text, done string, took time.Duration, ended bool) {
		message := "under way"
		if ended {
			message = "done"
		}
		about := []any{"doing", text}
		if done != "" {
			about = append(about, "done", done)
		}
		log.Info(message, append(about, "took", took)...)
	}
}

var _ progress.Observer = (*teller)(nil)

func (t *teller) Start(ctx context.Context, p *progress.Span) (context.Context, progress.SpanObserver) {
	s := &telling{t: t, p: p, text: doing[p.Name], began: time.Now()}
	if s.text == "" {
		return ctx, s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.under = append(t.under, s)
	s.timer = time.AfterFunc(t.after, s.tell)
	return ctx, s
}

// telling is one step.
type telling struct {
	t     *teller
	p     *progress.Span
	text  string
	began time.Time
	timer *time.Timer // nil where it is not told of
	said  bool        // there is a line of it
}

func (s *telling) Set(progress.Attribute, any) {}

// tell says how far the step is, unless one that is part of it does.
func (s *telling) tell() {
	t := s.t
	t.telling.Lock()
	defer t.telling.Unlock()
	t.mu.Lock()
	at := slices.Index(t.under, s)
	if at < 0 { // it has ended meanwhile
		t.mu.Unlock()
		return
	}
	innermost := at == len(t.under)-1
	if t.live {
		if innermost {
			fmt.Fprintf(t.w, "\r\x1b[K%s", told(s.text, s.done(), s.took()))
			t.shown = true
		}
		s.timer.Reset(progressLive)
		t.mu.Unlock()
		return
	}
	s.said = s.said || innermost
	s.timer.Reset(progressLines)
	t.mu.Unlock()
	if innermost {
		t.line(s.text, s.done(), s.took(), false)
	}
}

func (s *telling) End(err error) {
	s.t.telling.Lock()
	defer s.t.telling.Unlock()
	if s.ended(err) {
		s.t.line(s.text, s.done(), s.took(), true)
	}
}

// ended takes the step away, and reports whether it was said that it is under way.
func (s *telling) ended(err error) bool {
	t := s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.timer == nil {
		if err == nil && s.p.Name != progress.Wait {
			t.after = max(t.after, progressLines) // what was waited for is there
		}
		return false
	}
	s.timer.Stop()
	t.under = slices.DeleteFunc(t.under, func(other *telling) bool { return other == s })
	t.erase()
	return s.said
}

func (s *telling) took() time.Duration { return time.Since(s.began).Round(time.Second) }

// done is how much the step has done, empty where it does not count.
func (s *telling) done() string {
	n, unit := s.p.Done()
	switch unit {
	case "":
		return ""
	case "bytes":
		return byteSize(n)
	}
	return fmt.Sprintf("%d %s", n, unit)
}

func told(text, done string, took time.Duration) string {
	if done != "" {
		text += ": " + done
	}
	return fmt.Sprintf("%s, %s", text, took)
}

// byteSize is a number of bytes as people read it.
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

func (t *teller) erase() {
	if t.shown {
		fmt.Fprint(t.w, "\r\x1b[K")
		t.shown = false
	}
}

// Write writes what others have to say in place of the line, which comes again with
// the next telling.
func (t *teller) Write(content []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
	return t.w.Write(content)
}
