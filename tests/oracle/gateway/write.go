package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle/yaml"
)

const gatewayGroup = "gateway.networking.k8s.io"

// write lays the documents out as files, in random order and spelling.
func (g *generator) write() map[string]string {
	documents := slices.Concat(g.KubernetesDocuments(), g.World.Denials.Documents(g.Source))
	if len(g.World.OriginRoles) > 0 {
		documents = append(documents, g.OriginDocuments()...)
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
		path, text := yaml.LayOut(g.Source, n, documents[:count])
		files[path] = text
		documents = documents[count:]
	}
	g.AddModules(files)
	return files
}

// gateHeader begins a document. A namespace of "default" may be left out.
func (g *generator) gateHeader(version string, kind any, namespace, name, created string) yaml.Object {
	metadata := yaml.Object{{"name", name}}
	if namespace != "default" || g.Once(2) {
		metadata = append(metadata, yaml.Member{"namespace", namespace})
	}
	if created != "" {
		metadata = append(metadata, yaml.Member{"creationTimestamp", created})
	}
	return yaml.Object{{"apiVersion", version}, {"kind", kind}, {"metadata", metadata}}
}

func (g *generator) gatewayDocument(gateway *Gateway) yaml.Object {
	listeners := yaml.List{}
	for _, l := range gateway.Listeners {
		body := yaml.Object{{"name", l.Name}, {"port", l.Port}, {"protocol", l.Protocol}}
		if l.Hostname != "" {
			body = append(body, yaml.Member{"hostname", l.Hostname})
		}
		allowed := yaml.Object{}
		if l.From != "" {
			from := yaml.Object{{"from", l.From}}
			if l.From == "Selector" {
				from = append(from, yaml.Member{"selector", g.namespaceSelector(l)})
			}
			allowed = append(allowed, yaml.Member{"namespaces", from})
		}
		if l.Kinds != nil {
			kinds := yaml.List{}
			for _, kind := range l.Kinds {
				kinds = append(kinds, yaml.Object{{"kind", kind}})
			}
			allowed = append(allowed, yaml.Member{"kinds", kinds})
		}
		if len(allowed) > 0 {
			body = append(body, yaml.Member{"allowedRoutes", allowed})
		}
		listeners = append(listeners, yaml.Mark(body, &l.Place))
	}
	document := g.gateHeader(gatewayGroup+"/v1", yaml.Mark("Gateway", &gateway.Place), gateway.Namespace, gateway.Name, "")
	return append(document, yaml.Member{"spec", yaml.Object{{"gatewayClassName", "any"}, {"listeners", listeners}}})
}

func (g *generator) namespaceSelector(l *Listener) yaml.Object {
	const key = "kubernetes.io/metadata.name"
	if len(l.Namespaces) == 1 && !l.Except && g.Once(2) {
		return yaml.Object{{"matchLabels", yaml.Object{{key, l.Namespaces[0]}}}}
	}
	operator := "In"
	if l.Except {
		operator = "NotIn"
	}
	return yaml.Object{{"matchExpressions", yaml.List{yaml.Object{{"key", key}, {"operator", operator}, {"values", yaml.Texts(l.Namespaces)}}}}}
}

func (g *generator) routeDocument(r *Route) yaml.Object {
	parents := yaml.List{}
	for _, p := range r.Parents {
		body := yaml.Object{{"name", p.Name}}
		if p.Namespace != "" {
			body = append(body, yaml.Member{"namespace", p.Namespace})
		}
		if p.Section != "" {
			body = append(body, yaml.Member{"sectionName", p.Section})
		}
		if p.Port != 0 {
			body = append(body, yaml.Member{"port", p.Port})
		}
		if g.Once(4) {
			body = append(body, yaml.Member{"kind", "Gateway"}, yaml.Member{"group", gatewayGroup})
		}
		parents = append(parents, body)
	}
	spec := yaml.Object{{"parentRefs", parents}}
	if r.Hostnames != nil {
		spec = append(spec, yaml.Member{"hostnames", yaml.Texts(r.Hostnames)})
	}
	rules := yaml.List{}
	for _, rule := range r.Rules {
		body := yaml.Object{{"backendRefs", yaml.List{yaml.Object{{"name", "api"}, {"port", 80}}}}}
		if rule.Name != "" {
			body = append(body, yaml.Member{"name", rule.Name})
		}
		if rule.Matches != nil {
			matches := yaml.List{}
			for _, m := range rule.Matches {
				matches = append(matches, m.body())
			}
			body = append(body, yaml.Member{"matches", matches})
		}
		rules = append(rules, yaml.Mark(body, &rule.Place))
	}
	spec = append(spec, yaml.Member{"rules", rules})
	return append(g.gateHeader(gatewayGroup+"/v1", r.kind(), r.Namespace, r.Name, r.Created), yaml.Member{"spec", spec})
}

func (g *generator) policyDocument(p *Policy) yaml.Object {
	target := yaml.Object{{"group", gatewayGroup}, {"kind", p.TargetKind}, {"name", p.TargetName}}
	if p.Section != "" {
		target = append(target, yaml.Member{"sectionName", p.Section})
	}
	spec := yaml.Object{{"targetRef", target}}
	if p.Bare != nil {
		spec = append(spec, g.blockBody(p.Bare)...)
	}
	for _, part := range []struct {
		key   string
		block *Block
	}{{"defaults", p.Defaults}, {"overrides", p.Overrides}} {
		if part.block == nil {
			continue
		}
		body := g.blockBody(part.block)
		switch {
		case part.block.Merge:
			body = append(body, yaml.Member{"strategy", "merge"})
		case g.Once(2):
			body = append(body, yaml.Member{"strategy", "atomic"})
		}
		if part.block.When != nil {
			body = append(body, yaml.Member{"when", part.block.When.text})
		}
		g.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
		spec = append(spec, yaml.Member{part.key, body})
	}
	if p.Unset != nil {
		spec = append(spec, yaml.Member{"unset", yaml.Texts(p.Unset)})
	}
	g.Shuffle(len(spec), func(i, j int) { spec[i], spec[j] = spec[j], spec[i] })
	return append(g.gateHeader(version(p.Kind), p.Kind, p.Namespace, p.Name, p.Created), yaml.Member{"spec", spec})
}

// blockBody is the nested form of the rules of a block.
func (g *generator) blockBody(b *Block) yaml.Object {
	keys := slices.Sorted(maps.Keys(b.Rules))
	g.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	var body yaml.Object
	for _, key := range keys {
		b.Places[key] = new(string)
		body = nest(body, split(key), yaml.Mark(b.Rules[key], b.Places[key]))
	}
	return body
}

// nest puts a value below keys, beside what is there.
func nest(into yaml.Object, keys []string, value any) yaml.Object {
	if len(keys) == 1 {
		return append(into, yaml.Member{keys[0], value})
	}
	for i, m := range into {
		if m.Key() == keys[0] {
			into[i][1] = nest(m[1].(yaml.Object), keys[1:], value)
			return into
		}
	}
	return append(into, yaml.Member{keys[0], nest(nil, keys[1:], value)})
}

// body is a match as it is written.
func (m *RouteMatch) body() yaml.Object {
	var body yaml.Object
	if m.GRPC != nil {
		method := yaml.Object{}
		for _, part := range []yaml.Member{{"service", m.GRPC.Service}, {"method", m.GRPC.Method}} {
			if part[1] != "" {
				method = append(method, part)
			}
		}
		if m.GRPC.Regular {
			method = append(method, yaml.Member{"type", "RegularExpression"})
		}
		body = append(body, yaml.Member{"method", method})
	}
	if m.PathType != "" || m.Path != "" {
		path := yaml.Object{{"value", m.Path}}
		if m.PathType != "" {
			path = append(path, yaml.Member{"type", m.PathType})
		}
		body = append(body, yaml.Member{"path", path})
	}
	if m.Method != "" {
		body = append(body, yaml.Member{"method", m.Method})
	}
	for _, part := range []struct {
		key   string
		pairs []RoutePair
	}{{"headers", m.Headers}, {"queryParams", m.Query}} {
		if part.pairs == nil {
			continue
		}
		items := yaml.List{}
		for _, pair := range part.pairs {
			item := yaml.Object{{"name", pair.Name}, {"value", pair.Value}}
			if pair.Regular {
				item = append(item, yaml.Member{"type", "RegularExpression"})
			}
			items = append(items, item)
		}
		body = append(body, yaml.Member{part.key, items})
	}
	if body == nil {
		body = yaml.Object{}
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
