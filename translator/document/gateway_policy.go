package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// The bare fields of a policy's spec, by its kind, and the blocks they exclude.
var (
	bareFields = map[string][]string{
		kindAuthPolicy:      {"rules", "patterns", "when"},
		kindRateLimitPolicy: {"limits", "when"},
	}
	blockFields = []string{BlockDefaults, BlockOverrides}
)

// policy decodes the spec of an AuthPolicy or a RateLimitPolicy.
func (g *gatewayDocument) policy() *InheritedPolicy {
	out := &InheritedPolicy{Header: g.h, Created: g.created}
	c := g.spec
	if c == nil {
		return out
	}
	before := len(g.d.diags)
	g.d.doubts = nil
	c.hints = map[string]string{"strategy": "write it within defaults or overrides"}
	out.Target = g.target(c)
	out.Unset = g.unset(c)
	bare := g.block(c, BlockBare)
	for _, name := range blockFields {
		if f := c.field(name); f != nil && !f.value.isNull() {
			inner := g.d.cursor(f.value, name, false)
			if inner == nil {
				continue
			}
			inner.at = f.key
			inner.hints = map[string]string{"unset": "write it below spec"}
			out.Blocks = append(out.Blocks, g.block(inner, name))
		}
	}
	c.done() // before the rules are missed: they may be misspelt
	g.exclusive(c)
	if len(out.Blocks) == 0 && len(out.Unset) == 0 && !hasRule(bare.Rules) && len(g.d.diags) == before {
		g.d.fail(c.at, diag.NoRules, "give it rules, defaults, overrides or unset", "the policy has no rules and unsets none")
	}
	if len(bare.Rules) > 0 {
		out.Blocks = slices.Insert(out.Blocks, 0, bare)
	}
	if !g.d.diags[before:].HasErrors() {
		g.shadowed(c, out)
		for _, doubt := range g.d.doubts {
			g.d.add(doubt)
		}
	}
	return out
}

// hasRule reports whether there is more than patterns and conditions.
func hasRule(rules []InheritedRule) bool {
	return slices.ContainsFunc(rules, func(r InheritedRule) bool {
		return r.Key != "when" && !strings.HasPrefix(r.Key, "patterns.")
	})
}

// exclusive reports every field that stands behind one it excludes.
func (g *gatewayDocument) exclusive(c *cursor) {
	bare, block := "", ""
	for _, f := range c.n.fields {
		name := f.key.value
		if f.value.isNull() || name == "when" && f.value.kind == text {
			continue
		}
		against := ""
		switch {
		case slices.Contains(bareFields[g.h.Kind], name):
			bare, against = cmp.Or(bare, name), block
		case slices.Contains(blockFields, name):
			block, against = cmp.Or(block, name), bare
		}
		if against != "" {
			g.d.fail(f.key, diag.Exclusive, "keep the bare rules or the blocks; the bare ones are like atomic defaults",
				"%s next to %s: the bare rules, patterns, limits and conditions exclude blocks", name, against)
		}
	}
}

// shadowed warns of defaults that no path can show. With a condition the overrides
// may leave them.
func (g *gatewayDocument) shadowed(c *cursor, p *InheritedPolicy) {
	if len(p.Blocks) != 2 || p.Blocks[0].Name != BlockDefaults {
		return
	}
	if overrides := p.Blocks[1]; !overrides.Merge && overrides.When == nil {
		g.d.warn(c.field(BlockDefaults).key, diag.OwnDefaultsShadowed, "write strategy: merge into overrides, or leave defaults out",
			"the defaults have no effect: the atomic overrides of this policy drop them")
	}
}

// target decodes targetRef. Its kind is empty where it has mistakes.
func (g *gatewayDocument) target(c *cursor) Target {
	d := g.d
	if c.value("targetRef") == nil {
		at := c.at
		if f := c.field("targetRef"); f != nil {
			at = f.key
		}
		d.fail(at, diag.NoTarget, "write targetRef: {group: "+groupGateway+", kind: KIND, name: NAME}", "the policy has no targetRef")
		return Target{}
	}
	ref := c.mapping("targetRef")
	if ref == nil {
		return Target{}
	}
	ref.hints = map[string]string{"namespace": "the target lies in the policy's own namespace"}
	t := Target{At: d.at(ref.at)}
	group, kind, name := ref.required("group"), ref.required("kind"), ref.required("name")
	if section := ref.filled("sectionName"); section != nil {
		t.Section = d.text(section)
	}
	ref.done()
	ok := group != nil && kind != nil && name != nil
	if group != nil && group.value != groupGateway {
		d.fail(group, diag.TargetGroup, "write "+groupGateway, "a policy has no targets of group %s", quote(group.value))
		ok = false
	}
	if kind != nil && kind.value != kindGateway && kind.value != kindHTTPRoute {
		hint := "write Gateway or HTTPRoute"
		d.fail(kind, diag.TargetKind, hint, "kind %s is not supported as a target", quote(kind.value))
		ok = false
	}
	if name != nil {
		t.Name = d.text(name)
	}
	if ok {
		t.Kind = kind.value
	}
	return t
}

// The keys of rules that stand by themselves, and what others begin with.
var (
	authPolicyKeys     = []string{"rules.response.unauthenticated", "rules.response.unauthorized", "when"}
	authPolicyPrefixes = []string{
		"rules.authentication.", "rules.metadata.", "rules.authorization.", "rules.callbacks.",
		"rules.response.success.headers.", "rules.response.success.filters.", "patterns.",
	}
	limitKeys     = []string{"when"}
	limitPrefixes = []string{"limits."}
)

// unset decodes the list of rule keys that a policy takes away.
func (g *gatewayDocument) unset(c *cursor) []Text {
	n := c.value("unset")
	if n == nil {
		return nil
	}
	keys, prefixes := authPolicyKeys, authPolicyPrefixes
	if g.h.Kind == kindRateLimitPolicy {
		keys, prefixes = limitKeys, limitPrefixes
	}
	if n.kind != list {
		g.d.fail(n, diag.UnsetForm, "write ["+prefixes[0]+"NAME]", "unset is a list of rule keys, this is %s", describe(n))
		return nil
	}
	var out []Text
	seen := make(map[string]bool)
	for _, item := range n.items {
		if item.kind != text || !slices.Contains(keys, item.value) && !begins(item.value, prefixes) {
			entry, hint := describe(item), "one of "+strings.Join(prefixes, "NAME, ")+"NAME, "+strings.Join(keys, ", ")
			if item.kind == text {
				entry = quote(item.value)
				if near := nearKey(item.value, prefixes, keys); near != "" {
					hint = "did you mean " + quote(near) + "?"
				}
			}
			g.d.fail(item, diag.UnsetForm, hint, "%s is no rule key of %s", entry, g.h.Kind)
			continue
		}
		if !seen[item.value] {
			out = append(out, g.d.text(item))
		}
		seen[item.value] = true
	}
	return out
}

// nearKey is the rule key that was probably meant, "" for none.
func nearKey(entry string, prefixes, keys []string) string {
	if near := diag.Suggest(entry, keys); near != "" {
		return near
	}
	dot := strings.LastIndexByte(entry, '.') + 1
	if near := diag.Suggest(entry[:dot], prefixes); near != "" && dot < len(entry) {
		return near + entry[dot:]
	}
	return ""
}

// begins reports whether text is one of some prefixes with a name behind it.
func begins(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return strings.HasPrefix(text, prefix) && len(text) > len(prefix)
	})
}
