package gateway

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// GRPCMatch is what a match of a GRPCRoute says of the method; an empty part says
// nothing.
type GRPCMatch struct {
	Service, Method string
	Regular         bool
}

// kind is the kind of the route's document.
func (r *Route) kind() string {
	if r.GRPC {
		return "GRPCRoute"
	}
	return "HTTPRoute"
}

// compareRoutes is the order in which routes are listed.
func compareRoutes(a, b *Route) int {
	return cmp.Or(cmp.Compare(a.path(), b.path()), cmp.Compare(a.kind(), b.kind()))
}

// twins reports whether a route of each kind has that name.
func (w *World) twins(namespace, name any) bool {
	kinds := map[bool]bool{}
	for _, r := range w.Routes {
		if r.Namespace == namespace && r.Name == name {
			kinds[r.GRPC] = true
		}
	}
	return len(kinds) == 2
}

// oneKind removes the routes that share a hostname on a listener with a route of the
// other kind and of their own namespace that comes before them.
func oneKind(routes []*Route, l *Listener) []*Route {
	order := slices.Clone(routes)
	slices.SortFunc(order, func(a, b *Route) int {
		return cmp.Or(compareAges(a.Created, b.Created), cmp.Compare(a.Name, b.Name), cmp.Compare(a.kind(), b.kind()))
	})
	var taken []*Route
	for _, r := range order {
		if !slices.ContainsFunc(taken, func(other *Route) bool {
			return other.Namespace == r.Namespace && other.GRPC != r.GRPC && shareHost(other.on(l), r.on(l))
		}) {
			taken = append(taken, r)
		}
	}
	return slices.DeleteFunc(slices.Clone(routes), func(r *Route) bool { return !slices.Contains(taken, r) })
}

// on are the hostnames that a route has on a listener; an empty one is every host.
func (r *Route) on(l *Listener) []string {
	names := r.Hostnames
	if len(names) == 0 {
		names = []string{""}
	}
	var common []string
	for _, name := range names {
		switch {
		case name == "" || l.Hostname != "" && intersect(name, l.Hostname) && compareHosts(l.Hostname, name) < 0:
			common = append(common, l.Hostname)
		case l.Hostname == "" || intersect(name, l.Hostname):
			common = append(common, name)
		}
	}
	return common
}

func shareHost(a, b []string) bool {
	for _, one := range a {
		for _, other := range b {
			if one == "" || other == "" || intersect(one, other) {
				return true
			}
		}
	}
	return false
}

// isGRPC reports whether a request is one of gRPC.
func (r *Request) isGRPC() bool {
	kind, there := r.headers()["content-type"]
	rest, grpc := strings.CutPrefix(kind, "application/grpc")
	return there && grpc && (rest == "" || rest[0] == '+' || rest[0] == ';') && r.text("method") == "POST"
}

// fitsGRPC reports whether a match of a GRPCRoute fits a request.
func (m *RouteMatch) fitsGRPC(r *Request) bool {
	if !r.isGRPC() {
		return false
	}
	if m.GRPC != nil {
		segments := strings.Split(r.urlPath(), "/")
		if len(segments) != 3 || segments[0] != "" || segments[1] == "" || segments[2] == "" {
			return false
		}
		if !m.GRPC.fits(m.GRPC.Service, segments[1]) || !m.GRPC.fits(m.GRPC.Method, segments[2]) {
			return false
		}
	}
	return m.headersFit(r)
}

func (m *GRPCMatch) fits(wanted, value string) bool {
	switch {
	case wanted == "":
		return true
	case m.Regular:
		return regexp.MustCompile(`^(?:` + wanted + `)$`).MatchString(value)
	}
	return wanted == value
}

// compareGRPC compares matches of GRPCRoutes by the criteria before age.
func compareGRPC(a, b candidate) int {
	length := func(c candidate) (service, method int) {
		if c.GRPC == nil {
			return 0, 0
		}
		return len(c.GRPC.Service), len(c.GRPC.Method)
	}
	serviceA, methodA := length(a)
	serviceB, methodB := length(b)
	return cmp.Or(compareHosts(a.host, b.host), cmp.Compare(serviceB, serviceA), cmp.Compare(methodB, methodA), cmp.Compare(len(b.Headers), len(a.Headers)))
}
