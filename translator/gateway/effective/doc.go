// Package effective answers questions about effective gateway policies: what is in
// force on a target, where a rule is in force, what was replaced. Lowered tables and
// a query come in, values that have a JSON form go out. It must not compute anything
// that decides: the tables hold the effective policy of every path.
//
// # Design
//
// The answers are the same whether the tables were made in this process or read from
// a bundle, so that a command and a server cannot differ. An answer borrows from the
// tables, which never change.
package effective
