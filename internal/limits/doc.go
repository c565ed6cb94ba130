// Package limits bounds what requests together may hold: budgets that are charged
// before memory is used, and listeners with a bound on their connections. It knows no
// protocol and counts nothing itself: callers decide what a unit is, and record what
// they refuse.
//
// # Design
//
// A bound on concurrent requests is not a bound on memory, because one request may take
// a thousand times the memory of another. A budget is charged by what a request holds,
// so that many small requests and few large ones fit into the same memory. Charging
// never waits: a caller that waits for memory holds memory itself.
package limits
