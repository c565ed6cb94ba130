package visibility

import (
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// olderPermissions are accepted from older documents and grant nothing.
var olderPermissions = []string{
	"viewSensitive", "viewCosts", "viewSecrets", "viewMetadata", "viewAuditInfo", "edit", "delete", "execute",
}

// decodeAccessClusters decodes the clusters that a policy selects.
func decodeAccessClusters(d *syntax.Decoder, c *syntax.Cursor, p *MonitorAccessPolicy) {
	if c == nil {
		return
	}
	p.DefaultAt = d.At(c.At)
	before, at := len(d.Diags), c.At
	if n := c.Text("default"); n != nil {
		at, p.DefaultAt = n, d.At(n)
		if decodeClusterDefault(d, n) {
			p.Default = n.Value
		}
	}
	everything, nothing := -1, true
	for i, n := range c.FilledList("rules") {
		if everything >= 0 {
			d.Warn(n, diag.UnreachableRule, "put it before that rule, or take it out",
				"rule %d is never used: rule %d before it matches every cluster", i, everything)
		}
		rule, some := decodeClusterRule(d, n, p)
		if everything < 0 && rule.selectsEveryCluster() {
			everything = i
		}
		nothing = nothing && !some
		p.Rules = append(p.Rules, rule)
	}
	nothing = nothing && (p.Default == "none" || p.Default == "deny")
	if p.Deny && nothing && !d.WrongSince(before) {
		d.Warn(at, diag.MatchesNothing, "add a rule whose selector matches, or write default: all",
			"no rule of clusters matches a cluster, and default is %s: the Deny matches nothing", p.Default)
	}
	c.Done()
}

// decodeClusterDefault checks default, the effect on clusters that no rule selects.
func decodeClusterDefault(d *syntax.Decoder, n *syntax.Node) bool {
	if n.Value != "filtered" {
		return d.CheckOneOf(n, "default", "all", "allow", "deny", "none")
	}
	d.Fail(n, diag.BadValue, "write none, and a rule for the clusters that are meant",
		"default %s is not known: it is all, allow, deny or none", syntax.Quote(n.Value))
	return false
}

// decodeClusterRule decodes a rule and reports whether it can match a cluster.
func decodeClusterRule(d *syntax.Decoder, n *syntax.Node, p *MonitorAccessPolicy) (r ClusterRule, some bool) {
	r = ClusterRule{At: d.At(n), View: true}
	c := d.Cursor(n, "a rule", false)
	if c == nil {
		return r, true
	}
	some = decodeClusterSelector(d, c.RequiredMapping("selector", ""), p, &r)
	decodePermissions(d, c.FilledMapping("permissions"), &r)
	if n := c.Value("resources"); p.Deny && n != nil && len(n.Items)+len(n.Fields) > 0 {
		d.Warn(c.Field("resources").Key, diag.IgnoredFilter, "leave it out",
			"resources does not narrow a Deny: everything on the cluster is denied")
	}
	decodeResources(d, c, &r)
	c.Done()
	return r, some
}

// decodeClusterSelector decodes the selector of a rule and reports whether it can match
// a cluster.
func decodeClusterSelector(d *syntax.Decoder, c *syntax.Cursor, p *MonitorAccessPolicy, r *ClusterRule) bool {
	if c == nil {
		return true
	}
	before := len(d.Diags)
	for _, n := range c.FilledTexts("matchNames") {
		d.Literal(n, "matchNames")
		if n.Value != "" { // no cluster has an empty name
			r.Names = append(r.Names, n.Value)
		}
	}
	if n := c.Text("matchPattern"); n != nil && n.Value != "" {
		r.Pattern = n.Value
		checkClusterPattern(d, n, p.Deny)
	}
	if labels := c.Pairs("matchLabels"); labels != nil {
		r.Labels = &labels
	}
	c.Done()
	kinds, wrong := r.selectorKinds(), d.WrongSince(before)
	switch {
	case len(kinds) > 1:
		d.Warn(c.At, diag.AlternativeSelectors, "keep one of them, or make several rules",
			"the selector has %s: a cluster matches by any one of them", strings.Join(kinds, " and "))
	case len(kinds) == 0 && !wrong:
		d.Warn(c.At, diag.MatchesNothing, "write matchNames, matchPattern or matchLabels", "the selector matches nothing")
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

// selectsEveryCluster reports whether a rule matches every cluster with a name.
func (r *ClusterRule) selectsEveryCluster() bool {
	return r.Labels != nil && len(*r.Labels) == 0 || r.Pattern != "" && matchesEveryName(r.Pattern)
}

// decodePermissions decodes the permissions of a rule: only view, unless view or
// viewMetrics is set.
func decodePermissions(d *syntax.Decoder, c *syntax.Cursor, r *ClusterRule) {
	if c == nil {
		return
	}
	view, viewAt := c.Boolean("view", false)
	metrics, metricsAt := c.Boolean("viewMetrics", false)
	if viewAt != nil || metricsAt != nil {
		r.View, r.ViewMetrics = view, metrics
	}
	for _, name := range olderPermissions {
		if _, at := c.Boolean(name, false); at != nil {
			d.Warn(c.Field(name).Key, diag.NoEffect, "leave it out", "permission %s grants nothing", name)
		}
	}
	d.Observer.Closed(c.Node, c.Asked)
	for i, f := range c.Node.Fields {
		if !c.Used[i] {
			c.Used[i] = true
			hint := diag.Meant(f.Key.Value, []string{"view", "viewMetrics"}, "write view or viewMetrics")
			d.Fail(f.Key, diag.UnknownField, hint, "permission %s is not known", syntax.Quote(f.Key.Value))
		}
	}
}
