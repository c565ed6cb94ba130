// Package gateway decides requests at the gateway point by the tables of one revision: it
// finds the paths of a request, and evaluates the rules of their effective policies. Rules
// with expressions are evaluated by its caller, as generated Rego. It knows neither
// bundles nor how Rego is evaluated.
//
// # Design
//
// Go code does what the rules of writ.gateway do, which remain in the bundle for a stock
// OPA and are compared with this package in random worlds. OPA takes ten times as long,
// most of it for the states of the request, of which Rego makes one for each rule. What
// is not certain here (a request that may be invalid, a number that is not written as an
// integer, Rego without a value) returns [ErrUncertain], and OPA decides the whole
// request. The alternative, Go code for every case, would be a second implementation of
// CEL and of OPA's text of values.
package gateway

import (
	"errors"
	"regexp"
	"strings"

	translated "github.com/writ-policy/writ/translator/gateway"
	"github.com/writ-policy/writ/translator/tables"
)

// ErrUncertain means that the Rego of the bundle must decide a request.
var ErrUncertain = errors.New("the tables do not decide the request")

// Policies decide by the tables of one revision. They are immutable and safe for
// concurrent use.
type Policies struct {
	gateways map[string][]*listener // by NAMESPACE/NAME, by position
	only     string                 // the name of the gateway if there is one
	twins    map[string]struct{}    // names that routes of two kinds have
	policies map[string]*policy     // by the ID of their steps
	places   map[string]tables.GatewayPlace
}

// listener is a listener with what is attached to it.
type listener struct {
	name, target string
	hostname     string
	port         int
	protocol     string            // lower case; empty if it does not take requests
	paths        map[string]string // the policy by the target string of a rule
	http, grpc   map[string][]match
}

// match is a match whose regular expressions are compiled, by their position.
type match struct {
	translated.RouteMatch
	object          string // NAMESPACE/NAME of the route
	namespace       string
	prefix          string // of a PathPrefix, with a slash at the end
	path            *regexp.Regexp
	service, method *regexp.Regexp
	headers, query  []valueMatch
}

type valueMatch struct {
	tables.GatewayValueMatch
	pattern *regexp.Regexp
}

// New indexes checked tables. It returns nil, which decides nothing, without tables and
// for those of a bundle without the steps of policies.
func New(t *tables.Gateway) *Policies {
	if t == nil || len(t.Gateways) == 0 || !hasSteps(t) {
		return nil
	}
	p := &Policies{
		gateways: make(map[string][]*listener, len(t.Gateways)),
		twins:    make(map[string]struct{}),
		policies: make(map[string]*policy),
		places:   t.Places(),
	}
	for i := range t.Effective {
		if steps := t.Effective[i].Steps; steps != nil {
			p.policies[steps.ID] = newPolicy(steps)
		}
	}
	for i := range t.Routes {
		if i > 0 && t.Routes[i-1].Namespace == t.Routes[i].Namespace && t.Routes[i-1].Name == t.Routes[i].Name {
			p.twins[t.Routes[i].Namespace+"/"+t.Routes[i].Name] = struct{}{}
		}
	}
	ordered := translated.OrderRoutes(t)
	for i := range t.Gateways {
		g := &t.Gateways[i]
		name := g.Namespace + "/" + g.Name
		if p.only = name; len(t.Gateways) > 1 {
			p.only = ""
		}
		for j := range g.Listeners {
			p.gateways[name] = append(p.gateways[name], newListener(name, &g.Listeners[j], ordered[[2]int{i, j}]))
		}
	}
	return p
}

// hasSteps reports whether each policy that restricts requests has its steps.
func hasSteps(t *tables.Gateway) bool {
	for i := range t.Effective {
		e := &t.Effective[i]
		if e.Kind != tables.KindAuthPolicy || e.Steps != nil {
			continue
		}
		for j := range e.Rules {
			if strings.HasPrefix(e.Rules[j].Key, "rules.") {
				return false
			}
		}
	}
	return true
}

func newListener(gateway string, l *tables.GatewayListener, t *translated.ListenerTable) *listener {
	out := &listener{
		name: l.Name, target: "Gateway/" + gateway + "#" + l.Name, hostname: l.Hostname, port: l.Port, paths: t.Paths,
		http: newMatches(t.Matches[tables.KindHTTPRoute]), grpc: newMatches(t.Matches[tables.KindGRPCRoute]),
	}
	if l.Protocol == "HTTP" || l.Protocol == "HTTPS" {
		out.protocol = strings.ToLower(l.Protocol)
	}
	return out
}

func newMatches(byHost map[string][]translated.RouteMatch) map[string][]match {
	out := make(map[string][]match, len(byHost))
	for host, list := range byHost {
		matches := make([]match, len(list))
		for i := range list {
			matches[i] = newMatch(&list[i])
		}
		out[host] = matches
	}
	return out
}

func newMatch(r *translated.RouteMatch) match {
	m := match{RouteMatch: *r, object: objectOf(r.Route), headers: newValueMatches(r.Headers), query: newValueMatches(r.Query)}
	m.namespace, _, _ = strings.Cut(m.object, "/")
	switch r.Type {
	case "PathPrefix":
		m.prefix = strings.TrimRight(r.Path, "/") + "/"
	case regularExpression:
		m.path = anchored(r.Path)
	}
	if r.GRPC.Type == regularExpression {
		m.service, m.method = anchored(r.GRPC.Service), anchored(r.GRPC.Method)
	}
	return m
}

func newValueMatches(list []tables.GatewayValueMatch) []valueMatch {
	out := make([]valueMatch, len(list))
	for i, m := range list {
		out[i] = valueMatch{GatewayValueMatch: m}
		if m.Type == regularExpression {
			out[i].pattern = anchored(m.Value)
		}
	}
	return out
}

const regularExpression = "RegularExpression"

// nothing matches no text.
var nothing = regexp.MustCompile(`[^\x00-\x{10FFFF}]`)

// anchored compiles an expression that must match a whole text. As in Rego, one that is
// malformed matches nothing.
func anchored(text string) *regexp.Regexp {
	if compiled, err := regexp.Compile("^(?:" + text + ")$"); err == nil {
		return compiled
	}
	return nothing
}

// objectOf returns NAMESPACE/NAME of the route that the target string of a rule has.
func objectOf(route string) string {
	_, name, _ := strings.Cut(route, "/")
	name, _, _ = strings.Cut(name, "#")
	return name
}
