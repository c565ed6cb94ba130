// Package inventory is the kind of documents that list subjects and resources with their
// properties. Documents come in; a table of entities goes out. An entity grants nothing:
// the package must not know what a decision is.
//
// # Design
//
// Entities are facts about what exists, so that searches have candidates and requests may
// leave properties out. The alternative, to list every user that a binding names, would
// find neither the members of groups nor any resource.
package inventory
