package filter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Construct is what a target cannot say exactly.
type Construct struct {
	// Construct is the word for it, Attribute what it reads.
	Construct string `json:"construct"`
	Attribute string `json:"attribute"`
	// Value and Source are the pattern and the line of its rule, empty where no pattern is
	// the reason.
	Value  string `json:"value"`
	Source string `json:"source"`

	message string
}

// Message states what cannot be said, and why.
func (c Construct) Message() string { return c.message }

// UntranslatableError is the error of a filter that a target cannot say exactly.
type UntranslatableError struct {
	// Constructs are all that stand in the way, each once, at least one.
	Constructs []Construct
}

func (e *UntranslatableError) Error() string {
	text := e.Constructs[0].message
	if more := len(e.Constructs) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// The words for constructs.
const (
	unmapped       = "unmapped"
	globQuestion   = "glob-question"
	globMiddle     = "glob-middle"
	globSlash      = "glob-slash"
	globClass      = "glob-class"
	numberGlob     = "number-glob"
	booleanGlob    = "boolean-glob"
	identifierType = "identifier-type"
	listConstruct  = "list"
	computed       = "computed"
	typeConstruct  = "type"
	opaque         = "opaque"
	podConstruct   = "pod"
	operatorWord   = "operator"
	nulConstruct   = "nul"
	tooLarge       = "too-large"
)

// reasons state what is in the way of a construct.
var reasons = map[string]string{
	unmapped:       `"columns" does not state where rows have it`,
	globQuestion:   `"?" stands for one character`,
	globMiddle:     "it has text between two stars, or two texts on one side",
	globSlash:      `it has a "/", at which its wildcards stop`,
	globClass:      "its class is negated or has more than 64 characters, or it has more than 256 alternatives",
	numberGlob:     "it is compared with the text of a number",
	booleanGlob:    "it is compared with the text of a boolean",
	identifierType: "the field identifies items and its column is not text",
	listConstruct:  "it is a list",
	computed:       "the name is the namespace where that is not empty",
	typeConstruct:  "an API server has no such objects with these names and labels",
	opaque:         "an expression or an extension decides, which may read what is open",
	podConstruct:   "the pod of the request decides",
	operatorWord:   "the variant lacks the operator",
	nulConstruct:   "it has the character U+0000",
	tooLarge:       "it is too large for the database",
}

// refusals collects constructs.
type refusals struct {
	target string
	found  []Construct
}

func (r *refusals) add(construct, attribute string, p *pattern) {
	c := Construct{Construct: construct, Attribute: attribute}
	subject := cmp.Or(attribute, "the filter")
	if p != nil {
		c.Value, c.Source = p.text, p.source
		subject = "a rule"
		if p.text != "" {
			subject = fmt.Sprintf("pattern %q", p.text)
		}
		if p.source != "" {
			subject += " (" + p.source + ")"
		}
	}
	c.message = fmt.Sprintf("%s cannot be said in %s: %s", subject, r.target, reasons[construct])
	r.found = append(r.found, c)
}

// err returns the error for what was collected, nil for nothing.
func (r *refusals) err() error {
	if len(r.found) == 0 {
		return nil
	}
	slices.SortFunc(r.found, func(a, b Construct) int {
		return cmp.Or(cmp.Compare(a.Construct, b.Construct), cmp.Compare(a.Attribute, b.Attribute), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Source, b.Source))
	})
	return &UntranslatableError{slices.Compact(r.found)}
}

// reads names what a test reads.
func (l *test) reads() string {
	if l.key != "" {
		return l.attr.String() + "." + l.key
	}
	return l.attr.String()
}

// checkNUL refuses texts of a test with the character U+0000, which databases cannot hold.
func (r *refusals) checkNUL(l *test) {
	for _, text := range append([]string{l.key, l.label, l.attr.key}, l.values...) {
		if strings.ContainsRune(text, 0) {
			r.add(nulConstruct, l.reads(), &pattern{text: text})
		}
	}
	if l.glob != nil && strings.ContainsRune(l.glob.text, 0) {
		r.add(nulConstruct, l.reads(), l.glob)
	}
}

// check refuses what no target can say: what is not mapped, and patterns and fields of
// types that cannot be compared.
func (r *refusals) check(l *test) {
	attribute := l.reads()
	switch {
	case l.kind == isOpaque:
		r.add(l.glob.problem, "", l.glob)
		return
	case l.column == nil:
		r.add(unmapped, attribute, l.glob)
		return
	case l.attr.identifier && (l.column.kind != textType || l.column.isJSON):
		r.add(identifierType, attribute, nil)
	case l.kind == isLike && l.column.kind == numberType:
		r.add(numberGlob, attribute, l.glob)
	}
	for _, n := range l.numbers {
		if n.value == nil {
			r.add(tooLarge, attribute, &pattern{text: n.text})
		}
	}
	if l.glob != nil && l.glob.problem != "" {
		r.add(l.glob.problem, attribute, l.glob)
	}
}

// refusalOf returns the error for one construct.
func refusalOf(target, construct, attribute string) error {
	r := refusals{target: target}
	r.add(construct, attribute, nil)
	return r.err()
}
