package piece

import (
	h "github.com/writ-policy/writ/server/console/page/html"
)

// Each is what a function shows of each element of a list.
func Each[T any](list []T, show func(*T) h.Node) h.Group {
	nodes := make(h.Group, len(list))
	for i := range list {
		nodes[i] = show(&list[i])
	}
	return nodes
}

// Join is Each with a text between the elements.
func Join[T any](separator string, list []T, show func(*T) h.Node) h.Group {
	nodes := make(h.Group, 0, 2*len(list))
	for i := range list {
		if i > 0 {
			nodes = append(nodes, h.Text(separator))
		}
		nodes = append(nodes, show(&list[i]))
	}
	return nodes
}

// Span is a part of a text with a class.
func Span(class string, children ...h.Node) h.Node {
	return h.Span(h.Class(class), h.Group(children))
}

// Note is a text in a class of notes, such as "small muted".
func Note(class, text string) h.Node { return h.Span(h.Class(class), h.Text(text)) }

// Div is a block with a class.
func Div(class string, children ...h.Node) h.Node { return h.Div(h.Class(class), h.Group(children)) }

// P is a paragraph with a class.
func P(class string, children ...h.Node) h.Node { return h.P(h.Class(class), h.Group(children)) }

// Td is a cell of a table with a class.
func Td(class string, children ...h.Node) h.Node { return h.Td(h.Class(class), h.Group(children)) }

// RowHead is the cell that names a row.
func RowHead(children ...h.Node) h.Node { return h.Th(h.Scope("row"), h.Group(children)) }

// Head is the row with the names of columns.
func Head(columns ...h.Node) h.Node { return h.THead(h.Tr(h.Group(columns))) }

// Columns are the names of columns.
func Columns(names ...string) h.Group {
	return Each(names, func(name *string) h.Node { return column(h.Text(*name)) })
}

// column is the name of a column, with attributes.
func column(children ...h.Node) h.Node { return h.Th(h.Scope("col"), h.Group(children)) }

// NumberColumn is the name of a column of numbers.
func NumberColumn(name string) h.Node { return column(h.Class("num"), h.Text(name)) }

// HiddenColumn is a name that is read and not seen.
func HiddenColumn(name string) h.Node { return column(Note("hidden", name)) }

// Card is a part of a view with a name that is read and not seen.
func Card(label string, children ...h.Node) h.Node {
	return h.Section(h.Class("card"), h.Aria("label", label), h.Group(children))
}

// Titled is a part of a view that its heading names.
func Titled(id string, heading h.Node, children ...h.Node) h.Node {
	return h.Section(h.Class("card"), LabelledBy(id), H2(id, heading), h.Group(children))
}

// LabelledBy names an element by a heading.
func LabelledBy(id string) h.Node { return h.Aria("labelledby", id) }

// H2 is a heading with an identifier.
func H2(id string, children ...h.Node) h.Node { return h.H2(h.ID(id), h.Group(children)) }

// Heading is a title with a note beside it.
func Heading(title, note string) h.Node {
	return h.Group{h.Text(title + " "), Note("small muted", note)}
}

// Region are the attributes of a part that scrolls by itself, and has the keyboard for it.
func Region(class, label string) h.Node {
	return h.Group{h.Class(class), h.TabIndex("0"), h.Role("region"), h.Aria("label", label)}
}

// A is a link.
func A(address string, children ...h.Node) h.Node { return h.A(h.Href(address), h.Group(children)) }

// Button is a link that looks like a button.
func Button(address, name string) h.Node {
	return h.A(h.Class("button"), h.Href(address), h.Text(name))
}

// Tab is a link to a view or to a part of it.
type Tab struct {
	Name, Href, Icon, Key string
	Current               bool
}

// Link is the link without more.
func (t *Tab) Link() h.Node { return A(t.Href, h.Text(t.Name)) }

// Current marks the link to what is shown.
func Current(isCurrent bool) h.Node { return h.If(isCurrent, h.Aria("current", "page")) }

// Tabs are the tabs of a view.
func Tabs(label string, tabs []Tab) h.Node {
	return h.Ul(h.Class("tabs"), h.Aria("label", label), Each(tabs, func(t *Tab) h.Node {
		return h.Li(h.A(h.Href(t.Href), Current(t.Current), h.Text(t.Name)))
	}))
}

// Pages are the links to other pages of a list; an empty address is left out.
func Pages(first, previous, next string) h.Node {
	return h.Nav(h.Aria("label", "Pages"), h.If(first != "", Button(first, "First")),
		h.If(previous != "", Button(previous, "Previous")), h.If(next != "", Button(next, "Next")))
}

// Copied is a text to take along, under its name, with a button that copies it.
func Copied(id, name, text string) h.Node {
	return h.Pre(h.Class("copy"), h.ID(id), h.TabIndex("0"), h.Role("region"), h.Aria("label", name), h.Text(text))
}

// CopyButton copies the text of an element.
func CopyButton(id, name string) h.Node {
	return h.Button(h.Type("button"), h.Data("copy", id), h.Text("Copy "+name))
}
