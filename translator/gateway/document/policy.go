package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// The bare fields of a policy's spec, by its kind, and the blocks they exclude.
var (
	bareFields = map[string][]string{
		tables.KindAuthPolicy:           {"rules", "patterns", "when"},
		tables.KindRateLimitPolicy:      {"limits", "when"},
		tables.KindTokenRateLimitPolicy: {"limits", "when"},
	}
	blockFields = []string{BlockDefaults, BlockOverrides}
)

// policy decodes the spec of an inherited policy.
func (g *gatewayDocument) policy() *InheritedPolicy {
	out := &InheritedPolicy{Header: g.h, Created: g.created}
	c := g.spec
	if c == nil {
		return out
	}
	before := len(g.d.Diags)
	g.d.DeferredWarnings = nil
	c.Hints = map[string]string{"strategy": "write it within defaults or overrides"}
	out.Target = g.target(c)
	out.Unset = g.unset(c)
	bare := g.block(c, BlockBare)
	for _, name := range blockFields {
		if f := c.Field(name); f != nil && !f.Value.IsNull() {
			inner := g.d.Cursor(f.Value, name, false)
			if inner == nil {
				continue
			}
			inner.At = f.Key
			inner.Hints = map[string]string{"unset": "write it below spec"}
			out.Blocks = append(out.Blocks, g.block(inner, name))
		}
	}
	c.Done() // before the rules are missed: they may be misspelt
	g.exclusive(c)
	if len(out.Blocks) == 0 && len(out.Unset) == 0 && !hasRule(bare.Rules) && len(g.d.Diags) == before {
		g.d.Fail(c.At, diag.NoRules, "give it rules, defaults, overrides or unset", "the policy has no rules and unsets none")
	}
	if len(bare.Rules) > 0 {
		out.Blocks = slices.Insert(out.Blocks, 0, bare)
	}
	if !g.d.Diags[before:].HasErrors() {
		g.shadowed(c, out)
		for _, doubt := range g.d.DeferredWarnings {
			g.d.Add(doubt)
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
func (g *gatewayDocument) exclusive(c *syntax.Cursor) {
	bare, block := "", ""
	for _, f := range c.Node.Fields {
		name := f.Key.Value
		if f.Value.IsNull() || name == "when" && f.Value.Type == syntax.String {
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
			g.d.Fail(f.Key, diag.Exclusive, "keep the bare rules or the blocks; the bare ones are like atomic defaults",
				"%s next to %s: the bare rules, patterns, limits and conditions exclude blocks", name, against)
		}
	}
}

// shadowed warns of defaults that no path can show. With a condition the overrides
// may leave them.
func (g *gatewayDocument) shadowed(c *syntax.Cursor, p *InheritedPolicy) {
	if len(p.Blocks) != 2 || p.Blocks[0].Name != BlockDefaults {
		return
	}
	if overrides := p.Blocks[1]; !overrides.Merge && overrides.When == nil {
		g.d.Warn(c.Field(BlockDefaults).Key, diag.OwnDefaultsShadowed, "write strategy: merge into overrides, or leave defaults out",
			"the defaults have no effect: the atomic overrides of this policy drop them")
	}
}

// target decodes targetRef. Its kind is empty where it has mistakes.
func (g *gatewayDocument) target(c *syntax.Cursor) Target {
	d := g.d
	if c.Value("targetRef") == nil {
		at := c.At
		if f := c.Field("targetRef"); f != nil {
			at = f.Key
		}
		d.Fail(at, diag.NoTarget, "write targetRef: {group: "+groupGateway+", kind: KIND, name: NAME}", "the policy has no targetRef")
		return Target{}
	}
	ref := c.Mapping("targetRef")
	if ref == nil {
		return Target{}
	}
	ref.Hints = map[string]string{"namespace": "the target lies in the policy's own namespace"}
	t := Target{At: d.At(ref.At)}
	group, kind, name := ref.Required("group"), ref.Required("kind"), ref.Required("name")
	t.Section = readFilled(ref, "sectionName", t.Section)
	ref.Done()
	ok := group != nil && kind != nil && name != nil
	if group != nil && group.Value != groupGateway {
		d.Fail(group, diag.TargetGroup, "write "+groupGateway, "a policy has no targets of group %s", syntax.Quote(group.Value))
		ok = false
	}
	if targets := tables.PolicyTargets(g.h.Kind); kind != nil && !slices.Contains(targets, kind.Value) {
		d.Fail(kind, diag.TargetKind, "write "+strings.Join(targets, " or "), "kind %s is not supported as a target", syntax.Quote(kind.Value))
		ok = false
	}
	if name != nil {
		t.Name = d.Text(name)
	}
	if ok {
		t.Kind = kind.Value
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
func (g *gatewayDocument) unset(c *syntax.Cursor) []syntax.Text {
	n := c.Value("unset")
	if n == nil {
		return nil
	}
	if g.d.ForbidUnset && (n.Type != syntax.List || len(n.Items) > 0) {
		g.d.Fail(c.Field("unset").Key, diag.UnsetForbidden, "remove it, or ask who owns the higher policy; forbid-unset refuses unset",
			"%s %s/%s must not use unset", g.h.Kind, g.h.Namespace, g.h.Name)
	}
	keys, prefixes := authPolicyKeys, authPolicyPrefixes
	if slices.Contains(tables.LimitKinds, g.h.Kind) {
		keys, prefixes = limitKeys, limitPrefixes
	}
	if n.Type != syntax.List {
		g.d.Fail(n, diag.UnsetForm, "write ["+prefixes[0]+"NAME]", "unset must be a list of rule keys, not %s", syntax.Describe(n))
		return nil
	}
	var out []syntax.Text
	seen := make(map[string]bool)
	for _, item := range n.Items {
		if item.Type != syntax.String || !slices.Contains(keys, item.Value) && !begins(item.Value, prefixes) {
			entry, hint := syntax.Describe(item), "one of "+strings.Join(prefixes, "NAME, ")+"NAME, "+strings.Join(keys, ", ")
			if item.Type == syntax.String {
				entry = syntax.Quote(item.Value)
				if near := nearKey(item.Value, prefixes, keys); near != "" {
					hint = "did you mean " + syntax.Quote(near) + "?"
				}
			}
			g.d.Fail(item, diag.UnsetForm, hint, "%s is not a rule key of %s", entry, g.h.Kind)
			continue
		}
		if !seen[item.Value] {
			out = append(out, g.d.Text(item))
		}
		seen[item.Value] = true
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
