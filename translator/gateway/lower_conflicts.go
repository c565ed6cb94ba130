package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/tables"
)

// maxConflicts bounds how many other routes the diagnostic of one route names.
const maxConflicts = 20

// conflicts reports the routes of different namespaces that have a hostname and a match
// in common on one listener: neither can take the requests from the other. Of routes of
// two kinds a hostname is enough.
func (g *lowerer) conflicts() {
	on := make(map[attachment][]int)
	for i := range g.routes {
		for _, listener := range g.routes[i].Listeners {
			on[listener] = append(on[listener], i)
		}
	}
	rivals := make([]map[int]bool, len(g.routes)) // by route
	for _, d := range g.gateways {
		for i := range d.Listeners {
			claims := g.claims(&d.Listeners[i], on[attachment{d, i}])
			for _, key := range slices.Sorted(maps.Keys(claims)) {
				if len(claims[key]) > 1 {
					g.contest(claims[key], claims[key], rivals)
				}
			}
			g.contestKinds(d.Listeners[i].Hostname, on[attachment{d, i}], rivals)
		}
	}
	for i := range g.routes {
		if len(rivals[i]) > 0 {
			g.reportConflict(i, rivals[i])
		}
	}
}

// claims are the routes on a listener by namespace, for each hostname with a match.
func (g *lowerer) claims(listener *document.Listener, routes []int) map[string]map[string][]int {
	claims := make(map[string]map[string][]int)
	for _, i := range routes {
		d := g.routes[i].Document
		var keys []string
		for r := range d.Rules {
			for m := range d.Rules[r].Matches {
				keys = append(keys, matchKey(&d.Rules[r].Matches[m]))
			}
		}
		for _, host := range g.hosts[i].common(listener.Hostname) {
			for _, match := range keys {
				key := host + " " + match
				if claims[key] == nil {
					claims[key] = make(map[string][]int)
				}
				claims[key][d.Namespace] = append(claims[key][d.Namespace], i)
			}
		}
	}
	return claims
}

// matchKey is equal for equal matches, whatever the order of headers and parameters.
func matchKey(m *document.RouteMatch) string {
	sorted := func(list []document.ValueMatch) []string {
		texts := elements.Map(list, func(one document.ValueMatch) string { return fmt.Sprintf("%q", one) })
		slices.Sort(texts)
		return texts
	}
	if m.GRPC != nil {
		return fmt.Sprintf("%q %q", *m.GRPC, sorted(m.Headers))
	}
	return fmt.Sprintf("%q %q %q %q %q", m.PathType, m.Path, m.Method, sorted(m.Headers), sorted(m.Query))
}

// contest enters, for each route with a claim, the routes of other namespaces with a rival
// claim. Both are by namespace.
func (g *lowerer) contest(claimants, rivalClaimants map[string][]int, rivals []map[int]bool) {
	namespaces := slices.Sorted(maps.Keys(rivalClaimants))
	for _, namespace := range slices.Sorted(maps.Keys(claimants)) {
		for _, i := range claimants[namespace] {
			if rivals[i] == nil {
				rivals[i] = make(map[int]bool)
			}
			for _, other := range namespaces {
				if len(rivals[i]) > maxConflicts {
					break
				}
				if other != namespace {
					g.enterRivals(i, rivalClaimants[other], rivals[i])
				}
			}
		}
	}
}

// contestKinds enters, for each route on a listener, the routes of the other kind and of
// other namespaces with which it has a hostname in common.
func (g *lowerer) contestKinds(hostname string, routes []int, rivals []map[int]bool) {
	byKind := map[string]map[string]map[string][]int{} // by kind, hostname and namespace
	for _, i := range routes {
		d := g.routes[i].Document
		if len(d.Rules) == 0 {
			continue
		}
		if byKind[d.Kind] == nil {
			byKind[d.Kind] = make(map[string]map[string][]int)
		}
		for _, host := range g.hosts[i].common(hostname) {
			if byKind[d.Kind][host] == nil {
				byKind[d.Kind][host] = make(map[string][]int)
			}
			byKind[d.Kind][host][d.Namespace] = append(byKind[d.Kind][host][d.Namespace], i)
		}
	}
	if len(byKind) < 2 {
		return
	}
	g.contestHosts(byKind[tables.KindHTTPRoute], byKind[tables.KindGRPCRoute], rivals)
	g.contestHosts(byKind[tables.KindGRPCRoute], byKind[tables.KindHTTPRoute], rivals)
}

// contestHosts records which routes of the two kinds are rivals: those with a hostname of
// some, and those of others with a hostname that contains it.
func (g *lowerer) contestHosts(some, others map[string]map[string][]int, rivals []map[int]bool) {
	for _, host := range slices.Sorted(maps.Keys(some)) {
		for _, name := range containing(host) {
			if claimants := others[name]; claimants != nil {
				g.contest(some[host], claimants, rivals)
				g.contest(claimants, some[host], rivals)
			}
		}
	}
}

// enterRivals adds routes to the rivals of a route, up to one more than are named. Age
// decides between two routes from a cluster.
func (g *lowerer) enterRivals(route int, others []int, rivals map[int]bool) {
	for _, j := range others {
		if len(rivals) > maxConflicts {
			return
		}
		if !g.routes[route].Document.Object || !g.routes[j].Document.Object {
			rivals[j] = true
		}
	}
}

func (g *lowerer) reportConflict(route int, rivals map[int]bool) {
	h := &g.routes[route].Document.Header
	d := diag.Diagnostic{
		Position: h.NameAt,
		Length:   len([]rune(h.Name)),
		Severity: diag.Warning,
		Code:     diag.RouteConflict,
		Hint:     "make a hostname or a match differ; a proxy that names the route in its requests is not concerned",
	}
	if h.StrictRoutes {
		d.Severity = diag.Error
	}
	var names []string
	for _, i := range slices.Sorted(maps.Keys(rivals)) {
		other := &g.routes[i].Document.Header
		if len(names) == maxConflicts {
			names = append(names, "others")
			break
		}
		names = append(names, other.Kind+" "+other.Namespace+"/"+other.Name)
		d.Related = append(d.Related, diag.Related{Position: other.NameAt, Message: fmt.Sprintf("%s %s/%s", other.Kind, other.Namespace, other.Name)})
	}
	d.Message = fmt.Sprintf("%s %s/%s matches the same requests as %s: they are allowed only if the policies of all these routes allow",
		h.Kind, h.Namespace, h.Name, strings.Join(names, ", "))
	g.list.Add(d)
}
