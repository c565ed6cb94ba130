package serve

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A log in JSON has durations in seconds, and no character that acts on a terminal.
func TestLogInJSON(t *testing.T) {
	var out bytes.Buffer
	logOptions{level: "info", form: "json"}.logger(&out).Info("a\u009bb", "took", 250*time.Millisecond)
	if line := out.String(); !strings.Contains(line, `"took":0.25`) || !strings.Contains(line, `"level":"INFO"`) || strings.Contains(line, "\u009b") {
		t.Errorf("got %q", line)
	}
}

func TestLevelOfEnvironment(t *testing.T) {
	for value, want := range map[string]string{"DEBUG": "debug", "error": "error", "trace": "info", "": "info"} {
		t.Setenv("LOG_LEVEL", value)
		logs := logOptions{level: "info"}
		if logs.readEnvironment(); logs.level != want {
			t.Errorf("%q: got %s, want %s", value, logs.level, want)
		}
	}
}
