package mutants

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// monitorPolicy adds the sites of a policy of the point visibility.
func (d *directory) monitorPolicy(doc *document) {
	spec := doc.get("spec")
	if spec.get("access", "effect").text() == "Deny" {
		d.add(doc, "deny-dropped", doc.value, doc.kind+" "+doc.name()+" dropped", func(v value) {
			v.get("spec", "access").set("enabled", boolean(false))
		})
		return
	}
	clusters := func(v value) value { return v.get("spec", "scope", "clusters") }
	if word := spec.get("scope", "clusters", "default"); word.Node != nil && word.text() != "all" && word.text() != "allow" {
		d.add(doc, "default-all", word, fmt.Sprintf("default %q becomes \"all\"", word.text()), func(v value) { clusters(v).set("default", scalar("all")) })
	}
	for i, rule := range spec.get("scope", "clusters", "rules").items() {
		d.visibilityRule(doc, rule, func(v value) value { return clusters(v).get("rules").items()[i] })
	}
	if priority := spec.get("identity", "priority"); priority.Node != nil && priority.text() != "0" {
		d.add(doc, "priority-swapped", priority, "priority "+priority.text()+" becomes 0", func(v value) { v.get("spec", "identity").set("priority", number("0")) })
	}
	if validity := spec.get("lifecycle", "validity"); validity.Node != nil {
		d.add(doc, "validity-dropped", validity, "validity dropped", func(v value) { v.get("spec", "lifecycle").drop("validity") })
	}
}

// visibilityRule adds the sites of a rule about clusters.
func (d *directory) visibilityRule(doc *document, rule value, here func(value) value) {
	if names := rule.get("selector", "matchNames"); len(names.items()) > 0 {
		for _, name := range d.clusters() {
			if !names.has(name) {
				d.add(doc, "cluster-added", names, fmt.Sprintf("%q added to matchNames", name), func(v value) { here(v).get("selector", "matchNames").add(scalar(name)) })
				break
			}
		}
	}
	for _, key := range []string{"view", "viewMetrics"} {
		p := rule.get("permissions")
		if word := p.get(key).text(); word == "true" || p.Node == nil && key == "view" {
			continue
		}
		d.add(doc, "permission-added", rule, key+" added", func(v value) {
			r := here(v)
			if r.get("permissions").Node == nil {
				r.set("permissions", mapping("view", boolean(true)))
			}
			r.get("permissions").set(key, boolean(true))
		})
	}
	drop := func(in value, path func(value) value) {
		in.get("filters").members(func(key string, filter value) {
			d.add(doc, "filter-dropped", filter, "filter of "+key+" dropped", func(v value) { path(v).get("filters").drop(key) })
		})
		if word := in.get("visibility"); word.text() == "none" || word.text() == "filtered" {
			d.add(doc, "filter-dropped", word, fmt.Sprintf("visibility %q becomes \"all\"", word.text()), func(v value) {
				path(v).set("visibility", scalar("all"))
				path(v).drop("filters")
			})
		}
	}
	resources := rule.get("resources")
	for j, entry := range resources.items() {
		drop(entry, func(v value) value { return here(v).get("resources").items()[j] })
	}
	resources.members(func(key string, entry value) {
		drop(entry, func(v value) value { return here(v).get("resources", key) })
	})
}

// clusters returns the clusters that rules name.
func (d *directory) clusters() []string {
	var out []string
	for _, doc := range d.documents {
		if doc.kind != "MonitorAccessPolicy" {
			continue
		}
		for _, rule := range doc.get("spec", "scope", "clusters", "rules").items() {
			out = append(out, rule.get("selector", "matchNames").texts()...)
		}
	}
	return out
}

// gatewayPolicy adds the sites of a policy of the point gateway.
func (d *directory) gatewayPolicy(doc *document) {
	d.policyDropped(doc)
	sections := [][]string{{"spec"}, {"spec", "defaults"}, {"spec", "overrides"}}
	for _, section := range sections {
		in := doc.get(section...)
		for _, kind := range []string{"authentication", "authorization"} {
			path := append(append([]string(nil), section...), "rules", kind)
			in.get("rules", kind).members(func(key string, rule value) {
				if kind == "authorization" {
					d.add(doc, "rule-unset", rule, fmt.Sprintf("%s rule %q dropped", kind, key), func(v value) { v.get(path...).drop(key) })
				}
				d.add(doc, "when-added", rule, fmt.Sprintf("%s rule %q made conditional on a header", kind, key), func(v value) { addWhen(v.get(path...).get(key)) })
			})
			if kind == "authentication" && in.get("rules", kind).Node != nil {
				d.add(doc, "anonymous-added", in.get("rules", kind), "anonymous added", func(v value) {
					v.get(path...).set("writ-anonymous", mapping("anonymous", mapping()))
				})
			}
		}
		limits := append(append([]string(nil), section...), "limits")
		in.get("limits").members(func(key string, limit value) {
			d.add(doc, "limit-dropped", limit, fmt.Sprintf("limit %q dropped", key), func(v value) { v.get(limits...).drop(key) })
			d.add(doc, "when-added", limit, fmt.Sprintf("limit %q made conditional on a header", key), func(v value) { addWhen(v.get(limits...).get(key)) })
		})
	}
	if o := doc.get("spec", "overrides"); o.Node != nil && doc.get("spec", "defaults").Node == nil {
		d.add(doc, "override-to-default", o, "overrides become defaults", func(v value) {
			spec := v.get("spec")
			spec.set("defaults", spec.get("overrides").Node)
			spec.drop("overrides")
		})
	}
}

// addWhen makes a rule hold only for requests with a header.
func addWhen(rule value) {
	if rule.Node == nil {
		return
	}
	condition := mapping("predicate", `"x-example" in request.headers && request.headers["x-example"] == "example"`)
	if rule.get("when").isList() {
		rule.get("when").add(condition)
		return
	}
	rule.set("when", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{condition}})
}

// route adds the site of a rule of a route that is beside its others and that no policy names: the
// route is copied under another name and host.
func (d *directory) route(doc *document) {
	if len(doc.path) > 0 || doc.name() == "" {
		return
	}
	host := "example.example"
	d.add(doc, "route-added", doc.get("spec"), fmt.Sprintf("%s for the host %s without a policy of its own", doc.kind, host), func(v value) {
		added := clone(v.Node)
		value{added}.get("metadata").set("name", scalar(doc.name()+"-example"))
		value{added}.get("spec").set("hostnames", list(host))
		first := clone(v.Node)
		*v.Node = *mapping("apiVersion", "v1", "kind", "List", "items", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{first, added}})
	})
}
