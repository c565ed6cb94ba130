// Package gateway is the family of gateways, routes and the policies inherited along
// them: how references among their documents are followed, the tables they come to, and
// the Rego and the generated tests written for those. The decoded documents stand in
// gateway/document, and questions about effective policies in
// gateway/effective. It must not know other families.
package gateway

import (
	"bytes"
	"fmt"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is gateways, routes and the policies attached to them.
type Family struct{}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return document.Kinds() }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Gateway) }

// Lower returns the table of the documents.
func (*Family) Lower(d *directory.Directory) (tables.Table, diag.List) { return lower(resolve(d)) }

// Emit returns the files of a table.
func (*Family) Emit(table tables.Table, o emit.Options) map[string][]byte {
	return emitFiles(table.(*tables.Gateway), o)
}

// grpcMatch is a match of a GRPCRoute's rule as Rego reads it. The type is empty if every
// method matches.
type grpcMatch struct {
	Route   string                     `json:"route"`
	Type    string                     `json:"type"`
	Service string                     `json:"service"`
	Method  string                     `json:"method"`
	Headers []tables.GatewayValueMatch `json:"headers"`
	Policy  string                     `json:"policy"`
	Tie     int                        `json:"tie,omitempty"`
	Age     *int                       `json:"age,omitempty"`
}

// listenerAddress is what a listener is chosen by.
type listenerAddress struct {
	Name     string `json:"name"`
	Hostname string `json:"hostname"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
}

// routing writes a gateway's listeners and, for each of them, the matches of its
// routes by hostname in the order in which they are tried, and the effective policy
// of each path.
func (g *gatewayEmitter) routing(index int) []byte {
	gateway := &g.tables.Gateways[index]
	name := gateway.Namespace + "/" + gateway.Name
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Where requests to one Gateway go. Generated from Gateway %s and its routes\npackage compiled.gateway\n", regotext.Comment(name))
	fmt.Fprintf(&out, "\nlisteners[%s] := %s\n", regotext.Quote(name), regotext.Indented(addresses(gateway)))
	for i := range gateway.Listeners {
		routes := g.listeners[[2]int{index, i}]
		listener := regotext.Quote(name + "#" + gateway.Listeners[i].Name)
		fmt.Fprintf(&out, "\npaths[%s] := %s\n", listener, regotext.Indented(routes.Paths))
		fmt.Fprintf(&out, "\nmatches[%s] := %s\n", listener, regotext.Indented(routes.Matches[tables.KindHTTPRoute]))
		if grpc := routes.Matches[tables.KindGRPCRoute]; len(grpc) > 0 {
			fmt.Fprintf(&out, "\ngrpc_matches[%s] := %s\n", listener, regotext.Indented(grpcMatches(grpc)))
		}
	}
	return out.Bytes()
}

func addresses(gateway *tables.GatewayObject) []listenerAddress {
	list := make([]listenerAddress, len(gateway.Listeners))
	for i, l := range gateway.Listeners {
		list[i] = listenerAddress{l.Name, l.Hostname, l.Port, l.Protocol}
	}
	return list
}

// grpcMatches are the matches of GRPCRoutes by hostname.
func grpcMatches(matches map[string][]RouteMatch) map[string][]grpcMatch {
	out := make(map[string][]grpcMatch, len(matches))
	for host, list := range matches {
		for _, m := range list {
			out[host] = append(out[host], grpcMatch{
				Route: m.Route, Type: m.GRPC.Type, Service: m.GRPC.Service, Method: m.GRPC.Method,
				Headers: m.Headers, Policy: m.Policy, Tie: m.Tie, Age: m.Age,
			})
		}
	}
	return out
}
