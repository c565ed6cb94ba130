package gateway

import (
	"maps"
	"slices"
	"strings"
)

// meet reports whether some name fits a listener's hostname and one of a route's.
// Either side without a hostname has all of them.
func meet(listener string, route []string) bool {
	if listener == "" || len(route) == 0 {
		return true
	}
	return slices.ContainsFunc(route, func(host string) bool {
		return host == "" || within(listener, host) || within(host, listener)
	})
}

// within reports whether all names of host fit pattern.
func within(pattern, host string) bool {
	if pattern == host {
		return true
	}
	suffix, wildcard := strings.CutPrefix(pattern, "*")
	host = strings.TrimPrefix(host, "*")
	return wildcard && len(host) > len(suffix) && strings.HasSuffix(host, suffix)
}

// commonHosts are the hostnames for which traffic on a listener reaches a route:
// of two that fit, the one that says more. Empty is every host.
func commonHosts(listener string, route []string) []string {
	if len(route) == 0 {
		return []string{listener}
	}
	common := make(map[string]bool)
	for _, host := range route {
		switch {
		case listener == "" || within(listener, host):
			common[host] = true
		case host == "" || within(host, listener):
			common[listener] = true
		}
	}
	return slices.Sorted(maps.Keys(common))
}
