package piece

import (
	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
)

// Mark is how an outcome looks: never by its colour alone. A Mark without a word is not shown.
type Mark struct{ Class, Icon, Word string }

// Marks are the marks of outcomes.
var Marks = map[string]Mark{
	console.Allow:   {"allow", "check", "Allowed"},
	console.Deny:    {"deny", "cross", "Denied"},
	console.None:    {"none", "minus", "Not allowed"},
	console.Partial: {"warn", "part", "Partly"},
	console.Failed:  {"warn", "warning", "Error"},
	console.Depends: {"warn", "part", "Depends"},
}

// Badge is the mark of an outcome.
func Badge(outcome string) Mark {
	if m, ok := Marks[outcome]; ok {
		return m
	}
	return Mark{"none", "minus", outcome}
}

// Pill shows the mark.
func (m Mark) Pill() h.Node { return Span("pill "+m.Class, Icon(m.Icon), h.Text(m.Word)) }

// Icon is a picture that says no more than the words beside it.
func Icon(name string) h.Node {
	return h.SVG(h.Class("icon"), viewBox("0 0 24 24"), hidden, h.El("path", h.Attrs("d", icons[name])))
}

var hidden = h.Aria("hidden", "true")

func viewBox(box string) h.Node { return h.Attrs("viewBox", box) }

// Key is a square of the colour of a class, for a list of what colours mean.
func Key(class, radius string) h.Node {
	return h.SVG(viewBox("0 0 10 10"), hidden, h.El("rect", h.Width("10"), h.Height("10"), h.Attrs("rx", radius), h.Class("fill-"+class)))
}

// icons are the paths of the icons, on a square of 24.
var icons = map[string]string{
	"overview": "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
	"ask":      "M9 9a3 3 0 1 1 4 2.8c-.7.3-1 .8-1 1.7M12 17.5v.3M12 3a9 9 0 1 0 9 9",
	"matrix":   "M4 5h16M4 12h16M4 19h16M9 5v14M15 5v14",
	"document": "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
	"tree":     "M5 6h4M9 6v12h4M9 12h4M15 4h4v4M15 10h5v4h-5zM15 16h5v4h-5z",
	"changes":  "M7 4v16M7 4L4 7M7 4l3 3M17 20V4M17 20l-3-3M17 20l3-3",
	"log":      "M5 6h2M10 6h9M5 12h2M10 12h9M5 18h2M10 18h9",
	"theme":    "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5",
	"check":    "M4 12.5l5 5L20 6.5",
	"cross":    "M6 6l12 12M18 6L6 18",
	"minus":    "M5 12h14",
	"warning":  "M12 3.5L2 20.5h20zM12 10v5M12 17.6v.3",
	"clock":    "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7v5l3.5 2",
	"reach":    "M4 6a2 2 0 1 0 4 0 2 2 0 1 0-4 0M16 18a2 2 0 1 0 4 0 2 2 0 1 0-4 0M8 6h5a3 3 0 0 1 3 3v2M13 9l3 3 3-3",
	"proof":    "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM8.5 11.5l2.5 2.5 4.5-5",
	"part":     "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 3v18",
}
