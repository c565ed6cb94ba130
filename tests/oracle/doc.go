// Package oracle is a naive implementation of the specifications, one folder a
// family. It loops over every binding, policy and rule and applies the meaning of
// the documents sentence by sentence. It shares nothing with the translator, the
// Rego library or the engine, so that all of them can be compared with it.
//
// This package holds what the families share: requests and decisions of the point
// access, truth values and label selectors. Packages access, visibility and gateway
// decide a point each; package deny is the part of access that deny policies play.
// Packages random and yaml serve the generators: each family writes random policy
// directories, together with the World they mean, and random requests. Equal seeds
// give equal worlds.
//
// # Design
//
// A World is plain structs. It is written as documents and never read back from
// them: a second decoder could have the same mistakes as the first.
package oracle
