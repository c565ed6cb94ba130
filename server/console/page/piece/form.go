package piece

import (
	h "github.com/writ-policy/writ/server/console/page/html"
)

// Input is a field of a form with its value.
type Input struct {
	Key, Label, Value, Names, Hint, Error string
	Area                                  bool // of several lines
	ReadOnly                              bool
	Half                                  bool
	// Options complete the field without asking.
	Options []string
}

// HTML is the field with its label, its hint and what is wrong with it.
func (in *Input) HTML() h.Node {
	class := "field"
	if in.Half {
		class += " half"
	}
	return Div(class, h.Label(h.For("f-"+in.Key), h.Text(in.Label)), in.control(),
		h.If(in.Hint != "", h.Span(h.Class("hint"), h.ID("h-"+in.Key), h.Text(in.Hint))),
		h.If(in.Error != "", h.Span(h.Class("error"), h.ID("e-"+in.Key), h.Text(in.Error))))
}

func (in *Input) control() h.Node {
	if in.Area {
		return h.Textarea(h.ID("f-"+in.Key), h.Name(in.Key), h.Rows("3"), Verbatim, in.described(), h.Text(in.Value))
	}
	completed := in.Names != "" || len(in.Options) > 0
	// The list is first: a browser that pauses between the two takes a field without its list for
	// one that is not completed, and screen readers announce it so for as long as the view is shown.
	return h.Group{
		h.If(completed, h.DataList(h.ID("l-"+in.Key), Each(in.Options, func(option *string) h.Node { return h.Option(h.Value(*option)) }))),
		h.Input(h.ID("f-"+in.Key), h.Name(in.Key), h.Value(in.Value), h.AutoComplete("off"), Verbatim, h.If(in.ReadOnly, h.ReadOnly()),
			h.If(completed, h.List("l-"+in.Key)), h.If(in.Names != "", h.Data("names", in.Names)), in.described()),
	}
}

// described leads from the field to the text about it.
func (in *Input) described() h.Node {
	switch {
	case in.Error != "":
		return h.Group{h.Aria("invalid", "true"), h.Aria("describedby", "e-"+in.Key)}
	case in.Hint != "":
		return h.Aria("describedby", "h-"+in.Key)
	}
	return nil
}

// Verbatim keeps a browser from marking words of a field.
var Verbatim = h.Attrs("spellcheck", "false")

// Option is one of a list.
type Option struct {
	Value, Word string
	Selected    bool
}

// Select is a field, in a class, with one of some options.
func Select(class, key, label string, options []Option) h.Node {
	return Div(class, h.Label(h.For("f-"+key), h.Text(label)), h.Select(h.ID("f-"+key), h.Name(key), Each(options, func(o *Option) h.Node {
		return h.Option(h.Value(o.Value), h.If(o.Selected, h.Selected()), h.Text(o.Word))
	})))
}

// Check is a field that is on or off.
func Check(key, label string, isOn bool) h.Node {
	return h.Label(h.Class("check"), h.Input(h.Type("checkbox"), h.Name(key), h.Value("1"), h.If(isOn, h.Checked())), h.Text(label))
}

// Kept is a value that a form sends again.
func Kept(key, value string) h.Node {
	return h.Input(h.Type("hidden"), h.Name(key), h.Value(value))
}

// Ask is a form that asks for a view at an address.
func Ask(address, class, label string, children ...h.Node) h.Node {
	return h.Form(h.Class(class), h.Method("get"), h.Action(address), h.Aria("label", label), h.Group(children))
}

// Submit is the button of a form that has one thing to do.
func Submit(name string) h.Node { return h.Button(h.Class("main"), h.Text(name)) }
