package tables

import (
	"slices"
	"strings"
)

// TargetName returns the target string of an object or of one of its sections.
func TargetName(kind, namespace, name, section string) string {
	target := kind + "/" + namespace + "/" + name
	if section != "" {
		target += "#" + section
	}
	return target
}

// Locator returns the name of a policy in tables: KIND/NAMESPACE/NAME.
func Locator(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// BareName returns a locator without its kind, for messages about policies of one kind.
func BareName(locator string) string {
	_, name, _ := strings.Cut(locator, "/")
	return name
}

// PathName returns the text form of a path: LISTENER > RULE.
func (g *Gateway) PathName(p GatewayPath) string {
	return g.ListenerName(p) + " > " + g.RuleName(p)
}

// ListenerName returns the target string of a path's listener.
func (g *Gateway) ListenerName(p GatewayPath) string {
	gateway := &g.Gateways[p.Gateway]
	return TargetName(KindGateway, gateway.Namespace, gateway.Name, gateway.Listeners[p.Listener].Name)
}

// RuleName returns the target string of a path's rule.
func (g *Gateway) RuleName(p GatewayPath) string {
	route := &g.Routes[p.Route]
	return TargetName(route.Kind, route.Namespace, route.Name, route.Rules[p.Rule].Name)
}

// groupsOfRules are the prefixes of rule keys that a name follows.
var groupsOfRules = []string{
	"rules.authentication.", "rules.metadata.", "rules.authorization.", "rules.callbacks.",
	"rules.response.success.headers.", "rules.response.success.filters.",
	"patterns.", "limits.",
}

// RulePath returns a rule key as the names of nested fields. The name of a rule is one
// element, even if it contains dots.
func RulePath(key string) []string {
	for _, prefix := range groupsOfRules {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			return append(strings.Split(strings.TrimSuffix(prefix, "."), "."), name)
		}
	}
	return strings.Split(key, ".")
}

// Nest adds the value of a rule to a spec, in nested fields.
func Nest(spec map[string]any, key string, value any) {
	path := RulePath(key)
	for _, name := range path[:len(path)-1] {
		inner, ok := spec[name].(map[string]any)
		if !ok {
			inner = make(map[string]any)
			spec[name] = inner
		}
		spec = inner
	}
	spec[path[len(path)-1]] = value
}

// reservedHeaders change the framing or the routing of a message, in lower case.
var reservedHeaders = []string{
	"host", "content-length", "transfer-encoding", "connection", "keep-alive",
	"proxy-connection", "te", "trailer", "upgrade",
}

// IsReservedHeader reports whether a header, in any case, changes the framing or the
// routing of a message, so that no policy may set it. Pseudo-headers of HTTP/2, such as
// ":path", do.
func IsReservedHeader(name string) bool {
	return strings.HasPrefix(name, ":") || slices.Contains(reservedHeaders, strings.ToLower(name))
}
