// Package html has the elements and attributes that the web console is made of: those of
// gomponents, without the ones that could bring a script into a page.
//
// # Design
//
// The library escapes texts and values of attributes. What it does not know is that an address
// may be a script, so addresses are checked here; handlers of events and styles are not there,
// and Attrs rejects them. No other package imports the library.
//
// Elements are variables and not functions, because a compiler inlines functions that return a
// closure: each use would have a copy of the closure, which makes the program 2 MB larger.
package html

import (
	"strings"

	"maragu.dev/gomponents"
	"maragu.dev/gomponents/html"
)

// Node is an element, an attribute or a text; nil is nothing.
type Node = gomponents.Node

// Group is nodes in their order, where one is expected.
type Group = gomponents.Group

// Texts and conditions.
var (
	Text = gomponents.Text
	// Textf is Text of a format.
	Textf = gomponents.Textf
	// If is a node if a condition holds, and Iff one that is made only then.
	If, Iff = gomponents.If, gomponents.Iff
	// Picture is SVG markup whose texts are already escaped.
	Picture = gomponents.Raw
)

// Elements.
var (
	El = gomponents.El

	A, Body, Br, Button, Code, DataList, Dd, Details    = html.A, html.Body, html.Br, html.Button, html.Code, html.DataList, html.Dd, html.Details
	Dialog, Div, Dl, Doctype, Dt, FigCaption, Figure    = html.Dialog, html.Div, html.Dl, html.Doctype, html.Dt, html.FigCaption, html.Figure
	Form, H1, H2, Head, Header, HTML, Img, Input, Kbd   = html.Form, html.H1, html.H2, html.Head, html.Header, html.HTML, html.Img, html.Input, html.Kbd
	Label, Li, Link, Main, Meta, Nav, Ol, Option, P     = html.Label, html.Li, html.Link, html.Main, html.Meta, html.Nav, html.Ol, html.Option, html.P
	Pre, Script, Section, Select, Small, Span, Strong   = html.Pre, html.Script, html.Section, html.Select, html.Small, html.Span, html.Strong
	Summary, SVG, Table, TBody, Td, Textarea, TFoot, Th = html.Summary, html.SVG, html.Table, html.TBody, html.Td, html.Textarea, html.TFoot, html.Th
	THead, Time, TitleEl, Tr, Ul, Wbr                   = html.THead, html.Time, html.TitleEl, html.Tr, html.Ul, html.Wbr
)

// Attributes.
var (
	Accept, Alt, Aria, AutoComplete, Charset, Checked, Class = html.Accept, html.Alt, html.Aria, html.AutoComplete, html.Charset, html.Checked, html.Class
	ColSpan, Content, Data, DateTime, Disabled, Download     = html.ColSpan, html.Content, html.Data, html.DateTime, html.Disabled, html.Download
	EncType, For, Height, ID, Lang, List, Method, Multiple   = html.EncType, html.For, html.Height, html.ID, html.Lang, html.List, html.Method, html.Multiple
	Name, ReadOnly, Rel, Required, Role, Rows, Scope         = html.Name, html.ReadOnly, html.Rel, html.Required, html.Role, html.Rows, html.Scope
	Selected, TabIndex, Title, Type, Value, Width            = html.Selected, html.TabIndex, html.Title, html.Type, html.Value, html.Width
)

// attribute is the library's, for the names of Href, Action, Src and Attrs.
var attribute = gomponents.Attr

// Href is the attribute href with an address of this server.
func Href(address string) Node { return attribute("href", own(address)) }

// Action is the attribute action of a form with an address of this server.
func Action(address string) Node { return attribute("action", own(address)) }

// Src is the attribute src with an address of this server.
func Src(address string) Node { return attribute("src", own(address)) }

// Attrs are further attributes: names, each with its value. It panics for a name whose value may
// be an address, a script or a style.
func Attrs(pairs ...string) Group {
	nodes := make(Group, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if isActive(pairs[i]) {
			panic("the attribute " + pairs[i] + " has a function of its own, or none")
		}
		nodes = append(nodes, attribute(pairs[i], pairs[i+1]))
	}
	return nodes
}

func isActive(name string) bool {
	switch name {
	case "style", "src", "srcset", "srcdoc", "action", "formaction":
		return true
	}
	return strings.HasPrefix(name, "on") || strings.HasSuffix(name, "href")
}

// Flag is an attribute without a value.
func Flag(name string) Node { return attribute(name) }

// own returns an address that stays on this server, and "#" for any other: an address of a
// scheme, such as a script, and one that begins with the name of a host. Browsers leave out
// blanks within the beginning and read a backslash as a slash.
func own(address string) string {
	switch {
	case strings.HasPrefix(address, "#"), strings.HasPrefix(address, "?"), address == "/":
		return address
	case len(address) > 1 && address[0] == '/' && address[1] > ' ' && address[1] != '/' && address[1] != '\\':
		return address
	}
	return "#"
}
