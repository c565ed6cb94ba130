//go:build !linux

package rego

import "time"

// threadClock returns a clock of the time that passes.
func threadClock() func() time.Duration { return wallClock() }
