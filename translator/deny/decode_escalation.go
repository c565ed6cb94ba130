package deny

import (
	"cmp"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// mostAllowedScore is the most that maxAllowedScore may be.
const mostAllowedScore = 1000

// decodeEscalation decodes the spec of a BreakglassEscalation. Fields that take no part
// in decisions are checked for their types and not kept.
func decodeEscalation(d *syntax.Decoder, c *syntax.Cursor, e *BreakglassEscalation) {
	if c == nil {
		return
	}
	e.EscalatedGroup = c.Required("escalatedGroup").Text()
	decodeAllowed(d, c, e)
	e.DenyPolicyRefs = append(e.DenyPolicyRefs, elements.Map(decodeEntryList(d, c, "denyPolicyRefs"), d.Text)...)
	decodeEscalationApprovers(d, c, e)
	if o := c.Mapping("podSecurityOverrides"); o != nil {
		e.Override = decodePodOverride(d, o, e)
	}
	for _, name := range []string{"maxValidFor", "idleTimeout", "retainFor", "approvalTimeout", "mailProvider"} {
		c.Text(name)
	}
	c.Boolean("disableNotifications", false)
	if block, at := c.Boolean("blockSelfApproval", false); at != nil {
		permitted := !block
		e.SelfApproval = &permitted
	}
	e.Domains = syntax.Values(decodeEntryList(d, c, "allowedApproverDomains"))
	decodeProviders(d, c, e)
	for _, name := range []string{"requestReason", "approvalReason"} {
		reason := c.Mapping(name)
		reason.Boolean("mandatory", false)
		reason.Text("description")
		reason.Done()
	}
	decodePeople(d, c.Mapping("notificationExclusions"))
	limits := c.Mapping("sessionLimitsOverride")
	limits.Boolean("unlimited", false)
	limits.Integer("maxActiveSessionsPerUser", 0, syntax.MaxInteger)
	limits.Integer("maxActiveSessionsTotal", 0, syntax.MaxInteger)
	limits.Done()
}

// decodeAllowed decodes who may ask for the escalation and where: without either it
// allows nothing.
func decodeAllowed(d *syntax.Decoder, c *syntax.Cursor, e *BreakglassEscalation) {
	const hint = "write allowed: {clusters: [CLUSTER], groups: [GROUP]}"
	refs := decodeEntryList(d, c, "clusterConfigRefs")
	configs := decodeGlobs(d, refs, "clusterConfigRefs")
	allowed := c.RequiredMapping("allowed", hint)
	if allowed == nil {
		return
	}
	clusters, groups := decodeEntryList(d, allowed, "clusters"), decodeEntryList(d, allowed, "groups")
	e.Clusters, e.Groups = append(decodeGlobs(d, clusters, "clusters"), configs...), syntax.Values(groups)
	allowed.Done()
	if allowed.Value("clusters").Empty() && allowed.Value("groups").Empty() && c.Value("clusterConfigRefs").Empty() {
		allowed.Fail(allowed.At, diag.Missing, hint, "allowed has neither clusters nor groups, and clusterConfigRefs is absent: nothing is allowed")
	}
}

// decodeProviders decodes the identity providers of requesters and approvers: one list for
// both, or one for each. An empty list is an absent one.
func decodeProviders(d *syntax.Decoder, c *syntax.Cursor, e *BreakglassEscalation) {
	const both, requests, approvers = "allowedIdentityProviders", "allowedIdentityProvidersForRequests", "allowedIdentityProvidersForApprovers"
	lists := make(map[string][]syntax.Text)
	for _, name := range []string{both, requests, approvers} {
		lists[name] = append(lists[name], elements.Map(decodeEntryList(d, c, name), d.Text)...)
	}
	fail := func(name, format string, names ...any) {
		c.Fail(c.Field(name).Key, diag.Exclusive, "write "+both+" alone, or both of the other lists", format, names...)
	}
	e.RequesterProviders, e.ApproverProviders = lists[requests], lists[approvers]
	switch {
	case lists[both] != nil && (lists[requests] != nil || lists[approvers] != nil):
		later, other := both, requests
		if lists[requests] == nil {
			other = approvers
		}
		if x, y := c.Field(other).Key, c.Field(both).Key; cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column)) > 0 {
			later, other = other, later
		}
		fail(later, "%s next to %s", later, other)
	case lists[both] != nil:
		e.RequesterProviders, e.ApproverProviders = lists[both], lists[both]
	case lists[requests] != nil && lists[approvers] == nil:
		fail(requests, "%s without %s", requests, approvers)
	case lists[approvers] != nil && lists[requests] == nil:
		fail(approvers, "%s without %s", approvers, requests)
	}
}

// readyIn returns the condition Ready of a status, nil without it.
func readyIn(status *syntax.Node) *bool {
	if status == nil {
		return nil
	}
	if conditions := status.Find("conditions", false); conditions != nil {
		for _, n := range conditions.Value.Items {
			if n.Present("type", false).Text() == "Ready" {
				ready := n.Present("status", false).Text() == "True"
				return &ready
			}
		}
	}
	return nil
}

// decodeEscalationApprovers decodes approvers: one user or group at the least.
func decodeEscalationApprovers(d *syntax.Decoder, c *syntax.Cursor, e *BreakglassEscalation) {
	const hint = "write approvers: {groups: [GROUP]}"
	approvers := c.RequiredMapping("approvers", hint)
	if approvers == nil {
		return
	}
	entries := func(name string) (list []syntax.Text) {
		list = append(list, elements.Map(decodeEntryList(d, approvers, name), d.Text)...)
		return list
	}
	e.Approvers.Hidden, e.Approvers.Users, e.Approvers.Groups = entries("hiddenFromUI"), entries("users"), entries("groups")
	approvers.Done()
	if approvers.Value("users").Empty() && approvers.Value("groups").Empty() {
		approvers.Fail(approvers.At, diag.Missing, hint, "approvers has neither users nor groups")
	}
}

// decodePeople checks lists of users and groups that nothing reads.
func decodePeople(d *syntax.Decoder, c *syntax.Cursor) {
	decodeEntryList(d, c, "users")
	decodeEntryList(d, c, "groups")
	c.Done()
}

// decodeEntryList decodes a list of an escalation, each of whose entries says
// something, once.
func decodeEntryList(d *syntax.Decoder, c *syntax.Cursor, name string) []*syntax.Node {
	items, _ := c.Texts(name)
	return distinctEntries(d, items, name)
}

// distinctEntries reports empty entries and those that are there before, and returns the
// others.
func distinctEntries(d *syntax.Decoder, items []*syntax.Node, name string) []*syntax.Node {
	first := make(map[string]*syntax.Node, len(items))
	var out []*syntax.Node
	for _, n := range items {
		switch other := first[n.Value]; {
		case n.Value == "":
			d.Fail(n, diag.BadValue, "leave it out", "an entry \"\" of %s is empty", name)
		case other != nil:
			d.Fail(n, diag.RepeatedEntry, "keep one of them", "entry %s of %s is there twice, first on line %d", syntax.Quote(n.Value), name, other.Line)
		default:
			first[n.Value] = n
			out = append(out, n)
		}
	}
	return out
}

// decodePodOverride decodes podSecurityOverrides.
func decodePodOverride(d *syntax.Decoder, c *syntax.Cursor, e *BreakglassEscalation) *PodOverride {
	o := &PodOverride{}
	o.Enabled, _ = c.Boolean("enabled", false)
	score, scoreAt := c.Integer("maxAllowedScore", 0, mostAllowedScore)
	if scoreAt != nil {
		o.MaxAllowedScore = &score
	}
	o.ExemptFactors = decodeFactors(d, decodeEntryList(d, c, "exemptFactors"), "exemptFactors")
	o.NamespaceScope = decodeNamespaces(d, c, "namespaceScope", func(d *syntax.Decoder, items []*syntax.Node, name string) []tables.PathGlob {
		distinctEntries(d, items, name)
		return decodeGlobs(d, items, name)
	})
	o.RequireApproval, _ = c.Boolean("requireApproval", false)
	decodePeople(d, c.Mapping("approvers"))
	c.Done()
	checkIdleOverride(d, c, o, e)
	return o
}

// checkIdleOverride warns of an override that changes no decision. One that is switched
// off in so many words is meant to be.
func checkIdleOverride(d *syntax.Decoder, c *syntax.Cursor, o *PodOverride, e *BreakglassEscalation) {
	warn := func(n *syntax.Node, hint, why string) {
		d.Warn(n, diag.IdleOverride, hint, "podSecurityOverrides of %s is never in force: %s", syntax.Quote(e.Name), why)
	}
	if c.Value("enabled") == nil {
		warn(c.At, "write enabled: true, or enabled: false where that is meant", "it has no enabled")
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
		warn(c.Value("requireApproval"), "leave requireApproval out", "with requireApproval a request would have to show an approval, and has no way to")
	case len(lacking) > 0:
		warn(c.At, "write allowed: {clusters: [CLUSTER], groups: [GROUP]}", "allowed has no "+strings.Join(lacking, " and no "))
	case c.Value("maxAllowedScore") == nil && c.Value("exemptFactors").Empty():
		d.Warn(c.At, diag.IdleOverride, "", "podSecurityOverrides of %s relaxes nothing: it has neither maxAllowedScore nor exemptFactors", syntax.Quote(e.Name))
	}
}
