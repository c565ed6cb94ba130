package limits

import (
	"fmt"
	"testing"
	"time"
)

func TestFailuresAreLoggedOnceAndThenSeldom(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	more := func(n int) string { return fmt.Sprint([]any{"failures", n, "since", began}, " true") }
	var f Failures
	for _, row := range []struct {
		name, text string
		after      time.Duration
		want       string
	}{
		{"the first", "refused", 0, "[] true"},
		{"the same", "refused", time.Minute, "[] false"},
		{"another one", "read tcp 10.0.0.1:40000->10.0.0.2:443: reset", 2 * time.Minute, more(3)},
		{"from another port", "read tcp 10.0.0.1:40001->10.0.0.2:443: reset", 3 * time.Minute, "[] false"},
		{"from another port of IPv6", "read tcp [::1]:40002->10.0.0.2:443: reset", 4 * time.Minute, "[] false"},
		{"to another port", "read tcp 10.0.0.1:40001->10.0.0.2:444: reset", 5 * time.Minute, more(6)},
		{"an hour later", "read tcp 10.0.0.1:40001->10.0.0.2:444: reset", 66 * time.Minute, more(7)},
	} {
		about, isLogged := f.Failed(row.text, began.Add(row.after))
		if got := fmt.Sprint(about, " ", isLogged); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
	if about, failed := f.Ended(); !failed || len(about) != 4 {
		t.Errorf("the end: got %v, %t", about, failed)
	}
	if about, failed := f.Ended(); failed || about != nil {
		t.Errorf("without failures: got %v, %t", about, failed)
	}
}
