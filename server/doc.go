// Package server wires source, translator, engine, cache and adapters into a process.
// The input is a Config; the server answers requests until its context is cancelled. The
// package contains no policy.
package server
