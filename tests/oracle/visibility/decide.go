package visibility

import (
	"cmp"
	"regexp"
	"slices"
	"time"
)

// Decision is the answer to a ViewRequest. Numbers in Aggregations and
// Metrics are a Number where they are computed.
type Decision struct {
	Decision     string         `json:"decision"`
	Permissions  []string       `json:"permissions"`
	Policy       string         `json:"policy"`
	Reason       string         `json:"reason"`
	Filters      map[string]any `json:"filters"`
	Visible      []int          `json:"visible"`
	Aggregations map[string]any `json:"aggregations"`
	Metrics      map[string]any `json:"metrics"`
	Matched      []ViewMatch    `json:"matched"`
}

// ViewMatch is the rule that decided.
type ViewMatch struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      int    `json:"rule"`
	Source    string `json:"source"`
}

// verdict is what is decided without a look at items and numbers: rule is -1
// where the policy matched through its default, and entry that of a custom type.
type verdict struct {
	denied bool
	reason string
	policy *Policy
	rule   int
	entry  *Entry
}

// Decide answers a request.
func (w *World) Decide(r Request) Decision {
	d := Decision{
		Decision: "deny", Permissions: []string{}, Filters: map[string]any{}, Visible: []int{},
		Aggregations: map[string]any{}, Metrics: map[string]any{}, Matched: []ViewMatch{},
	}
	v := w.judge(r)
	d.Reason = v.reason
	if v.policy != nil {
		d.Policy = v.policy.Name
		d.Matched = append(d.Matched, ViewMatch{"MonitorAccessPolicy", v.policy.Namespace, v.policy.Name, v.rule, v.policy.source(v.rule)})
	}
	if v.denied {
		return d
	}
	d.Permissions = v.policy.permissions(v.rule)
	if r.standard() {
		w.fillStandard(&d, r, v)
	} else {
		w.fillCustom(&d, r, v)
	}
	return d
}

// judge is section 6.
func (w *World) judge(r Request) verdict {
	switch {
	case len(r.identities()) == 0:
		return verdict{denied: true, reason: "no principal"}
	case r.action() != "view" && r.action() != "viewMetrics":
		return verdict{denied: true, reason: "unknown action " + r.Action}
	case !r.standard() && r.Cluster.Name == "":
		return w.judgeEverywhere(r)
	case r.Cluster.Name == "":
		return verdict{denied: true, reason: "no cluster given"}
	case r.standard():
		return w.judgeCluster(r, r.action())
	}
	if v := w.judgeCluster(r, "view"); v.denied {
		v.reason = "Access denied to cluster '" + r.Cluster.Name + "': " + v.reason
		return v
	}
	for _, p := range w.holding(r, false) {
		if rule, ok := p.ruleFor(r.Cluster); ok {
			if v, found := p.grant(rule, r); found {
				return v
			}
		}
	}
	return verdict{denied: true, reason: "No policy grants access to custom resource type: " + r.Type}
}

func (w *World) judgeCluster(r Request, action string) verdict {
	for _, p := range w.holding(r, true) {
		if rule, ok := p.ruleFor(r.Cluster); ok {
			return verdict{denied: true, reason: "Denied by policy " + p.Name, policy: p, rule: rule}
		}
	}
	for _, p := range w.holding(r, false) {
		if rule, ok := p.ruleFor(r.Cluster); ok {
			return p.allow(rule, action, nil)
		}
	}
	return verdict{denied: true, reason: "No matching policies found"}
}

// judgeEverywhere judges a custom type without a cluster.
func (w *World) judgeEverywhere(r Request) verdict {
	for _, p := range w.holding(r, true) {
		lists := slices.IndexFunc(p.Rules, func(rule *Rule) bool { return rule.entry(r.Type) != nil })
		if lists >= 0 || p.defaultsToAll() {
			return verdict{denied: true, reason: "Denied by policy " + p.Name, policy: p, rule: lists}
		}
	}
	for _, p := range w.holding(r, false) {
		for rule := range p.Rules {
			if v, found := p.grant(rule, r); found {
				return v
			}
		}
	}
	return verdict{denied: true, reason: "No policy grants access to custom resource type: " + r.Type}
}

// grant is what a rule of an Allow says of a custom type, if it says anything.
func (p *Policy) grant(rule int, r Request) (verdict, bool) {
	if rule < 0 {
		return verdict{}, false
	}
	entry := p.Rules[rule].entry(r.Type)
	if entry == nil || entry.Visibility == "none" {
		return verdict{}, false
	}
	return p.allow(rule, r.action(), entry), true
}

func (p *Policy) allow(rule int, action string, entry *Entry) verdict {
	if !slices.Contains(p.permissions(rule), action) {
		return verdict{denied: true, reason: "Policy " + p.Name + " does not permit " + action, policy: p, rule: rule}
	}
	return verdict{reason: "Allowed by policy " + p.Name, policy: p, rule: rule, entry: entry}
}

func (p *Policy) permissions(rule int) []string {
	permissions := []string{}
	if rule < 0 || p.Rules[rule].View {
		permissions = append(permissions, "view")
	}
	if rule >= 0 && p.Rules[rule].ViewMetrics {
		permissions = append(permissions, "viewMetrics")
	}
	return permissions
}

func (p *Policy) source(rule int) string {
	if rule < 0 {
		return p.DefaultSource
	}
	return p.Rules[rule].Source
}

func (p *Policy) defaultsToAll() bool { return p.Default == "all" || p.Default == "allow" }

// ruleFor is the policy's rule for a cluster; false where the policy does not
// match it.
func (p *Policy) ruleFor(c Cluster) (int, bool) {
	for i, rule := range p.Rules {
		if rule.selects(c) {
			return i, true
		}
	}
	return -1, p.defaultsToAll()
}

func (rule *Rule) selects(c Cluster) bool {
	return slices.Contains(rule.Names, c.Name) ||
		rule.Pattern != "" && regexp.MustCompile(rule.Pattern).MatchString(c.Name) ||
		rule.Labels != nil && allPairs(rule.Labels, c.Labels)
}

func allPairs(pairs, labels map[string]string) bool {
	for key, want := range pairs {
		if have, there := labels[key]; !there || have != want {
			return false
		}
	}
	return true
}

func anyPair(pairs, labels map[string]string) bool {
	for key, want := range pairs {
		if have, there := labels[key]; there && have == want {
			return true
		}
	}
	return false
}

func (rule *Rule) entry(name string) *Entry {
	for _, e := range rule.Entries {
		if e.Type == name {
			return e
		}
	}
	return nil
}

// holding are the policies of one effect that are about the principal and hold
// at the time, in the order of evaluation.
func (w *World) holding(r Request, deny bool) []*Policy {
	var held []*Policy
	for _, p := range w.Policies {
		if p.Deny == deny && p.names(r) && p.holds(r.Now) {
			held = append(held, p)
		}
	}
	slices.SortFunc(held, func(a, b *Policy) int {
		return cmp.Or(cmp.Compare(a.priority(), b.priority()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return held
}

func (p *Policy) priority() int {
	if p.Priority == nil {
		return 100
	}
	return *p.Priority
}

func (p *Policy) names(r Request) bool {
	for _, name := range r.identities() {
		if slices.Contains(p.Users, name) {
			return true
		}
		for _, a := range p.Accounts {
			if accountName(cmp.Or(a.Namespace, "default"), a.Name) == name {
				return true
			}
		}
	}
	return slices.ContainsFunc(r.Groups, func(group string) bool { return group != "" && slices.Contains(p.Groups, group) })
}

// holds is section 4.
func (p *Policy) holds(now time.Time) bool {
	if p.Disabled {
		return false
	}
	if p.NotBefore != "" {
		if t, ok := viewInstant(p.NotBefore); !ok || now.Before(t) {
			return false
		}
	}
	if p.NotAfter != "" {
		if t, ok := viewInstant(p.NotAfter); !ok || now.After(t) {
			return false
		}
	}
	return true
}

var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

func viewInstant(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil && rfc3339.MatchString(text)
}
