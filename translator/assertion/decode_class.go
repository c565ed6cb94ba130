package assertion

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// keys are the keys of classes whose values are texts, by point.
var keys = map[string][]string{
	Access:     tables.ScopeKeys("verb", "resource", "apiGroup", "subresource", "namespace", "name", "path"),
	Visibility: {"action", "cluster", "type"},
	Gateway:    {"gateway", "route", "host", "method", "path", "identity"},
}

// labelKeys are the keys of classes whose values are labels, by point.
var labelKeys = map[string][]string{
	Access:     {"labels", "namespaceLabels"},
	Visibility: {"clusterLabels"},
	Gateway:    {"headers"},
}

// oneOf are the only values of some keys.
var oneOf = map[string][]string{"action": {"view", "viewMetrics"}, "identity": {"absent", "present"}}

// mayBeStar are the keys whose value may be the text "*", which reviews ask about.
var mayBeStar = []string{"verb", "apiGroup", "resource", "name"}

// classes reads a class or a list of them, nil if the key is absent.
func (o *one) classes(c *syntax.Cursor, name string, implies bool) []*Class {
	n := c.Value(name)
	if n == nil {
		return nil
	}
	items := []*syntax.Node{n}
	if n.Type == syntax.List {
		items = n.Items
		switch {
		case len(items) == 0:
			c.Fail(c.Field(name).Key, diag.Missing, "", "%s is empty", name)
		case len(items) > maxClasses:
			c.Fail(n, diag.TooLarge, "", "%s has %d classes: must have at most %d", name, len(items), maxClasses)
			items = nil
		}
	}
	out := []*Class{}
	for _, item := range items {
		if class := o.class(item, name, implies); class != nil {
			out = append(out, class)
		}
	}
	return out
}

func (o *one) class(n *syntax.Node, name string, implies bool) *Class {
	c := o.Cursor(n, name, false)
	if c == nil {
		return nil
	}
	k := &Class{Texts: make(map[string]*Value), Labels: make(map[string]*Labels)}
	if h := o.key(c, "holds", Access, Visibility); h != nil {
		if k.Holds = o.holds(h, c.Field("holds").Key); implies {
			o.Fail(h, diag.BadValue, "implies names the subjects", "a class of implies has no holds")
		}
	}
	for _, key := range allKeys(keys) {
		if v := o.key(c, key, pointsOf(keys, key)...); v != nil {
			k.Texts[key] = o.value(v, c.Field(key).Key, key, nil)
		}
	}
	for _, key := range allKeys(labelKeys) {
		if v := o.key(c, key, pointsOf(labelKeys, key)...); v != nil {
			k.Labels[key] = o.labels(v, key)
		}
	}
	if v := o.key(c, "item", Visibility); v != nil {
		k.Item = o.item(v)
	}
	c.Done()
	o.together(c, k)
	return k
}

// allKeys returns the keys of all points in a fixed order.
func allKeys(by map[string][]string) []string {
	return tables.Once(slices.Concat(by[Access], by[Visibility], by[Gateway]))
}

func pointsOf(by map[string][]string, key string) []string {
	return slices.DeleteFunc(slices.Clone(points), func(p string) bool { return !slices.Contains(by[p], key) })
}

// key returns the value of a key that classes at some points have, nil if it is absent.
func (o *one) key(c *syntax.Cursor, name string, at ...string) *syntax.Node {
	n := c.Value(name)
	f := c.Field(name)
	switch {
	case f == nil:
		return nil
	case !slices.Contains(at, o.a.Point):
		o.Fail(f.Key, diag.UnknownField, "it is a key of the point "+strings.Join(at, " and "), "a class at the point %s has no key %s", o.a.Point, syntax.Quote(name))
	case n == nil:
		c.Missing(name, "")
	}
	return n
}

// together reports keys of a class that exclude each other.
func (o *one) together(c *syntax.Cursor, k *Class) {
	if o.a.Point != Access {
		return
	}
	var path, other *syntax.Node
	for _, f := range c.Node.Fields {
		switch f.Key.Value {
		case "path":
			path = f.Value
		case "resource", "apiGroup", "subresource", "namespace", "name":
			other = f.Value
		default:
			continue
		}
		if path != nil && other != nil {
			o.Fail(f.Value, diag.BadValue, "write two classes", "a request is about a resource or about a path")
			return
		}
	}
	for _, word := range k.Text("resource").Words() {
		head, _, slash := strings.Cut(word, "/")
		if n := c.Value("apiGroup"); n != nil && strings.Contains(head, ".") {
			o.Fail(n, diag.BadValue, "", "resource %s has an API group already", syntax.Quote(word))
			return
		}
		if n := c.Value("subresource"); n != nil && slash {
			o.Fail(n, diag.BadValue, "", "resource %s has a subresource already", syntax.Quote(word))
			return
		}
	}
}

// value reads a value of a key, which is at the node at. The value of a label may be
// {exists: true}, which sets exists.
func (o *one) value(n, at *syntax.Node, key string, exists **bool) *Value {
	v := new(Value)
	items := []*syntax.Node{n}
	if n.Type == syntax.List {
		if items = n.Items; len(items) == 0 {
			o.Fail(at, diag.Missing, "", "%s is empty", key)
		}
	}
	for _, item := range items {
		switch item.Type {
		case syntax.String:
			if o.text(item, key) {
				v.Texts = append(v.Texts, item.Value)
			}
		case syntax.Mapping:
			o.pattern(item, key, func(inner *syntax.Cursor) {
				o.patterns(inner, &v.Globs, &v.Prefixes)
				o.negated(inner, func(not, at *syntax.Node) { v.Not = append(v.Not, o.value(not, at, key, nil)) })
				if exists == nil {
					return
				}
				if is, given := inner.Boolean("exists", false); given != nil {
					*exists = &is
				}
			})
		default:
			o.Fail(item, diag.WrongType, syntax.QuoteHint(item), "%s must be a string, a list or a mapping, not %s", key, syntax.Describe(item))
		}
	}
	return v
}

// text checks a literal of a key.
func (o *one) text(n *syntax.Node, key string) bool {
	if o.isLong(n, key) {
		return false
	}
	plain := n.Value
	switch {
	case oneOf[key] != nil:
		return o.CheckOneOf(n, key, oneOf[key]...)
	case plain == "*" && slices.Contains(mayBeStar, key):
		return true
	case key == "resource":
		plain = strings.TrimSuffix(plain, "/*")
	}
	if key == "resource" && (plain == "" || plain[0] == '/' || plain[0] == '.') {
		o.Fail(n, diag.BadValue, "write RESOURCE, RESOURCE.GROUP or RESOURCE/SUBRESOURCE", "resource %s has no name", syntax.Quote(n.Value))
		return false
	}
	if strings.ContainsAny(plain, "*?[") {
		return checkPlain(o.Decoder, n, key)
	}
	return true
}

// isLong reports a text with too many characters.
func (o *one) isLong(n *syntax.Node, key string) bool {
	length := utf8.RuneCountInString(n.Value)
	if length > maxPattern {
		o.Fail(n, diag.TooLarge, "", "%s has %d characters: must have at most %d", key, length, maxPattern)
	}
	return length > maxPattern
}

// pattern reads a mapping with exactly one kind of pattern.
func (o *one) pattern(n *syntax.Node, key string, read func(*syntax.Cursor)) {
	c := o.Cursor(n, key, false)
	read(c)
	c.Done()
	if len(n.Fields) != 1 {
		o.Fail(n, diag.BadValue, "write a list of several", "%s must have exactly one key, not %d", key, len(n.Fields))
	}
}

// negated reads the value of the key not. Schemas do not describe a value that is negated
// twice.
func (o *one) negated(c *syntax.Cursor, read func(n, at *syntax.Node)) {
	if o.Observer != nil && o.inNot {
		return
	}
	before := o.inNot
	o.inNot = true
	if n := c.Value("not"); n != nil {
		read(n, c.Field("not").Key)
	}
	o.inNot = before
}

// patterns reads the keys like and prefix.
func (o *one) patterns(c *syntax.Cursor, globs *[]tables.PathGlob, prefixes *[]string) {
	for _, n := range o.texts(c, "like") {
		glob, problem, hint := tables.ParsePathGlob(n.Value)
		if problem != "" {
			o.Fail(n, diag.BadPattern, hint, "pattern %s %s", syntax.Quote(n.Value), problem)
			continue
		}
		*globs = append(*globs, glob)
	}
	*prefixes = append(*prefixes, syntax.Values(o.texts(c, "prefix"))...)
}

// texts reads a text or a list of texts.
func (o *one) texts(c *syntax.Cursor, name string) []*syntax.Node {
	n := c.Value(name)
	if n == nil {
		return nil
	}
	items := []*syntax.Node{n}
	if n.Type == syntax.List {
		if items = n.Items; len(items) == 0 {
			c.Fail(c.Field(name).Key, diag.Missing, "", "%s is empty", name)
		}
	}
	var out []*syntax.Node
	for _, item := range items {
		switch {
		case item.Type != syntax.String:
			o.Fail(item, diag.WrongType, syntax.QuoteHint(item), "%s must be a string or a list of strings, not %s", name, syntax.Describe(item))
		case !o.isLong(item, name):
			out = append(out, item)
		}
	}
	return out
}

func (o *one) holds(n, at *syntax.Node) *Holds {
	h := new(Holds)
	switch n.Type {
	case syntax.String:
		if checkPrincipal(o.Decoder, n) {
			h.Principal = n.Value
		}
	case syntax.List:
		if len(n.Items) == 0 {
			o.Fail(at, diag.Missing, "", "holds is empty")
		}
		h.Any = []*Holds{}
		for _, item := range n.Items {
			if item.Type == syntax.List {
				o.Fail(item, diag.WrongType, "", "holds must be a principal or a mapping, not a list")
				continue
			}
			h.Any = append(h.Any, o.holds(item, at))
		}
	case syntax.Mapping:
		o.pattern(n, "holds", func(inner *syntax.Cursor) {
			if all := o.texts(inner, "all"); all != nil {
				h.All = principals(o.Decoder, all)
			}
			if only := o.texts(inner, "only"); only != nil {
				h.Only = principals(o.Decoder, only)
			}
			o.patterns(inner, &h.Globs, &h.Prefixes)
			o.negated(inner, func(not, at *syntax.Node) { h.Not = o.holds(not, at) })
		})
	default:
		o.Fail(n, diag.WrongType, syntax.QuoteHint(n), "holds must be a principal, a list or a mapping, not %s", syntax.Describe(n))
	}
	return h
}

func (o *one) labels(n *syntax.Node, key string) *Labels {
	if n.Type == syntax.String && key != "headers" {
		o.CheckOneOf(n, key, "unknown")
		return &Labels{Unknown: true}
	}
	l := new(Labels)
	if n.Type != syntax.Mapping {
		o.Fail(n, diag.WrongType, "", "%s must be a mapping, not %s", key, syntax.Describe(n))
		return l
	}
	for _, f := range n.Fields {
		t := LabelTerm{Key: f.Key.Value}
		var exists *bool
		if t.Value = o.value(f.Value, f.Key, strings.TrimSuffix(key, "s")+" "+f.Key.Value, &exists); exists != nil {
			t.Exists, t.Value = *exists, nil
		}
		if exists != nil && f.Value.Type == syntax.List {
			o.Fail(f.Value, diag.BadValue, "write a class for each", "exists of %s is beside other values, which it would replace", syntax.Quote(f.Key.Value))
		}
		l.Terms = append(l.Terms, t)
	}
	return l
}

// item reads what an item has: a name, a namespace and labels.
func (o *one) item(n *syntax.Node) *Class {
	c := o.Cursor(n, "item", false)
	if c == nil {
		return nil
	}
	if o.a.Word != Shown {
		o.Fail(n, diag.BadValue, "", "only shown is about an item")
	}
	k := &Class{Texts: make(map[string]*Value), Labels: make(map[string]*Labels)}
	for _, key := range []string{"name", "namespace"} {
		if v := c.Value(key); v != nil {
			k.Texts[key] = o.value(v, c.Field(key).Key, key, nil)
		}
	}
	if v := c.Value("labels"); v != nil {
		k.Labels["labels"] = o.labels(v, "labels")
	}
	c.Done()
	return k
}
