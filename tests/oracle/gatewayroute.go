package oracle

// RouteMatch is a match of a route's rule.
type RouteMatch struct {
	// PathType is Exact, PathPrefix or RegularExpression; empty with a Path is
	// PathPrefix, without one it says nothing.
	PathType, Path string
	Method         string
	Headers, Query []RoutePair
}

// RoutePair is a header or a query parameter that a match wants.
type RoutePair struct {
	Name, Value string
	Regular     bool
}
