package answers

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/gateway/effective"
	"github.com/writ-policy/writ/translator/tables"
)

// The columns of nodes.
const (
	gatewayColumn = iota
	listenerColumn
	routeColumn
	ruleColumn
)

// Topology implements console.Viewer.
func (v *viewer) Topology(c console.Caller, gateway string) (*console.Topology, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	g := tables.OrEmpty(tables.Of[*tables.Gateway](v.revision.tables))
	b := &graph{tables: g, seen: make(map[string]bool), edges: make(map[[2]string]bool), out: &console.Topology{Gateways: []string{}, Nodes: []console.Node{}, Edges: [][2]string{}}}
	found := gateway == ""
	shown := make(map[int]bool)
	for i := range g.Gateways {
		name := g.Gateways[i].Namespace + "/" + g.Gateways[i].Name
		b.out.Gateways = append(b.out.Gateways, name)
		if gateway == "" || name == gateway {
			found, shown[i] = true, true
			b.addGateway(i)
		}
	}
	if !found {
		return nil, console.Errorf(console.NotFound, "gateway %q does not exist", gateway)
	}
	for _, p := range g.Paths {
		if shown[p.Gateway] {
			b.addPath(p)
		}
	}
	return b.out, nil
}

// graph collects nodes and edges, each once.
type graph struct {
	tables *tables.Gateway
	seen   map[string]bool
	edges  map[[2]string]bool
	out    *console.Topology
}

func (b *graph) node(n console.Node) {
	if b.seen[n.ID] {
		return
	}
	b.seen[n.ID] = true
	n.Policies = b.policies(n.ID)
	if n.Effective == nil {
		n.Effective = map[string]int{}
	}
	b.out.Nodes = append(b.out.Nodes, n)
}

func (b *graph) edge(from, to string) {
	if edge := [2]string{from, to}; !b.edges[edge] {
		b.edges[edge] = true
		b.out.Edges = append(b.out.Edges, edge)
	}
}

func (b *graph) addGateway(at int) {
	g := &b.tables.Gateways[at]
	id := tables.TargetName(tables.KindGateway, g.Namespace, g.Name, "")
	b.node(console.Node{ID: id, Kind: tables.KindGateway, Name: g.Namespace + "/" + g.Name, Column: gatewayColumn, Effective: g.Effective})
	for i := range g.Listeners {
		l := &g.Listeners[i]
		listener := tables.TargetName(tables.KindGateway, g.Namespace, g.Name, l.Name)
		shows := strings.TrimSpace(l.Protocol + " :" + strconv.Itoa(l.Port) + " " + l.Hostname)
		b.node(console.Node{ID: listener, Kind: "Listener", Name: l.Name, Shows: shows, Column: listenerColumn, Effective: l.Effective})
		b.edge(id, listener)
	}
}

func (b *graph) addPath(p tables.GatewayPath) {
	r := &b.tables.Routes[p.Route]
	route, rule := tables.TargetName(r.Kind, r.Namespace, r.Name, ""), b.tables.RuleName(p)
	b.node(console.Node{ID: route, Kind: r.Kind, Name: r.Namespace + "/" + r.Name, Shows: strings.Join(r.Hostnames, ", "), Column: routeColumn})
	matches := r.Rules[p.Rule].Matches
	shows := make([]string, 0, len(matches))
	for i := range matches {
		shows = append(shows, matchText(&matches[i]))
	}
	b.node(console.Node{ID: rule, Kind: "Rule", Name: r.Rules[p.Rule].Name, Shows: strings.Join(shows, " or "), Column: ruleColumn, Effective: p.Effective})
	b.edge(b.tables.ListenerName(p), route)
	b.edge(route, rule)
}

// matchText is what a rule of a route matches, in few words.
func matchText(m *tables.GatewayMatch) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	add(m.Method)
	if m.GRPC != nil {
		add(strings.Trim(m.GRPC.Service+"/"+m.GRPC.Method, "/"))
	}
	switch {
	case m.Path == "":
	case m.PathType == "PathPrefix":
		add(strings.TrimSuffix(m.Path, "/") + "/*")
	default:
		add(m.Path)
	}
	for _, h := range m.Headers {
		add(h.Name + ": " + h.Value)
	}
	for _, q := range m.Query {
		add("?" + q.Name + "=" + q.Value)
	}
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, " ")
}

// policies returns the policies that target a node.
func (b *graph) policies(target string) []console.NodePolicy {
	list := []console.NodePolicy{}
	for i := range b.tables.Policies {
		p := &b.tables.Policies[i]
		if p.Target != target {
			continue
		}
		n := console.NodePolicy{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, Source: p.Source, Forms: []string{}, Enforced: true}
		for _, block := range p.Blocks {
			n.Forms = append(n.Forms, strings.Trim(block.Block+", "+block.Strategy, ", "))
		}
		at := slices.IndexFunc(p.Conditions, func(c tables.GatewayCondition) bool { return c.Status == tables.StatusFalse })
		if at >= 0 {
			n.Enforced, n.Status = false, p.Conditions[at].Message
		}
		list = append(list, n)
	}
	return list
}

// Effective implements console.Viewer.
func (v *viewer) Effective(c console.Caller, kind, target string) (*console.Effective, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	if v.policies.Loaded().Revision == "" {
		return nil, console.Errorf(console.NotReady, "no revision is loaded")
	}
	found, err := effective.Find(v.policies.Tables().Gateway(), effective.Query{Kind: kind, Target: target})
	var wrong *effective.Error
	switch {
	case errors.As(err, &wrong) && wrong.Unknown:
		return nil, &console.Error{Reason: console.NotFound, Message: "no such target: " + err.Error(), Field: "target"}
	case err != nil:
		return nil, &console.Error{Reason: console.Invalid, Message: "the question is malformed: " + err.Error(), Field: "target"}
	}
	return found, nil
}
