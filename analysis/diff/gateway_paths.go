package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// pathState is what decides the requests of one path, apart from lines.
type pathState struct {
	gateway *tables.GatewayObject
	route   *tables.GatewayRoute
	rules   map[string]*tables.EffectiveRule // of the effective AuthPolicy, by key
	place   string                           // matches, host names, listener
	// order is where the listener, the age of the route and the rule come, each among those
	// in the same place of among.
	order    [3]int
	among    [3]string
	requests []map[string]any
	reviews  bool
}

// rank replaces the order of each path that both revisions have by its rank among them, so
// that the order of others does not count. Of two paths whose order changes, one has another
// rank.
func rank(a, b map[string]*pathState) {
	for _, paths := range []map[string]*pathState{a, b} {
		values := make(map[string][]int)
		for path, p := range paths {
			for i := range p.among {
				if a[path] != nil && b[path] != nil {
					values[p.among[i]] = append(values[p.among[i]], p.order[i])
				}
			}
		}
		for key, list := range values {
			slices.Sort(list)
			values[key] = slices.Compact(list)
		}
		for _, p := range paths {
			for i := range p.among {
				p.order[i], _ = slices.BinarySearch(values[p.among[i]], p.order[i])
			}
		}
	}
}

// pathsOf returns the paths of a revision by their target, "GATEWAY > ROUTE".
func pathsOf(w *statement.World) map[string]*pathState {
	g := tables.Of[*tables.Gateway](w.Revision.Tables)
	if g == nil {
		return nil
	}
	out := make(map[string]*pathState)
	for i := range g.Paths {
		p := &g.Paths[i]
		gateway, route := &g.Gateways[p.Gateway], &g.Routes[p.Route]
		listener, rule := &gateway.Listeners[p.Listener], &route.Rules[p.Rule]
		target := g.PathName(*p)
		state := out[target]
		if state == nil {
			state = &pathState{gateway: gateway, route: route, rules: make(map[string]*tables.EffectiveRule)}
			on := g.ListenerName(*p)
			state.among = [3]string{gateway.Namespace + "/" + gateway.Name, on, on + " " + state.route.Kind + " " + route.Namespace + "/" + route.Name}
			state.order = [3]int{p.Listener, route.Created, p.Rule}
			out[target] = state
		}
		if e, ok := p.Effective[tables.KindAuthPolicy]; ok {
			effective := g.Effective[e].Rules
			for j := range effective {
				state.rules[effective[j].Key] = &effective[j]
				state.reviews = state.reviews || strings.Contains(textOf(&effective[j]), "kubernetesSubjectAccessReview")
			}
		}
		state.place += statement.JSONText([]any{listener.Hostname, listener.Port, listener.Protocol, route.Hostnames, rule.Matches, route.Cluster})
		state.requests = append(state.requests, pathRequests(gateway, listener, route, rule)...)
	}
	return out
}

// pathRequests returns requests that match a rule, and others that just miss it.
func pathRequests(gateway *tables.GatewayObject, listener *tables.GatewayListener, route *tables.GatewayRoute, rule *tables.GatewayRouteRule) []map[string]any {
	hosts := route.Hostnames
	if len(hosts) == 0 {
		hosts = []string{cmp.Or(listener.Hostname, "any.example")}
	}
	matches := rule.Matches
	if len(matches) == 0 {
		matches = []tables.GatewayMatch{{Path: "/"}}
	}
	var out []map[string]any
	for _, host := range hosts {
		if rest, ok := strings.CutPrefix(host, globbedSuffix); ok {
			host = "a." + rest
		}
		for _, m := range matches {
			headers := make(map[string]any)
			for _, h := range m.Headers {
				headers[strings.ToLower(h.Name)] = h.Value
			}
			path := cmp.Or(m.Path, "/")
			for i, q := range m.Query {
				path += string("?&"[min(i, 1)]) + q.Name + "=" + q.Value
			}
			methods := []string{m.Method}
			switch {
			case m.GRPC != nil:
				headers["content-type"] = "application/grpc"
				path = "/" + cmp.Or(m.GRPC.Service, "any.Service") + "/" + cmp.Or(m.GRPC.Method, "Any")
				methods = []string{"POST"}
			case m.Method == "":
				methods = []string{"GET", "POST", "DELETE"}
			}
			for _, method := range methods {
				for _, p := range []string{path, strings.TrimSuffix(path, "/") + "/x"} {
					out = append(out, map[string]any{
						"gateway": map[string]any{"namespace": gateway.Namespace, "name": gateway.Name},
						"request": map[string]any{"host": host, "method": method, "path": p, "headers": headers},
					})
				}
			}
		}
	}
	return out
}

// placeCauses returns the gateway and the route that differ, of a path that one revision
// lacks or has in another place.
func placeCauses(x, y *pathState, a, b map[Cause]string) []Cause {
	own := cmp.Or(y, x)
	if x != nil && y != nil && x.place == y.place && x.order == y.order {
		return nil
	}
	var out []Cause
	for _, d := range []Cause{{Kind: tables.KindGateway, Namespace: own.gateway.Namespace, Name: own.gateway.Name}, own.routeCause()} {
		if a[d] != b[d] {
			out = append(out, d.between(a, b))
		}
	}
	if out == nil { // its age, or another of its age
		out = []Cause{own.routeCause().between(a, b)}
	}
	return out
}

func (p *pathState) routeCause() Cause {
	return Cause{Kind: p.route.Kind, Namespace: p.route.Namespace, Name: p.route.Name}
}

// between returns a document with the revision that has it and what happened to it.
func (c Cause) between(a, b map[Cause]string) Cause {
	_, before := a[c]
	_, after := b[c]
	c.In, c.What = "b", "changed"
	if !before {
		c.What = "added"
	}
	if !after {
		c.In, c.What = "a", "removed"
	}
	return c
}

// gatewayDocuments returns what the documents of the gateway state, by kind, namespace and
// name: of policies the rules that are in force somewhere. Lines do not count.
func gatewayDocuments(w *statement.World) map[Cause]string {
	out := make(map[Cause]string)
	g := tables.Of[*tables.Gateway](w.Revision.Tables)
	if g == nil {
		return out
	}
	for i := range g.Gateways {
		bare := g.Gateways[i]
		bare.Source, bare.Effective, bare.Listeners = "", nil, slices.Clone(bare.Listeners)
		for j := range bare.Listeners {
			bare.Listeners[j].Source, bare.Listeners[j].Effective = "", nil
		}
		out[Cause{Kind: tables.KindGateway, Namespace: bare.Namespace, Name: bare.Name}] = statement.JSONText(bare)
	}
	for i := range g.Routes {
		bare := g.Routes[i]
		bare.Created, bare.Rules = 0, slices.Clone(bare.Rules)
		for j := range bare.Rules {
			bare.Rules[j].Source = ""
		}
		out[Cause{Kind: bare.Kind, Namespace: bare.Namespace, Name: bare.Name}] = statement.JSONText(bare)
	}
	rules := make(map[Cause][]string)
	for i := range g.Effective {
		for j := range g.Effective[i].Rules {
			r := &g.Effective[i].Rules[j]
			d := policyCause(r)
			rules[d] = append(rules[d], r.Key+textOf(r))
		}
	}
	for d, texts := range rules {
		out[d] = strings.Join(tables.Entries(texts), "\n")
	}
	return out
}

// policyCause returns the policy of a rule, without its line.
func policyCause(r *tables.EffectiveRule) Cause {
	kind, name, _ := strings.Cut(r.Policy, "/")
	namespace, name, _ := strings.Cut(name, "/")
	return Cause{Kind: kind, Namespace: namespace, Name: name}
}

// causesOf returns the policies whose rules differ, of a path that both revisions have.
func causesOf(rules []string, x, y *pathState, a, b map[Cause]string) []Cause {
	var out []Cause
	for _, key := range rules {
		r := cmp.Or(y.rules[key], x.rules[key])
		c := policyCause(r).between(a, b)
		c.Source = r.Source
		out = append(out, c)
	}
	return out
}
