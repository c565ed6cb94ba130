package change

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// maxProbes bounds the requests that are tried for one path.
const maxProbes = 4000

// pathState is what decides the requests of one path, apart from lines.
type pathState struct {
	rules    map[string]*tables.EffectiveRule // of the effective AuthPolicy, by key
	place    string                           // matches, host names, listener, order
	requests []map[string]any
	reviews  bool
}

// gateway compares the effective policies of each path.
func (c *comparison) gateway() error {
	accessChanged := slices.ContainsFunc(c.classes, func(k *class) bool { return k.point == statement.PointAccess })
	a, b := pathsOf(c.a.World), pathsOf(c.b.World)
	constants := tables.Entries(slices.Concat(gatewayConstants(c.a.World), gatewayConstants(c.b.World)))
	names := tables.Entries(slices.Concat(gatewayNames(c.a.World), gatewayNames(c.b.World)))
	for _, path := range tables.Entries(slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))) {
		x, y := a[path], b[path]
		rules, differs := differentRules(x, y)
		reviews := accessChanged && (x != nil && x.reviews || y != nil && y.reviews)
		if !differs && !reviews {
			continue
		}
		k := &class{point: statement.PointGateway, why: []string{statement.WhyGateway}, paths: []string{path}, rules: rules}
		k.causes = causesOf(rules, x, y)
		c.tryPath(k, x, y, names, constants)
		k.changes = []string{changeGain, changeLoss, changeTighten, changeRelax, changeOther}
		if err := c.add(k); err != nil {
			return err
		}
	}
	return nil
}

func differentRules(x, y *pathState) ([]string, bool) {
	if x == nil || y == nil {
		return nil, true
	}
	var out []string
	for _, key := range tables.Entries(slices.Concat(slices.Collect(maps.Keys(x.rules)), slices.Collect(maps.Keys(y.rules)))) {
		if textOf(x.rules[key]) != textOf(y.rules[key]) {
			out = append(out, key)
		}
	}
	return out, len(out) > 0 || x.place != y.place
}

// textOf returns what a rule states, empty for nil.
func textOf(r *tables.EffectiveRule) string {
	if r == nil {
		return ""
	}
	return statement.JSONText(r.Value)
}

// causesOf returns the policies whose rules differ, of a path that both revisions have.
func causesOf(rules []string, x, y *pathState) []Cause {
	var out []Cause
	for _, key := range rules {
		r, c := y.rules[key], Cause{In: "b", What: "changed"}
		if r == nil {
			r, c.In = x.rules[key], "a"
		}
		kind, name, _ := strings.Cut(r.Policy, "/")
		c.Kind, c.Source = kind, r.Source
		c.Namespace, c.Name, _ = strings.Cut(name, "/")
		out = append(out, c)
	}
	return out
}

// tryPath records the transitions of the requests of a path.
func (c *comparison) tryPath(k *class, x, y *pathState, names, constants []string) {
	var bases []map[string]any
	for _, p := range []*pathState{x, y} {
		if p != nil {
			bases = append(bases, p.requests...)
		}
	}
	tried := 0
	for _, base := range bases {
		for _, object := range gatewayVariants(base, names, constants) {
			if tried++; tried > maxProbes {
				return
			}
			a, b, err := c.judges.both(c.ctx, statement.PointGateway, object)
			if err != nil || a.Outcome == b.Outcome || a.Target != k.paths[0] && b.Target != k.paths[0] {
				continue
			}
			k.record(object, a, b)
		}
	}
}

// gatewayVariants returns a request without identity, and with each constant as the value
// of each name that conditions read, in the identity and in headers.
func gatewayVariants(base map[string]any, names, constants []string) []map[string]any {
	out := []map[string]any{base, statement.With(base, "auth", map[string]any{"identity": map[string]any{"sub": statement.OtherWord}})}
	for _, name := range append(names, "sub") {
		for _, value := range append(slices.Clone(constants), statement.OtherWord) {
			out = append(out,
				statement.With(base, "auth", map[string]any{"identity": map[string]any{name: value}}),
				statement.With(base, "auth", map[string]any{"identity": map[string]any{name: []string{value}}}))
			request, _ := base["request"].(map[string]any)
			headers := maps.Clone(request["headers"].(map[string]any))
			headers[strings.ToLower(name)] = value
			changed := statement.With(base, "request", statement.With(request, "headers", headers))
			out = append(out, changed, statement.With(changed, "auth", map[string]any{"identity": map[string]any{"sub": statement.OtherWord}}))
		}
	}
	for _, value := range constants {
		out = append(out, statement.With(base, "auth", map[string]any{"identity": map[string]any{"sub": value, "groups": []string{value}}}))
	}
	return out
}

var (
	readNames     = regexp.MustCompile(`(?:auth\.identity|headers)(?:\.|\[['"])([\w-]+)`)
	quotedValues  = regexp.MustCompile(`['"]([^'"\\]{1,64})['"]`)
	globbedSuffix = "*."
)

func gatewayNames(w *statement.World) []string {
	return statement.Submatches(readNames, gatewayText(w))
}

// gatewayConstants returns the values that conditions compare with.
func gatewayConstants(w *statement.World) []string {
	var out []string
	for _, text := range gatewayTexts(w) {
		if out = append(out, statement.Submatches(quotedValues, text)...); len(out) > 64 {
			break
		}
	}
	return out[:min(len(out), 64)]
}

func gatewayText(w *statement.World) string { return strings.Join(gatewayTexts(w), "\n") }

func gatewayTexts(w *statement.World) []string {
	g := tables.Of[*tables.Gateway](w.Revision.Tables)
	if g == nil {
		return nil
	}
	var out []string
	for i := range g.Effective {
		if g.Effective[i].Kind != tables.KindAuthPolicy {
			continue
		}
		for _, r := range g.Effective[i].Rules {
			collectTexts(r.Value, &out)
		}
	}
	return out
}

// collectTexts adds the strings of a value, each also as a quoted constant.
func collectTexts(value any, into *[]string) {
	switch v := value.(type) {
	case string:
		*into = append(*into, v, `"`+v+`"`)
	case []any:
		for _, e := range v {
			collectTexts(e, into)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			collectTexts(v[key], into)
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
			state = &pathState{rules: make(map[string]*tables.EffectiveRule)}
			out[target] = state
		}
		if e, ok := p.Effective[tables.KindAuthPolicy]; ok {
			effective := g.Effective[e].Rules
			for j := range effective {
				state.rules[effective[j].Key] = &effective[j]
				state.reviews = state.reviews || strings.Contains(textOf(&effective[j]), "kubernetesSubjectAccessReview")
			}
		}
		bare := *rule
		state.place += statement.JSONText([]any{listener.Hostname, listener.Port, listener.Protocol, p.Listener, route.Hostnames, bare, route.Created, i})
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
