package document

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// ruleReader reads the rules of one block.
type ruleReader struct {
	d     *syntax.Decoder
	kind  string // of the document
	rules []InheritedRule
	refs  []syntax.Text // references to patterns in the rule being read
}

// block decodes the bare set or a block. A block without a rule is reported; the
// caller knows whether the bare set needs one.
func (g *gatewayDocument) block(c *syntax.Cursor, name string) Block {
	before := len(g.d.Diags)
	b := Block{At: g.d.At(c.At), Name: name}
	r := &ruleReader{d: g.d, kind: g.h.Kind}
	if name != BlockBare {
		b.Merge = readWord(c, "strategy", diag.BadStrategy, "atomic", "atomic", "merge") == "merge"
	}
	r.when(c, &b)
	if g.h.Kind == tables.KindAuthPolicy {
		r.patterns(c)
		r.groups(c.Mapping("rules"))
	} else {
		r.limits(c)
	}
	b.Rules = r.rules
	slices.SortFunc(b.Rules, func(x, y InheritedRule) int { return strings.Compare(x.Key, y.Key) })
	if name != BlockBare {
		c.Done()
		if !hasRule(b.Rules) && len(g.d.Diags) == before {
			g.d.Fail(c.At, diag.NoRules, "give it a rule, or leave it out", "%s has no rules", name)
		}
	}
	return b
}

// add keeps a rule of the block as written, with what the gateway point evaluates of
// it and the references that were read with it.
func (r *ruleReader) add(key string, f *syntax.Field, rule *tables.GatewayRule) {
	value, _ := r.d.Value(f.Value)
	r.rules = append(r.rules, InheritedRule{Key: key, At: r.d.At(f.Key), Value: value, Rule: rule, PatternRefs: r.refs})
	r.refs = nil
}

// when reads the field of that name, whose type says which of two meanings it has.
func (r *ruleReader) when(c *syntax.Cursor, b *Block) {
	f := c.Field("when")
	if f == nil || f.Value.IsNull() {
		return
	}
	switch {
	case f.Value.Type == syntax.String && b.Name != BlockBare:
		b.When = decodeCel(r.d, f.Key, f.Value, cel.CheckMerge)
	case f.Value.Type == syntax.String:
		r.d.Fail(f.Value, diag.WhenForm, "write [{predicate: CEL}], or a block with this condition",
			"when of the bare rules is a list of conditions: they are merged in any case")
	case f.Value.Type != syntax.List:
		r.d.Fail(f.Value, diag.WhenForm, "write [{predicate: CEL}]", "when must be a string in CEL or a list of conditions, not %s", syntax.Describe(f.Value))
	case len(f.Value.Items) > 0:
		r.add("when", f, &tables.GatewayRule{When: r.conditions(f)})
	}
}

// each calls read for every rule of an optional map, with its name's node.
func (r *ruleReader) each(c *syntax.Cursor, name string, read func(f *syntax.Field)) {
	m := c.Mapping(name)
	if m == nil {
		return
	}
	for i := range m.Node.Fields {
		f := &m.Node.Fields[i]
		if f.Key.Value == "" {
			r.d.Fail(f.Key, diag.Value, "", "the name of an entry of %s is empty", name)
			continue
		}
		read(f)
	}
}

// patterns reads the named lists of comparisons.
func (r *ruleReader) patterns(c *syntax.Cursor) {
	r.each(c, "patterns", func(f *syntax.Field) {
		p := &tables.GatewayPattern{}
		if inner := r.d.Cursor(f.Value, "a pattern", false); inner != nil {
			inner.At = f.Key
			items, _ := inner.List("allOf")
			if inner.Value("allOf") == nil {
				inner.Missing("allOf", "write allOf: [{selector: PATH, operator: eq, value: TEXT}]")
			}
			for _, n := range items {
				if condition, ok := r.comparison(n); ok {
					p.AllOf = append(p.AllOf, condition)
				}
			}
			inner.Done()
		}
		r.add("patterns."+f.Key.Value, f, &tables.GatewayRule{Pattern: p})
	})
}

// groups reads the groups of rules of an AuthPolicy.
func (r *ruleReader) groups(c *syntax.Cursor) {
	if c == nil {
		return
	}
	r.each(c, "authentication", func(f *syntax.Field) { r.add("rules.authentication."+f.Key.Value, f, r.authentication(f)) })
	r.each(c, "metadata", func(f *syntax.Field) { r.add("rules.metadata."+f.Key.Value, f, r.metadata(f)) })
	r.each(c, "authorization", func(f *syntax.Field) { r.add("rules.authorization."+f.Key.Value, f, r.authorization(f)) })
	r.each(c, "callbacks", func(f *syntax.Field) {
		if _, ok := r.rule(f, "a callback", callbackMethods, nil); ok {
			r.d.Warn(f.Key, diag.NotComputed, "", "callback %s is not carried out here", syntax.Quote(f.Key.Value))
		}
		r.add("rules.callbacks."+f.Key.Value, f, nil)
	})
	response := c.Mapping("response")
	for _, name := range []string{"unauthenticated", "unauthorized"} {
		if f := response.Field(name); f != nil && !f.Value.IsNull() {
			r.add("rules.response."+name, f, r.denial(f))
		}
	}
	success := response.Mapping("success")
	for _, name := range []string{"headers", "filters"} {
		r.each(success, name, func(f *syntax.Field) {
			r.add("rules.response.success."+name+"."+f.Key.Value, f, r.successItem(f, name == "headers"))
		})
	}
	success.Done()
	response.Done()
	c.Done()
}
