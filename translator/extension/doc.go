// Package extension is the family of Rego modules that rules refer to by name. The
// text of a module comes in; the parsed module, or the reasons why it could make
// decisions unrepeatable, goes out. All modules of a directory are compiled together. It must not know who refers to a module.
package extension
