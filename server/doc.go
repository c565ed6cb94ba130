// Package server wires source, translator, engine, cache and endpoints into a
// process: it takes a Config and answers until it is told to stop. It decides
// nothing itself.
package server
