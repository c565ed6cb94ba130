// Package gate decides how much the heavy tests do. By themselves, as in go test ./..., they
// run in a short form, which is over in minutes. The gate, make test, sets GATE_TESTS=full:
// then they run in full. The variable does not begin with WRIT_, as writ reads those as flags.
//
// Importing the package makes garbage collection rare, unless GOGC is set: tests hold little
// memory and make much garbage.
package gate

import (
	"os"
	"runtime/debug"
	"testing"
)

// collectAt and memoryLimit are GOGC and GOMEMLIMIT of tests for which the environment does
// not set GOGC. Two packages are tested at a time on a machine with two cores.
const (
	collectAt   = 800
	memoryLimit = 1 << 30
)

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
		debug.SetMemoryLimit(memoryLimit)
	}
}

// IsFull reports whether tests run in full.
func IsFull() bool { return os.Getenv("GATE_TESTS") == "full" }

// Only skips a test unless tests run in full.
func Only(t testing.TB) {
	t.Helper()
	if !IsFull() {
		t.Skip("a test of the gate: GATE_TESTS=full runs it")
	}
}

// Count returns how often a test does something: all if tests run in full, else some.
func Count[N ~int | ~int64](all, some N) N {
	if IsFull() {
		return all
	}
	return some
}

// Some returns every nth of all rows, the first one included, and all if tests run in full.
func Some[T any](all []T, n int) []T {
	if IsFull() {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}
