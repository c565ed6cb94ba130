// Package tables is the data model that all later packages read: the tables that the
// documents of each family are lowered to, and their JSON form in a bundle. The families
// fill the tables; engine, commands and builders read them. It must not know how
// documents are written or how decisions are made.
//
// # Design
//
// The types stand here and not beside the code that fills them, so that a reader of
// the engine does not have to know a compiler phase, and so that a table can be
// decoded from a bundle without any document.
package tables
