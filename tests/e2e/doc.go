// Package e2e runs the built command against a real API server and its store, which are
// built from this module, so that nothing of them can ever be linked into writ. `make
// e2e-kubernetes` builds and runs them on loopback.
package e2e
