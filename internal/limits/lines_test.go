package limits

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Each message has lines of its own, at each level, and what is left out is counted.
func TestLinesAreBounded(t *testing.T) {
	var out bytes.Buffer
	var ends []func()
	w := &windows{log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	w.after = func(end func()) { ends = append(ends, end) }
	log := slog.New(lines{w.log.Handler(), w})
	logged := func(text string) int { return strings.Count(out.String(), text) }
	for range MaxLines + 7 {
		log.With("a", 1).Info("request")
		log.Debug("request")
	}
	log.Warn("request")
	log.WithGroup("b").Info("another")
	for text, want := range map[string]int{
		"level=INFO msg=request": MaxLines, "level=DEBUG msg=request": MaxLines + 7, "level=WARN msg=request": 1, "msg=another": 1, "further": 0,
	} {
		if got := logged(text); got != want {
			t.Errorf("%q: got %d lines, want %d", text, got, want)
		}
	}
	for _, end := range ends {
		end()
	}
	if got := logged(`level=INFO msg="further lines not logged" message=request lines=7`); got != 1 || logged("further") != 1 {
		t.Errorf("what was left out: got %d lines\n%s", got, out.String())
	}
	out.Reset()
	if log.Info("request"); logged("msg=request") != 1 {
		t.Errorf("the next window: got %q, want a line", out.String())
	}
}
