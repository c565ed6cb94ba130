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
//
// Roles and bindings may be a million each, so their form is counted in bytes. For a role with
// three rules, a binding of it and its subject, in the heap of a server that read them from a
// bundle:
//
//	          before   now
//	text         330   200   the keys of three rows, a subject, five places; names are parts of keys
//	roles        224   224   128 for the role, 32 for a rule
//	lists        110     1   of rules; equal ones are one
//	bindings     128   128
//	subjects      40    40   the list of a subject's bindings
//	rows          72    72   key and pointer
//	tree         216    95   of package match: a subject with its grants
//	data         100   103   the JSON, packed
//
// Texts and values of a bundle stand together in larger pieces of memory, three objects of Go
// in place of fourteen. Fewer would save nothing: what a collection takes follows from the bytes
// with pointers. A change makes the piece of a row again, about 128 keys and pointers and the hash
// of their JSON, and no value but its own.
//
// Places are the largest text: 110 bytes. A number of the file with a line has 8 each, but a
// type of its own in each report, and text in each decision. Rows as offsets into one text would
// save the 48 bytes that three headers of strings have in a binding, and a copy for each reader.
package tables
