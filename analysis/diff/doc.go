// Package diff compares two revisions: Compare returns the classes of requests that they
// decide differently. Statements of two revisions come in; a report goes out. The package
// must not know how documents are read or how an engine evaluates a bundle: the judge of
// each side decides the requests that it constructs.
//
// A running server compares two active revisions p and q, each a decision.Policies, with
//
//	report, err := diff.Compare(ctx,
//		&diff.Side{World: statement.Of(p), Judge: judge.Of(p), Source: "active", Revision: p.Revision()},
//		&diff.Side{World: statement.Of(q), Judge: judge.Of(q), Source: "pending", Revision: q.Revision()},
//		diff.Options{Now: time.Now(), MaxClasses: 1000})
//
// Statements returns nil for a bundle without the tables that statements are made of. The
// report is JSON for programs; its method Text writes it for people.
//
// # Terms
//
//   - A class is a set of requests whose decision changes: those that one statement of
//     each list fits, and none of the exceptions.
//   - A witness is a request of a class.
//
// # Design
//
// The statement of the lowest rank that fits a request decides it. If two revisions
// decide a request differently, the lower of the two deciding statements is in one
// revision only: in both, it would decide both. So each statement in one revision only is
// compared with the statements of the same subjects and place in the other revision;
// all others are not looked at. Its lists are reduced by what those cover, and those
// that still overlap are the exceptions of its class.
//
// A class is kept if a witness is found. The search goes attribute by attribute over the
// values that the statements name, one other value, and one value for each region of
// their patterns. Of the values of an attribute only those that leave the fewest
// exceptions are tried: the conditions on further attributes do not depend on the choice,
// except where the key of a stage says so. The search is therefore complete and short.
//
// The rejected alternative walks the product of the values of all attributes and groups
// requests with equal transitions. It does not depend on the form of rules, but its cost
// grows with both revisions, and its classes are lists of values without the lines that
// are responsible.
//
// Statements that read what no list expresses (pods, CEL, extensions) are opaque. They
// are exceptions of exact classes, and each class that has such exceptions gets a second,
// inexact one that requires them.
//
// A search that would take too long (patterns with many regions, label keys that one
// statement reads together) ends early. Its statement then gives one inexact class of all
// requests that fit the statement: a report may list too much, and never too little.
package diff
