package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResults(t *testing.T) {
	r, dir := newResults(), t.TempDir()
	r.printf("  %-10s %5.1f us\n", "cached", 1.5)
	for n, us := range map[int]float64{100: 1, 10_000: 0.5, 1_000_000: 2000} {
		r.point("CPU of a decision", "us", "cached", n, us)
	}
	r.reached(98, goalHits)
	r.reached(99.5, goalHits)
	r.reached(0.1, goalBinding, 10_000)
	r.reached(0.02, goalBinding, 100_000)
	r.printGoals(true)
	if err := r.write(dir, "RESULTS.md", "go run ./tests/bench -n 100"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"RESULTS.md": {"    go run ./tests/bench -n 100\n", "![CPU of a decision](cpu-of-a-decision.svg)", "```text\n  cached       1.5 us\n",
			"98 %    goal        99  missed", "0.1 s    goal      0.01  missed", "0.02 s    goal      0.03  met", "goal      1536  not measured"},
		"cpu-of-a-decision.svg": {"CPU of a decision (us)", ">0.1</text>", ">10k</text>", ">1M</text>", ">cached</text>"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s: got\n%s\nwant it to have %q", file, text, part)
			}
		}
		if strings.Contains(string(text), "%!") {
			t.Errorf("%s has a format error:\n%s", file, text)
		}
	}
}
