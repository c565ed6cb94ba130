package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// hostSet is a set of hostnames that finds those which have a host in common with another one,
// without a look at each of them. The zero value is not usable.
type hostSet struct {
	names map[string]bool
	below map[string][]string // names by what contains them: themselves and wildcards
}

func newHostSet() *hostSet {
	return &hostSet{names: make(map[string]bool), below: make(map[string][]string)}
}

func (s *hostSet) add(host string) {
	if s.names[host] {
		return
	}
	s.names[host] = true
	for _, name := range containing(host) {
		s.below[name] = append(s.below[name], host)
	}
}

// meets reports whether a host has one of the names and this one.
func (s *hostSet) meets(host string) bool {
	return len(s.below[host]) > 0 || slices.ContainsFunc(containing(host), func(name string) bool { return s.names[name] })
}

// common returns the hostnames that a host and the names have in common, as hostnames.common.
func (s *hostSet) common(host string) []string {
	common := slices.Clone(s.below[host])
	if !s.names[host] && slices.ContainsFunc(containing(host), func(name string) bool { return s.names[name] }) {
		common = append(common, host)
	}
	slices.Sort(common)
	return common
}

// hostnames are those of a route. Without any, every host is the route's.
type hostnames struct {
	list []string
	set  *hostSet // of many names, else nil
}

func hostnamesOf(list []string) hostnames {
	const many = 16
	h := hostnames{list: list}
	if len(list) > many {
		h.set = newHostSet()
		for _, host := range list {
			h.set.add(host)
		}
	}
	return h
}

// String lists the first names, for messages.
func (h hostnames) String() string {
	const listed = 10
	text := strings.Join(h.list[:min(len(h.list), listed)], ", ")
	if more := len(h.list) - listed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// meet reports whether some host matches a listener's hostname and one of the route's. No
// hostname matches every host.
func (h hostnames) meet(listener string) bool {
	if listener == "" || len(h.list) == 0 {
		return true
	}
	if h.set != nil {
		return h.set.meets(listener)
	}
	return slices.ContainsFunc(h.list, func(host string) bool {
		return host == "" || within(listener, host) || within(host, listener)
	})
}

// common returns the hostnames for which traffic on a listener reaches the route, sorted: of two
// that match the same hosts, the more specific one. An empty name is every host.
func (h hostnames) common(listener string) []string {
	if len(h.list) == 0 {
		return []string{listener}
	}
	if h.set != nil {
		return h.set.common(listener)
	}
	common := make(map[string]bool)
	for _, host := range h.list {
		switch {
		case listener == "" || within(listener, host):
			common[host] = true
		case host == "" || within(host, listener):
			common[listener] = true
		}
	}
	return slices.Sorted(maps.Keys(common))
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

// containing are the hostnames that contain a hostname: itself, wildcards, and the empty
// one, which is every host.
func containing(host string) []string {
	names := []string{host}
	for rest := strings.TrimPrefix(host, "*."); ; {
		_, suffix, found := strings.Cut(rest, ".")
		if !found {
			break
		}
		names = append(names, "*."+suffix)
		rest = suffix
	}
	if host != "" {
		names = append(names, "")
	}
	return names
}
