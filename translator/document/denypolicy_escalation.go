package document

import (
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// mostAllowedScore is the most that maxAllowedScore may be.
const mostAllowedScore = 1000

// escalation decodes the spec of a BreakglassEscalation. Fields that take no part
// in decisions are known and of their type, and that is all.
func (d *decoder) escalation(c *cursor, e *BreakglassEscalation) {
	if c == nil {
		return
	}
	c.required("escalatedGroup")
	d.allowed(c, e)
	for _, n := range d.entryList(c, "denyPolicyRefs") {
		e.DenyPolicyRefs = append(e.DenyPolicyRefs, d.text(n))
	}
	d.escalationApprovers(c)
	if o := c.mapping("podSecurityOverrides"); o != nil {
		e.Override = d.podOverride(o, e)
	}
	for _, name := range []string{"maxValidFor", "idleTimeout", "retainFor", "approvalTimeout", "mailProvider"} {
		c.text(name)
	}
	for _, name := range []string{"blockSelfApproval", "disableNotifications"} {
		c.boolean(name, false)
	}
	for _, name := range []string{"allowedApproverDomains", "allowedIdentityProviders",
		"allowedIdentityProvidersForRequests", "allowedIdentityProvidersForApprovers"} {
		d.entryList(c, name)
	}
	for _, name := range []string{"requestReason", "approvalReason"} {
		reason := c.mapping(name)
		reason.boolean("mandatory", false)
		reason.text("description")
		reason.done()
	}
	d.people(c.mapping("notificationExclusions"))
	limits := c.mapping("sessionLimitsOverride")
	limits.boolean("unlimited", false)
	limits.integer("maxActiveSessionsPerUser", 0, maxInteger)
	limits.integer("maxActiveSessionsTotal", 0, maxInteger)
	limits.done()
}

// allowed decodes who may ask for the escalation and where: without either there
// is nothing to escalate to.
func (d *decoder) allowed(c *cursor, e *BreakglassEscalation) {
	const hint = "write allowed: {clusters: [CLUSTER], groups: [GROUP]}"
	refs := d.entryList(c, "clusterConfigRefs")
	d.globs(refs, "clusterConfigRefs")
	allowed := c.mapping("allowed")
	if allowed == nil {
		if c.value("allowed") == nil {
			c.missing("allowed", hint)
		}
		return
	}
	clusters, groups := d.entryList(allowed, "clusters"), d.entryList(allowed, "groups")
	d.globs(clusters, "clusters")
	allowed.done()
	e.Clusters, e.Groups = append(values(clusters), values(refs)...), values(groups)
	if allowed.value("clusters").empty() && allowed.value("groups").empty() && c.value("clusterConfigRefs").empty() {
		allowed.fail(allowed.at, diag.Missing, hint, "allowed has neither clusters nor groups, and there are no clusterConfigRefs: nothing is allowed")
	}
}

// escalationApprovers checks approvers: one user or group at the least.
func (d *decoder) escalationApprovers(c *cursor) {
	const hint = "write approvers: {groups: [GROUP]}"
	approvers := c.mapping("approvers")
	if approvers == nil {
		if c.value("approvers") == nil {
			c.missing("approvers", hint)
		}
		return
	}
	d.entryList(approvers, "hiddenFromUI")
	d.people(approvers)
	if approvers.value("users").empty() && approvers.value("groups").empty() {
		approvers.fail(approvers.at, diag.Missing, hint, "approvers has neither users nor groups")
	}
}

// people checks lists of users and groups that nothing reads.
func (d *decoder) people(c *cursor) {
	d.entryList(c, "users")
	d.entryList(c, "groups")
	c.done()
}

// entryList decodes a list of an escalation, each of whose entries says
// something, once.
func (d *decoder) entryList(c *cursor, name string) []*node {
	items, _ := c.texts(name)
	return d.distinct(items, name)
}

// distinct reports empty entries and those that are there before, and returns the
// others.
func (d *decoder) distinct(items []*node, name string) []*node {
	first := make(map[string]*node, len(items))
	var out []*node
	for _, n := range items {
		switch other := first[n.value]; {
		case n.value == "":
			d.fail(n, diag.BadValue, "leave it out", "an entry \"\" of %s is empty", name)
		case other != nil:
			d.fail(n, diag.RepeatedEntry, "keep one of them", "entry %s of %s is there twice, first on line %d", quote(n.value), name, other.line)
		default:
			first[n.value] = n
			out = append(out, n)
		}
	}
	return out
}

// podOverride decodes podSecurityOverrides.
func (d *decoder) podOverride(c *cursor, e *BreakglassEscalation) *PodOverride {
	o := &PodOverride{}
	o.Enabled, _ = c.boolean("enabled", false)
	score, scoreAt := c.integer("maxAllowedScore", 0, mostAllowedScore)
	if scoreAt != nil {
		o.MaxAllowedScore = &score
	}
	o.ExemptFactors = d.factors(d.entryList(c, "exemptFactors"), "exemptFactors")
	o.NamespaceScope = d.namespaces(c, "namespaceScope", func(d *decoder, items []*node, name string) {
		d.distinct(items, name)
		d.globs(items, name)
	})
	o.RequireApproval, _ = c.boolean("requireApproval", false)
	d.people(c.mapping("approvers"))
	c.done()
	d.idleOverride(c, o, e)
	return o
}

// idleOverride warns of an override that changes no decision. One that is switched
// off in so many words is meant to be.
func (d *decoder) idleOverride(c *cursor, o *PodOverride, e *BreakglassEscalation) {
	warn := func(n *node, hint, why string) {
		d.warn(n, diag.IdleOverride, hint, "podSecurityOverrides of %s is never in force: %s", quote(e.Name), why)
	}
	if c.value("enabled") == nil {
		warn(c.at, "write enabled: true, or enabled: false where that is meant", "it has no enabled")
		return
	}
	if !o.Enabled {
		return
	}
	var lacking []string
	if len(e.Clusters) == 0 {
		lacking = append(lacking, "clusters")
	}
	if len(e.Groups) == 0 {
		lacking = append(lacking, "groups")
	}
	switch {
	case o.RequireApproval:
		warn(c.value("requireApproval"), "leave requireApproval out", "with requireApproval a request would have to show an approval, and has no way to")
	case len(lacking) > 0:
		warn(c.at, "write allowed: {clusters: [CLUSTER], groups: [GROUP]}", "allowed has no "+strings.Join(lacking, " and no "))
	case c.value("maxAllowedScore") == nil && c.value("exemptFactors").empty():
		d.warn(c.at, diag.IdleOverride, "", "podSecurityOverrides of %s relaxes nothing: it has neither maxAllowedScore nor exemptFactors", quote(e.Name))
	}
}
