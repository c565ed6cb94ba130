package gateway

import (
	"maps"
	"slices"
	"strings"
)

// hasCommonHost reports whether some host matches a listener's hostname and one of a
// route's. No hostname matches every host.
func hasCommonHost(listener string, route []string) bool {
	if listener == "" || len(route) == 0 {
		return true
	}
	return slices.ContainsFunc(route, func(host string) bool {
		return host == "" || within(listener, host) || within(host, listener)
	})
}

// within reports whether pattern matches all hosts that host matches.
func within(pattern, host string) bool {
	if pattern == host {
		return true
	}
	suffix, wildcard := strings.CutPrefix(pattern, "*")
	host = strings.TrimPrefix(host, "*")
	return wildcard && len(host) > len(suffix) && strings.HasSuffix(host, suffix)
}

// commonHosts returns the hostnames for which traffic on a listener reaches a route: of
// two that match the same hosts, the more specific one. An empty name is every host.
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
