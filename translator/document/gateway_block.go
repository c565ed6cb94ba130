package document

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
)

// ruleReader reads the rules of one block.
type ruleReader struct {
	d     *decoder
	kind  string // of the document
	rules []InheritedRule
}

// block decodes the bare set or a block. A block without a rule is reported; of
// the bare set whoever asks knows whether it needs one.
func (g *gatewayDocument) block(c *cursor, name string) Block {
	before := len(g.d.diags)
	b := Block{At: g.d.at(c.at), Name: name}
	r := &ruleReader{d: g.d, kind: g.h.Kind}
	if name != BlockBare {
		if strategy := c.word("strategy", diag.BadStrategy, "atomic", "merge"); strategy != nil {
			b.Merge = strategy.value == "merge"
		}
	}
	r.when(c, &b)
	if g.h.Kind == kindAuthPolicy {
		r.patterns(c)
		r.groups(c.mapping("rules"))
	} else {
		r.limits(c)
	}
	b.Rules = r.rules
	slices.SortFunc(b.Rules, func(x, y InheritedRule) int { return strings.Compare(x.Key, y.Key) })
	if name != BlockBare {
		c.done()
		if !hasRule(b.Rules) && len(g.d.diags) == before {
			g.d.fail(c.at, diag.NoRules, "give it a rule, or leave it out", "%s has no rules", name)
		}
	}
	return b
}

// add keeps a rule of the block as written, with what it means.
func (r *ruleReader) add(key string, f *field, meaning any) {
	value, _ := r.d.value(f.value)
	r.rules = append(r.rules, InheritedRule{Key: key, At: r.d.at(f.key), Value: value, Meaning: meaning})
}

// when reads the field of that name, whose type says which of two meanings it has.
func (r *ruleReader) when(c *cursor, b *Block) {
	f := c.field("when")
	if f == nil || f.value.isNull() {
		return
	}
	switch {
	case f.value.kind == text && b.Name != BlockBare:
		b.When = r.d.cel(f.key, f.value, cel.CheckMerge)
	case f.value.kind == text:
		r.d.fail(f.value, diag.WhenForm, "write [{predicate: CEL}], or a block with this condition",
			"when of the bare rules is a list of conditions: they are merged in any case")
	case f.value.kind != list:
		r.d.fail(f.value, diag.WhenForm, "write [{predicate: CEL}]", "when is neither a string in CEL nor a list of conditions, this is %s", describe(f.value))
	case len(f.value.items) > 0:
		r.add("when", f, &When{Conditions: r.conditions(f)})
	}
}

// each calls read for every rule of an optional map, with its name's node.
func (r *ruleReader) each(c *cursor, name string, read func(f *field)) {
	m := c.mapping(name)
	if m == nil {
		return
	}
	for i := range m.n.fields {
		f := &m.n.fields[i]
		if f.key.value == "" {
			r.d.fail(f.key, diag.Value, "", "the name of an entry of %s is empty", name)
			continue
		}
		read(f)
	}
}

// patterns reads the named lists of comparisons.
func (r *ruleReader) patterns(c *cursor) {
	r.each(c, "patterns", func(f *field) {
		p := &Pattern{}
		if inner := r.d.cursor(f.value, "a pattern", false); inner != nil {
			inner.at = f.key
			items, _ := inner.list("allOf")
			if inner.value("allOf") == nil {
				inner.missing("allOf", "write allOf: [{selector: PATH, operator: eq, value: TEXT}]")
			}
			for _, n := range items {
				if condition, ok := r.comparison(n); ok {
					p.AllOf = append(p.AllOf, condition)
				}
			}
			inner.done()
		}
		r.add("patterns."+f.key.value, f, p)
	})
}

// groups reads the groups of rules of an AuthPolicy.
func (r *ruleReader) groups(c *cursor) {
	if c == nil {
		return
	}
	r.each(c, "authentication", func(f *field) { r.add("rules.authentication."+f.key.value, f, r.authentication(f)) })
	r.each(c, "metadata", func(f *field) { r.add("rules.metadata."+f.key.value, f, r.metadata(f)) })
	r.each(c, "authorization", func(f *field) { r.add("rules.authorization."+f.key.value, f, r.authorization(f)) })
	r.each(c, "callbacks", func(f *field) {
		if _, ok := r.rule(f, "a callback", callbackMethods, nil); ok {
			r.d.warn(f.key, diag.NotComputed, "", "callback %s is not carried out here", quote(f.key.value))
		}
		r.add("rules.callbacks."+f.key.value, f, nil)
	})
	response := c.mapping("response")
	for _, name := range []string{"unauthenticated", "unauthorized"} {
		if f := response.field(name); f != nil && !f.value.isNull() {
			r.add("rules.response."+name, f, r.denial(f))
		}
	}
	success := response.mapping("success")
	for _, name := range []string{"headers", "filters"} {
		r.each(success, name, func(f *field) { r.add("rules.response.success."+name+"."+f.key.value, f, r.successItem(f)) })
	}
	success.done()
	response.done()
	c.done()
}
