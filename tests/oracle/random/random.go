// Package random draws the choices of generators: equal seeds draw equal choices.
package random

import (
	"math/rand/v2"
	"slices"
)

// Source draws everything a generator needs.
type Source struct{ *rand.Rand }

// New returns the source of a seed; each purpose has a stream of its own.
func New(seed, stream uint64) Source { return Source{rand.New(rand.NewPCG(seed, stream))} }

// Once is true once in n times.
func (r Source) Once(n int) bool { return r.IntN(n) == 0 }

// One draws an entry.
func (r Source) One(from []string) string { return from[r.IntN(len(from))] }

// Some draws between low and high entries, repetitions included.
func (r Source) Some(low, high int, from []string) []string {
	var list []string
	for range low + r.IntN(high-low+1) {
		list = append(list, r.One(from))
	}
	return list
}

// Distinct draws between low and high entries, none twice.
func (r Source) Distinct(low, high int, from []string) []string {
	all := slices.Clone(from)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), low+r.IntN(high-low+1))]
}

// Sometimes draws a list once in n times, and none otherwise.
func (r Source) Sometimes(n int, from []string) []string {
	if !r.Once(n) {
		return nil
	}
	return r.Some(1, 2, from)
}

// Number draws a number.
func (r Source) Number(from ...int) int { return from[r.IntN(len(from))] }

// Names that documents and requests of several families share, so that they meet.
var (
	Namespaces = []string{"master", "hammer", "anvil", "team-a"}
	Users      = []string{"alice", "Alice", "bob", "*", "system:node:n1", "kubelet", "system:serviceaccount:hammer:bot", "system:serviceaccount:anvil:bot", "dev"}
	Groups     = []string{"dev", "ops", "system:authenticated", "*", "alice"}
)
