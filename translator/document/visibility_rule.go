package document

import (
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// olderPermissions are accepted from older documents and grant nothing.
var olderPermissions = []string{
	"viewSensitive", "viewCosts", "viewSecrets", "viewMetadata", "viewAuditInfo", "edit", "delete", "execute",
}

// accessClusters decodes which clusters a policy is about.
func (d *decoder) accessClusters(c *cursor, p *MonitorAccessPolicy) {
	if c == nil {
		return
	}
	p.DefaultAt = d.at(c.at)
	before, at := len(d.diags), c.at
	if n := c.text("default"); n != nil {
		at, p.DefaultAt = n, d.at(n)
		if d.clusterDefault(n) {
			p.Default = n.value
		}
	}
	everything, nothing := -1, true
	for i, n := range c.filledList("rules") {
		if everything >= 0 {
			d.warn(n, diag.UnreachableRule, "put it before that rule, or take it out",
				"rule %d is never used: rule %d before it matches every cluster", i, everything)
		}
		rule, some := d.clusterRule(n, p)
		if everything < 0 && rule.everyCluster() {
			everything = i
		}
		nothing = nothing && !some
		p.Rules = append(p.Rules, rule)
	}
	nothing = nothing && (p.Default == "none" || p.Default == "deny")
	if p.Deny && nothing && !d.wrongSince(before) {
		d.warn(at, diag.MatchesNothing, "add a rule whose selector matches, or write default: all",
			"no rule of clusters matches a cluster, and default is %s: the Deny matches nothing", p.Default)
	}
	c.done()
}

// clusterDefault checks the word that says what happens to other clusters.
func (d *decoder) clusterDefault(n *node) bool {
	if n.value != "filtered" {
		return d.oneOf(n, "default", "all", "allow", "deny", "none")
	}
	d.fail(n, diag.BadValue, "write none, and a rule for the clusters that are meant",
		"default %s is not known: it is all, allow, deny or none", quote(n.value))
	return false
}

// clusterRule decodes one of rules and reports whether it can match a cluster.
func (d *decoder) clusterRule(n *node, p *MonitorAccessPolicy) (r ClusterRule, some bool) {
	r = ClusterRule{At: d.at(n), View: true}
	c := d.cursor(n, "a rule", false)
	if c == nil {
		return r, true
	}
	some = d.clusterSelector(c.requiredMapping("selector"), p, &r)
	d.permissions(c.filledMapping("permissions"), &r)
	if n := c.value("resources"); p.Deny && n != nil && len(n.items)+len(n.fields) > 0 {
		d.warn(c.field("resources").key, diag.IgnoredFilter, "leave it out",
			"resources does not narrow a Deny: everything on the cluster is denied")
	}
	d.resources(c, &r)
	c.done()
	return r, some
}

// clusterSelector decodes the selector of a rule and reports whether it can match
// a cluster.
func (d *decoder) clusterSelector(c *cursor, p *MonitorAccessPolicy, r *ClusterRule) bool {
	if c == nil {
		return true
	}
	before := len(d.diags)
	for _, n := range c.filledTexts("matchNames") {
		d.literal(n, "matchNames")
		if n.value != "" { // no cluster has an empty name
			r.Names = append(r.Names, n.value)
		}
	}
	if n := c.text("matchPattern"); n != nil && n.value != "" {
		r.Pattern = n.value
		d.clusterPattern(n, p.Deny)
	}
	if labels := c.pairs("matchLabels"); labels != nil {
		r.Labels = &labels
	}
	c.done()
	kinds, wrong := r.selectorKinds(), d.wrongSince(before)
	switch {
	case len(kinds) > 1:
		d.warn(c.at, diag.AlternativeSelectors, "keep one of them, or make several rules",
			"the selector has %s: a cluster matches by any one of them", strings.Join(kinds, " and "))
	case len(kinds) == 0 && !wrong:
		d.warn(c.at, diag.MatchesNothing, "write matchNames, matchPattern or matchLabels", "the selector matches nothing")
	}
	return len(kinds) > 0 || wrong
}

// selectorKinds are the kinds of selector that a rule has.
func (r *ClusterRule) selectorKinds() []string {
	var kinds []string
	if len(r.Names) > 0 {
		kinds = append(kinds, "matchNames")
	}
	if r.Pattern != "" {
		kinds = append(kinds, "matchPattern")
	}
	if r.Labels != nil {
		kinds = append(kinds, "matchLabels")
	}
	return kinds
}

// everyCluster reports whether a rule matches every cluster that has a name.
func (r *ClusterRule) everyCluster() bool {
	return r.Labels != nil && len(*r.Labels) == 0 || r.Pattern != "" && everyName(r.Pattern)
}

// permissions decodes what a rule permits: view alone, unless one of the two is
// given.
func (d *decoder) permissions(c *cursor, r *ClusterRule) {
	if c == nil {
		return
	}
	view, viewAt := c.boolean("view", false)
	metrics, metricsAt := c.boolean("viewMetrics", false)
	if viewAt != nil || metricsAt != nil {
		r.View, r.ViewMetrics = view, metrics
	}
	for _, name := range olderPermissions {
		if _, at := c.boolean(name, false); at != nil {
			d.warn(c.field(name).key, diag.NoEffect, "leave it out", "permission %s grants nothing", name)
		}
	}
	for i, f := range c.n.fields {
		if !c.used[i] {
			c.used[i] = true
			hint := "write view or viewMetrics"
			if near := diag.Suggest(f.key.value, []string{"view", "viewMetrics"}); near != "" {
				hint = "did you mean " + quote(near) + "?"
			}
			d.fail(f.key, diag.UnknownField, hint, "permission %s is not known", quote(f.key.value))
		}
	}
}
