package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const gatewayGroup = "gateway.networking.k8s.io"

// write lays the documents out as files, in random order and spelling.
func (g *gateGenerator) write() map[string]string {
	documents := slices.Concat(g.kubernetesDocuments(), g.denyDocuments())
	if len(g.world.OriginRoles) > 0 {
		documents = append(documents, g.originDocuments()...)
	}
	for _, gateway := range g.w.Gateways {
		documents = append(documents, g.gatewayDocument(gateway))
	}
	for _, route := range g.w.Routes {
		documents = append(documents, g.routeDocument(route))
	}
	for _, p := range g.w.Policies {
		documents = append(documents, g.policyDocument(p))
	}
	g.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
	files := map[string]string{}
	for n := 0; len(documents) > 0; n++ {
		count := min(len(documents), 1+g.IntN(8))
		path, text := g.file(n, documents[:count])
		files[path] = text
		documents = documents[count:]
	}
	g.addModules(files)
	return files
}

// gateHeader begins a document. A namespace of "default" may be left out.
func (g *gateGenerator) gateHeader(version, kind, namespace, name, created string) object {
	metadata := object{{"name", name}}
	if namespace != "default" || g.once(2) {
		metadata = append(metadata, member{"namespace", namespace})
	}
	if created != "" {
		metadata = append(metadata, member{"creationTimestamp", created})
	}
	return object{{"apiVersion", version}, {"kind", kind}, {"metadata", metadata}}
}

func (g *gateGenerator) gatewayDocument(gateway *Gateway) object {
	listeners := list{}
	for _, l := range gateway.Listeners {
		body := object{{"name", l.Name}, {"port", l.Port}, {"protocol", l.Protocol}}
		if l.Hostname != "" {
			body = append(body, member{"hostname", l.Hostname})
		}
		allowed := object{}
		if l.From != "" {
			from := object{{"from", l.From}}
			if l.From == "Selector" {
				from = append(from, member{"selector", g.namespaceSelector(l)})
			}
			allowed = append(allowed, member{"namespaces", from})
		}
		if l.Kinds != nil {
			kinds := list{}
			for _, kind := range l.Kinds {
				kinds = append(kinds, object{{"kind", kind}})
			}
			allowed = append(allowed, member{"kinds", kinds})
		}
		if len(allowed) > 0 {
			body = append(body, member{"allowedRoutes", allowed})
		}
		listeners = append(listeners, body)
	}
	document := g.gateHeader(gatewayGroup+"/v1", "Gateway", gateway.Namespace, gateway.Name, "")
	return append(document, member{"spec", object{{"gatewayClassName", "any"}, {"listeners", listeners}}})
}

func (g *gateGenerator) namespaceSelector(l *Listener) object {
	const key = "kubernetes.io/metadata.name"
	if len(l.Namespaces) == 1 && !l.Except && g.once(2) {
		return object{{"matchLabels", object{{key, l.Namespaces[0]}}}}
	}
	operator := "In"
	if l.Except {
		operator = "NotIn"
	}
	return object{{"matchExpressions", list{object{{"key", key}, {"operator", operator}, {"values", texts(l.Namespaces)}}}}}
}

func (g *gateGenerator) routeDocument(r *Route) object {
	parents := list{}
	for _, p := range r.Parents {
		body := object{{"name", p.Name}}
		if p.Namespace != "" {
			body = append(body, member{"namespace", p.Namespace})
		}
		if p.Section != "" {
			body = append(body, member{"sectionName", p.Section})
		}
		if p.Port != 0 {
			body = append(body, member{"port", p.Port})
		}
		if g.once(4) {
			body = append(body, member{"kind", "Gateway"}, member{"group", gatewayGroup})
		}
		parents = append(parents, body)
	}
	spec := object{{"parentRefs", parents}}
	if r.Hostnames != nil {
		spec = append(spec, member{"hostnames", texts(r.Hostnames)})
	}
	rules := list{}
	for _, rule := range r.Rules {
		body := object{{"backendRefs", list{object{{"name", "api"}, {"port", 80}}}}}
		if rule.Name != "" {
			body = append(body, member{"name", rule.Name})
		}
		if rule.Matches != nil {
			matches := list{}
			for _, m := range rule.Matches {
				matches = append(matches, m.body())
			}
			body = append(body, member{"matches", matches})
		}
		rules = append(rules, body)
	}
	spec = append(spec, member{"rules", rules})
	return append(g.gateHeader(gatewayGroup+"/v1", "HTTPRoute", r.Namespace, r.Name, r.Created), member{"spec", spec})
}

func (g *gateGenerator) policyDocument(p *GatePolicy) object {
	target := object{{"group", gatewayGroup}, {"kind", p.TargetKind}, {"name", p.TargetName}}
	if p.Section != "" {
		target = append(target, member{"sectionName", p.Section})
	}
	spec := object{{"targetRef", target}}
	if p.Bare != nil {
		spec = append(spec, g.blockBody(p.Bare)...)
	}
	for _, part := range []struct {
		key   string
		block *GateBlock
	}{{"defaults", p.Defaults}, {"overrides", p.Overrides}} {
		if part.block == nil {
			continue
		}
		body := g.blockBody(part.block)
		switch {
		case part.block.Merge:
			body = append(body, member{"strategy", "merge"})
		case g.once(2):
			body = append(body, member{"strategy", "atomic"})
		}
		if part.block.When != nil {
			body = append(body, member{"when", part.block.When.text})
		}
		g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
		spec = append(spec, member{part.key, body})
	}
	if p.Unset != nil {
		spec = append(spec, member{"unset", texts(p.Unset)})
	}
	g.Shuffle(len(spec), func(i, j int) { spec[i], spec[j] = spec[j], spec[i] })
	return append(g.gateHeader("kuadrant.io/v1", p.Kind, p.Namespace, p.Name, p.Created), member{"spec", spec})
}

// blockBody is the nested form of the rules of a block.
func (g *gateGenerator) blockBody(b *GateBlock) object {
	keys := slices.Sorted(maps.Keys(b.Rules))
	g.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	var body object
	for _, key := range keys {
		b.Places[key] = new(string)
		body = nest(body, split(key), marked{b.Rules[key], b.Places[key]})
	}
	return body
}

// nest puts a value below keys, beside what is there.
func nest(into object, keys []string, value any) object {
	if len(keys) == 1 {
		return append(into, member{keys[0], value})
	}
	for i, m := range into {
		if m.key == keys[0] {
			into[i].value = nest(m.value.(object), keys[1:], value)
			return into
		}
	}
	return append(into, member{keys[0], nest(nil, keys[1:], value)})
}

// body is a match as it is written.
func (m *RouteMatch) body() object {
	var body object
	if m.PathType != "" || m.Path != "" {
		path := object{{"value", m.Path}}
		if m.PathType != "" {
			path = append(path, member{"type", m.PathType})
		}
		body = append(body, member{"path", path})
	}
	if m.Method != "" {
		body = append(body, member{"method", m.Method})
	}
	for _, part := range []struct {
		key   string
		pairs []RoutePair
	}{{"headers", m.Headers}, {"queryParams", m.Query}} {
		if part.pairs == nil {
			continue
		}
		items := list{}
		for _, pair := range part.pairs {
			item := object{{"name", pair.Name}, {"value", pair.Value}}
			if pair.Regular {
				item = append(item, member{"type", "RegularExpression"})
			}
			items = append(items, item)
		}
		body = append(body, member{part.key, items})
	}
	if body == nil {
		body = object{}
	}
	return body
}

// Text is all files, for people.
func Text(files map[string]string) string {
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&text, "# %s\n%s\n", path, files[path])
	}
	return text.String()
}
