package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// views compares the monitoring policies that name the author. The first policy that
// applies decides, so that the removal of an Allow policy may widen what is seen as well
// as that of a Deny policy.
func (c *relaxed) views(now, base *tables.Visibility) {
	if now == nil {
		now = &tables.Visibility{}
	}
	if base == nil {
		base = &tables.Visibility{}
	}
	before, after := c.policiesOf(base), c.policiesOf(now)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		p, ok := after[name]
		switch {
		case !ok:
			c.removed(before[name].Source, "MonitorAccessPolicy %q is removed, or no longer names the author", name)
		case !reflect.DeepEqual(unplaced(p), unplaced(before[name])):
			c.report(p.Source, "MonitorAccessPolicy %q is changed", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if p := after[name]; before[name] == nil && !p.Deny {
			c.report(p.Source, "MonitorAccessPolicy %q is added, or names the author now", name)
		}
	}
	if len(before)+len(after) > 0 {
		c.sources(now, base)
	}
}

// policiesOf are the policies that name the author, by namespace and name.
func (c *relaxed) policiesOf(v *tables.Visibility) map[string]*tables.VisibilityPolicy {
	named := make(map[string]*tables.VisibilityPolicy)
	for i := range v.Policies {
		p := &v.Policies[i]
		if slices.ContainsFunc(c.subjects(), func(s string) bool { return slices.Contains(p.SubjectKeys(), s) }) {
			named[p.Namespace+"/"+p.Name] = p
		}
	}
	return named
}

// unplaced is a policy without the lines of its document.
func unplaced(p *tables.VisibilityPolicy) tables.VisibilityPolicy {
	out := *p
	out.Source = ""
	out.Rules = slices.Clone(p.Rules)
	for i := range out.Rules {
		out.Rules[i].Source = ""
	}
	if p.ByDefault != nil {
		rule := *p.ByDefault
		rule.Source = ""
		out.ByDefault = &rule
	}
	return out
}

// sources compares what custom types are.
func (c *relaxed) sources(now, base *tables.Visibility) {
	for _, after := range now.Sources {
		if !slices.ContainsFunc(base.Sources, func(before tables.MetricSource) bool {
			before.Source = after.Source
			return reflect.DeepEqual(before, after)
		}) {
			c.report(after.Source, "MetricSource %q is added or changed", after.Namespace+"/"+after.Name)
		}
	}
}

// comparePaths compares the paths of gateways with the rules of their AuthPolicies. A path
// that is new, or gone, or matches other requests may take requests from a path with
// stricter rules.
func (c *relaxed) comparePaths(now, base *tables.Gateway, routes map[string]string) {
	if base == nil || !slices.ContainsFunc(base.Policies, func(p tables.GatewayPolicy) bool { return p.Kind == tables.KindAuthPolicy }) {
		return
	}
	if now == nil {
		now = &tables.Gateway{}
	}
	before, after := pathsOf(base), pathsOf(now)
	guarded := make(map[string]bool) // gateways
	for _, key := range slices.Sorted(maps.Keys(before)) {
		b := before[key]
		if len(b.rules) == 0 {
			continue
		}
		guarded[b.gateway] = true
		if a, ok := after[key]; !ok {
			c.removed(b.source, "%s is removed, or matches other requests", b.name)
		} else if !reflect.DeepEqual(a.rules, b.rules) {
			c.removed(b.source, "the effective AuthPolicy of %s is changed", b.name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if a := after[key]; before[key] == nil && guarded[a.gateway] {
			c.report(routes[a.route], "%s is added to a gateway with protected paths, or matches other requests", a.name)
		}
	}
}

// guardedPath is a path with what protects it.
type guardedPath struct {
	gateway, route, name string
	source               string         // of a rule that protects it; empty without rules
	rules                map[string]any // of the effective AuthPolicy, by key
}

// pathsOf are the paths by everything that decides which requests they take.
func pathsOf(g *tables.Gateway) map[string]*guardedPath {
	out := make(map[string]*guardedPath, len(g.Paths))
	for _, p := range g.Paths {
		gateway, route := &g.Gateways[p.Gateway], &g.Routes[p.Route]
		listener, rule := &gateway.Listeners[p.Listener], &route.Rules[p.Rule]
		found := &guardedPath{
			gateway: gateway.Namespace + "/" + gateway.Name,
			name:    fmt.Sprintf("rule %q of %s %q", rule.Name, route.Kind, route.Namespace+"/"+route.Name),
			route:   tables.Locator(route.Kind, route.Namespace, route.Name),
			rules:   make(map[string]any),
		}
		if at, ok := p.Effective[tables.KindAuthPolicy]; ok {
			for _, r := range g.Effective[at].Rules {
				found.rules[r.Key], found.source = r.Value, r.Source
			}
		}
		key, err := json.Marshal([]any{
			found.gateway, listener.Name, listener.Hostname, listener.Port, listener.Protocol,
			route.Kind, route.Namespace, route.Name, route.Hostnames, route.Created, rule.Name, rule.Matches,
		})
		if err != nil {
			panic(err) // text and numbers
		}
		out[string(key)] = found
	}
	return out
}
