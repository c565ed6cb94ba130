// Package gate decides how much the heavy tests do, by one number: EFFORT is 1 by default, as
// in go test ./..., 2 in make test and 1000 in make soak. Random worlds and requests begin at
// SEED. Neither variable begins with WRIT_, as writ reads those as flags.
//
// Importing the package makes garbage collection rare, unless GOGC is set: tests hold little
// memory and make much garbage.
package gate

import (
	"flag"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
)

// full is the effort of make test.
const full = 2

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

// Effort is EFFORT, 1 if it is not set. It panics if EFFORT is not a positive number.
func Effort() int { return int(number("EFFORT")) }

// Seed is SEED, where random worlds and requests begin, 1 if it is not set. It panics if SEED
// is not a positive number.
func Seed() uint64 { return number("SEED") }

func number(name string) uint64 {
	if !flag.Parsed() {
		panic(name + " is read before the tests run, which the test cache does not see: read it in a test, not in a variable of the package")
	}
	text := os.Getenv(name)
	if text == "" {
		return 1
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		panic(name + "=" + text + " is not a positive number")
	}
	return n
}

// Times returns how often a test does something that it does so often with an effort of 1.
func Times(once int) int { return once * Effort() }

// Worlds returns n, or a third of it under the race detector, which makes a world that one
// goroutine compiles and asks ten times as long and finds nothing there.
func Worlds(n int) int {
	if isRaced {
		return (n + 2) / 3
	}
	return n
}

// IsFull reports whether tests make the effort of make test, or more.
func IsFull() bool { return Effort() >= full }

// Only skips a test unless tests make the effort of make test.
func Only(t testing.TB) {
	t.Helper()
	if !IsFull() {
		t.Skip("a test of the gate: EFFORT=2 runs it")
	}
}

// Some returns every nth of all rows, the first one included, and all with the effort of make
// test.
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
