package assertion

import (
	_ "embed"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

//go:embed fields.txt
var fieldTexts string

// Kind is the kind of assertions.
const Kind = "Assertions"

// Kinds are the kinds of the family.
var Kinds = syntax.KindsOf(syntax.VersionWrit, decodeDocument, Kind).WithTexts(fieldTexts)

const (
	maxAssertions = 10_000
	maxClasses    = 64
	maxEntries    = 1000
	maxPattern    = 256
	maxName       = 253
)

var (
	forms   = []string{Never, Always, Implies, Disjoint, Equals, Within, Independent, Covers}
	points  = []string{Access, Visibility, Gateway}
	reasons = []string{"pod", "cel", "extension", "pattern", "items", "custom-type", "gateway", "vacuous"}
)

// words are those of never and always, by point.
var words = map[string][]string{
	Access:     {Allowed, Denied, decided},
	Visibility: {Allowed, Denied, Shown},
	Gateway:    {Allowed, Denied, decided, Limited},
}

func decodeDocument(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	h, c := d.Begin(n, kind, family, syntax.VersionWrit)
	doc := &Document{Header: h}
	doc.Auxiliary, doc.TestOnly = true, true
	identified := d.MetadataInto(c, &doc.Header)
	doc.Namespace = "" // names are unique over the directory
	if spec := c.RequiredMapping("spec", ""); spec != nil {
		decodeSpec(d, spec, doc)
	}
	c.Done()
	if identified {
		doc.text = d.Encoded(n)
		d.Out = append(d.Out, doc)
	}
}

// one decodes one assertion.
type one struct {
	*syntax.Decoder
	c     *syntax.Cursor
	a     *Assertion
	inNot bool
}

func decodeSpec(d *syntax.Decoder, c *syntax.Cursor, doc *Document) {
	point := Access
	if n := c.Text("point"); n != nil && d.CheckOneOf(n, "point", points...) {
		point = n.Value
	}
	apart := decodeApart(d, c)
	items := c.RequiredList("assertions")
	if len(items) > maxAssertions {
		c.Fail(c.Value("assertions"), diag.TooLarge, "", "assertions has %d entries: must have at most %d", len(items), maxAssertions)
		items = nil
	}
	first := make(map[string]*syntax.Node)
	for _, n := range items {
		inner := d.Cursor(n, "an assertion", false)
		if inner == nil {
			continue
		}
		o := one{Decoder: d, c: inner, a: &Assertion{Document: doc.Name, Point: point, Apart: apart}}
		o.decode(first)
		doc.Assertions = append(doc.Assertions, *o.a)
	}
	c.Done()
}

func decodeApart(d *syntax.Decoder, c *syntax.Cursor) [][]string {
	lists, at := c.List("apart")
	if at != nil && len(lists) == 0 {
		c.Fail(c.Field("apart").Key, diag.Missing, "", "apart of spec is empty")
	}
	if at != nil {
		checkLists(d, "apart", at)
	}
	var out [][]string
	for _, n := range lists {
		if n.Type != syntax.List {
			c.Fail(n, diag.WrongType, "", "apart must be a list of lists of principals, not %s", syntax.Describe(n))
			continue
		}
		if len(n.Items) == 0 {
			c.Fail(c.Field("apart").Key, diag.Missing, "", "a list of apart is empty")
		}
		out = append(out, principals(d, n.Items))
	}
	return out
}

// checkLists reports lists with too many entries in the value of a key, and below it. Lists of
// classes have a bound of their own.
func checkLists(d *syntax.Decoder, key string, n *syntax.Node) {
	if n.Type == syntax.List && len(n.Items) > maxEntries && key != "of" && key != "unless" && key != Disjoint {
		d.Fail(n, diag.TooLarge, "", "%s has %d entries: must have at most %d", key, len(n.Items), maxEntries)
	}
	for _, f := range n.Fields {
		checkLists(d, f.Key.Value, f.Value)
	}
	for _, item := range n.Items {
		checkLists(d, key, item)
	}
}

// principals reads principals and leaves out those that are reported.
func principals(d *syntax.Decoder, nodes []*syntax.Node) []string {
	var out []string
	for _, n := range nodes {
		if n.Type != syntax.String {
			d.Fail(n, diag.WrongType, syntax.QuoteHint(n), "a principal must be a string, not %s", syntax.Describe(n))
		} else if checkPrincipal(d, n) {
			out = append(out, n.Value)
		}
	}
	return out
}

func checkPrincipal(d *syntax.Decoder, n *syntax.Node) bool {
	kind, name, _ := strings.Cut(n.Value, ":")
	if (kind != "user" && kind != "group") || name == "" {
		d.Fail(n, diag.BadValue, "write user:NAME or group:NAME", "principal %s has no kind or no name", syntax.Quote(n.Value))
		return false
	}
	return checkPlain(d, n, "a principal")
}

// checkPlain reports a wildcard in a text that is compared literally.
func checkPlain(d *syntax.Decoder, n *syntax.Node, name string) bool {
	if strings.ContainsAny(n.Value, "*?[") {
		d.Fail(n, diag.BadPattern, "write {like: "+syntax.Quote(n.Value)+"}", "%s %s is compared as a whole: nothing in it is a wildcard", name, syntax.Quote(n.Value))
		return false
	}
	return true
}

func (o *one) decode(first map[string]*syntax.Node) {
	c, a := o.c, o.a
	if len(c.Node.Fields) == 0 {
		c.Missing("name", "")
		return
	}
	a.At = o.At(c.Node.Fields[0].Key)
	checkLists(o.Decoder, "", c.Node)
	o.name(first)
	if n := c.Text("point"); n != nil && o.CheckOneOf(n, "point", points...) {
		a.Point = n.Value
	}
	o.form()
	o.path()
	a.Of, a.Unless = o.classes(c, "of", a.Form == Implies), o.classes(c, "unless", a.Form == Implies)
	if a.Of == nil {
		a.Of = []*Class{{}}
	}
	o.time()
	a.Alone, _ = c.Boolean("alone", false)
	allow, at := c.Texts("allow")
	if at != nil && len(at.Items) == 0 {
		c.Fail(c.Field("allow").Key, diag.Missing, "", "allow is empty")
	}
	for _, n := range allow {
		if o.CheckOneOf(n, "allow", reasons...) {
			a.Allow = append(a.Allow, n.Value)
		}
	}
	o.exceptions()
	if a.Path != nil {
		o.subjectsOnly("unless", a.Unless)
		for _, e := range a.Exceptions {
			o.subjectsOnly("exceptions", e.Of)
		}
	}
	c.Done()
}

func (o *one) name(first map[string]*syntax.Node) {
	n := o.c.Required("name")
	if n == nil {
		return
	}
	o.a.Name, o.a.NameAt = n.Value, o.Text(n)
	switch before := first[n.Value]; {
	case before != nil:
		o.c.Fail(n, diag.Duplicate, "give it a name of its own", "assertion %s is stated twice; the first is at %s", syntax.Quote(n.Value), o.At(before).Source())
	case utf8.RuneCountInString(n.Value) > maxName:
		o.c.Fail(n, diag.BadValue, "", "name has %d characters: must have at most %d", utf8.RuneCountInString(n.Value), maxName)
	case strings.ContainsAny(n.Value, "\n\r"):
		o.c.Fail(n, diag.BadValue, "", "name must be one line")
	default:
		first[n.Value] = n
	}
}

// form reads the key that says what is asserted.
func (o *one) form() {
	for _, f := range o.c.Node.Fields {
		if !slices.Contains(forms, f.Key.Value) {
			continue
		}
		if o.a.Form != "" {
			o.c.Fail(f.Key, diag.AssertionForm, "write an assertion for each", "an assertion has one form, and %s is beside %s", f.Key.Value, o.a.Form)
			continue
		}
		o.a.Form = f.Key.Value
	}
	if o.a.Form == "" {
		o.c.Fail(o.c.Node.Fields[0].Key, diag.AssertionForm, "write one of "+strings.Join(forms, ", "), "the assertion does not state what holds")
	}
	for _, form := range forms { // each is a field of the kind
		n := o.c.Value(form)
		if n == nil && o.c.Field(form) != nil {
			o.c.Missing(form, "")
		}
		if n == nil {
			continue
		}
		switch form {
		case Never, Always:
			o.word(n, form)
		case Implies:
			o.implies(n)
		case Disjoint:
			o.disjoint(n)
		case Equals, Within:
			o.list(n, form)
		case Independent:
			o.independent(n)
		case Covers:
			if o.isText(n, form) && o.at(n, Access) && o.CheckOneOf(n, form, "namespace") {
				o.a.Word = n.Value
			}
		}
	}
	same, at := o.c.Texts("same")
	switch {
	case at == nil:
	case o.a.Form != Disjoint:
		o.c.Fail(o.c.Field("same").Key, diag.UnknownField, "it belongs to disjoint", "an assertion of the form %s has no field \"same\"", o.a.Form)
	case len(at.Items) == 0:
		o.c.Fail(o.c.Field("same").Key, diag.Missing, "", "same is empty")
	}
	for _, n := range same {
		if o.isKnown(n, "same", sameKeys[o.a.Point]) {
			o.a.Same = append(o.a.Same, n.Value)
		}
	}
}

// sameKeys are the keys that two requests may have in common.
var sameKeys = map[string][]string{
	Access:     tables.ScopeKeys("verb", "apiGroup", "resource", "subresource", "namespace", "name", "path"),
	Visibility: {"action", "cluster", "type"},
}

func (o *one) isText(n *syntax.Node, name string) bool {
	if n.Type != syntax.String {
		o.Fail(n, diag.WrongType, "", "%s must be a string, not %s", name, syntax.Describe(n))
	}
	return n.Type == syntax.String
}

// at reports a form that the point does not have.
func (o *one) at(n *syntax.Node, has ...string) bool {
	if slices.Contains(has, o.a.Point) {
		return true
	}
	o.Fail(n, diag.BadValue, "", "%s cannot be asserted at the point %s", o.a.Form, o.a.Point)
	return false
}

func (o *one) word(n *syntax.Node, form string) {
	if !o.isText(n, form) {
		return
	}
	known := words[o.a.Point]
	if form == Never {
		known = slices.DeleteFunc(slices.Clone(known), func(w string) bool { return w == Limited })
		if o.a.Point == Access {
			known = append(known, reaches)
		}
	}
	if o.isKnown(n, form, known) {
		o.a.Word = n.Value
	}
}

// isKnown reports a value that is not one of those at the point of the assertion.
func (o *one) isKnown(n *syntax.Node, name string, known []string) bool {
	o.Examples(n, known)
	if slices.Contains(known, n.Value) {
		return true
	}
	o.Fail(n, diag.BadValue, "write "+strings.Join(known, " or "), "%s %s is not known at the point %s", name, syntax.Quote(n.Value), o.a.Point)
	return false
}

func (o *one) items(n *syntax.Node, name string) []*syntax.Node {
	switch {
	case n.Type != syntax.List:
		o.Fail(n, diag.WrongType, "", "%s must be a list, not %s", name, syntax.Describe(n))
	case len(n.Items) == 0:
		o.c.Fail(o.c.Field(name).Key, diag.Missing, "", "%s is empty", name)
	default:
		return n.Items
	}
	return nil
}

func (o *one) implies(n *syntax.Node) {
	items := o.items(n, Implies)
	if len(items) > 0 && len(items) != 2 {
		o.Fail(n, diag.BadValue, "write [A, B]", "implies names two subjects, not %d", len(items))
	}
	if !o.at(n, Access, Visibility) {
		return
	}
	for i, item := range items[:min(len(items), 2)] {
		list := []*syntax.Node{item}
		if item.Type == syntax.List {
			list = item.Items
		}
		if len(list) == 0 {
			o.c.Fail(o.c.Field(Implies).Key, diag.Missing, "", "a subject of implies is empty")
		}
		users := 0
		for _, p := range principals(o.Decoder, list) {
			if strings.HasPrefix(p, tables.UserPrefix) {
				users++
			}
			o.a.Subjects[i] = append(o.a.Subjects[i], p)
		}
		if users > 1 {
			o.Fail(item, diag.BadValue, "", "a subject of implies is one user at most, not %d", users)
		}
	}
}

func (o *one) disjoint(n *syntax.Node) {
	items := o.items(n, Disjoint)
	switch {
	case len(items) > maxClasses:
		o.Fail(n, diag.TooLarge, "", "disjoint has %d classes: must have two", len(items))
	case len(items) > 0 && len(items) != 2:
		o.Fail(n, diag.BadValue, "write [CLASS, CLASS]", "disjoint names two classes, not %d", len(items))
	}
	if !o.at(n, Access, Visibility) {
		return
	}
	for i, item := range items[:min(len(items), 2)] {
		o.a.Classes[i] = o.class(item, Disjoint, false)
	}
}

// independent reads a pattern of files.
func (o *one) independent(n *syntax.Node) {
	if c := o.Cursor(n, Independent, false); c != nil {
		if path := c.Required("documents"); path != nil {
			o.a.Documents = o.Text(path)
			if o.a.Form == Independent {
				o.filePattern(path)
			}
		}
		c.Done()
	}
}

// filePattern checks a pattern of files, whose parts are patterns or "**".
func (o *one) filePattern(n *syntax.Node) {
	for part := range strings.SplitSeq(n.Value, "/") {
		if part == "**" {
			continue
		}
		if _, problem, hint := tables.ParsePathGlob(part); problem != "" {
			o.Fail(n, diag.BadPattern, hint, "pattern %s %s", syntax.Quote(n.Value), problem)
			return
		}
	}
}

func (o *one) list(n *syntax.Node, form string) {
	if n.Type == syntax.Mapping {
		o.independent(n)
		return
	}
	if !o.at(n, Access) {
		return
	}
	for _, item := range o.items(n, form) {
		c := o.Cursor(item, "an entry", false)
		if c == nil {
			continue
		}
		var e Entry
		verbs, _ := c.RequiredTexts("verbs")
		e.Verbs = syntax.Values(verbs)
		e.Groups, e.Resources, e.Names = entryTexts(c, "apiGroups"), entryTexts(c, "resources"), entryTexts(c, "resourceNames")
		e.Paths, e.Namespaces = entryTexts(c, "nonResourceURLs"), entryTexts(c, "namespaces")
		switch {
		case len(e.Paths) > 0 && len(e.Groups)+len(e.Resources)+len(e.Names)+len(e.Namespaces) > 0:
			c.Fail(c.Value("nonResourceURLs"), diag.BadValue, "write two entries", "an entry is about resources or about paths")
		case len(e.Paths) == 0 && len(e.Resources) == 0:
			c.Missing("resources", "")
		case len(e.Paths) == 0 && len(e.Groups) == 0:
			c.Missing("apiGroups", "")
		}
		c.Done()
		o.a.Entries = append(o.a.Entries, e)
	}
}

// entryTexts reads a list of an entry, which is not empty if it is written.
func entryTexts(c *syntax.Cursor, name string) []string {
	texts, at := c.Texts(name)
	if at != nil && len(at.Items) == 0 {
		c.Fail(c.Field(name).Key, diag.Missing, "", "%s of an entry is empty", name)
	}
	return syntax.Values(texts)
}

func (o *one) time() {
	n := o.c.Value("at")
	switch {
	case n == nil:
	case n.Type == syntax.Mapping:
		c := o.c.Mapping("at")
		o.a.Time = Time{Interval: true, From: c.Instant("from"), To: c.Instant("to")}
		if from, to := o.a.Time.From, o.a.Time.To; from != nil && to != nil && from.After(*to) {
			c.Fail(c.Value("from"), diag.BadValue, "", "from is later than to")
		}
		if len(n.Fields) == 0 {
			o.c.Missing("at", "write now, any or {from: TIME, to: TIME}")
		}
		c.Done()
	case o.isText(n, "at") && o.CheckOneOf(n, "at", "now", "any"):
		o.a.Time.Any = n.Value == "any"
	}
}

func (o *one) exceptions() {
	items, at := o.c.List("exceptions")
	switch {
	case at == nil:
		return
	case len(items) == 0:
		o.c.Fail(o.c.Field("exceptions").Key, diag.Missing, "", "exceptions is empty")
	case o.a.Form == Disjoint || o.a.Form == Covers || o.a.Word == Limited:
		o.Fail(at, diag.BadValue, "", "an assertion of the form %s has no exceptions", o.a.Form)
	}
	for _, n := range items {
		c := o.Cursor(n, "an exception", false)
		if c == nil {
			continue
		}
		var e Exception
		if c.Value("of") == nil {
			c.Missing("of", "")
		}
		e.Of = o.classes(c, "of", o.a.Form == Implies)
		if c.Required("until") != nil {
			if at := c.Instant("until"); at != nil {
				e.Until = *at
			}
		}
		e.Reason = c.Required("reason").Text()
		c.Done()
		o.a.Exceptions = append(o.a.Exceptions, e)
	}
}
