// Command authzbench asks systems that decide who may do what the same questions about the
// same facts, and measures them: decisions, who can do something, where one may do something,
// how long a saved change takes to count, and what hostile inputs are answered. It
// reads /proc, so it needs Linux.
//
// The folder workloads has the questions, the world and the hostile inputs as data. A world is a
// list of plain facts, roles and bindings; a system is an adapter of at most 100 lines
// of code, which writes the facts in the system's own language; the folder models has what adapters
// fill in. Each answer is compared with a naive reading of the facts, the reference.
//
// To add a system, implement adapter in a file of its own, add it to the list systems and to
// models/systems.yaml. What needs a program of another module is built from a module in the folder
// peers.
//
// # Design
//
// Programs that have a server are measured over HTTP on the loopback interface, as processes of
// their own, by the protocol that all of them offer; libraries are called in process. So rows of
// one way of asking can be compared, and those of the other have a floor of their own. Each
// program is built by a module of its own, with the versions that its own go.mod names: in one
// module, each would get the newest version that any of them asks for. The harness is a module
// too, so that none of this is linked into writ. Systems are configured as their documentation
// advises; models/systems.yaml states by which page.
package main
