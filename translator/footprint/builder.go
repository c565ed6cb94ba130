package footprint

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// Builder computes footprints of successive tables. The cost depends on the roles that
// changed since the last ones. The zero value has seen none. It is not safe for concurrent
// use.
type Builder struct {
	roles  tables.Map[tables.Role] // of the last tables
	counts roleCounts
}

// Build returns the footprint of the tables and its JSON, neither of which may be modified.
func (b *Builder) Build(lowered tables.List) (*Footprint, []byte, error) {
	access := tables.OrEmpty(tables.Of[*tables.Access](lowered))
	b.counts.update(access.Roles, b.roles)
	b.roles = access.Roles
	f := &Footprint{Version: Version, Access: b.counts.footprint()}
	if deny := tables.Of[*tables.Deny](lowered); deny != nil {
		addDeny(&f.Access, deny)
	}
	if access.Cluster != "" {
		f.Access.Clusters = Attribute{Values: []string{"", access.Cluster}}
	}
	f.Visibility = visibilityOf(tables.Of[*tables.Visibility](lowered))
	f.Gateway = gatewayOf(tables.Of[*tables.Gateway](lowered))
	text, err := json.Marshal(f)
	if err != nil {
		return nil, nil, err
	}
	return f, append(text, '\n'), nil
}

// counts holds how often rules name each value, so that a value can be removed with its
// last rule.
type counts struct {
	of     map[string]int
	sorted []string // the values; nil if they changed
}

func (c *counts) add(value string, n int) {
	if c.of == nil {
		c.of = make(map[string]int)
	}
	before := c.of[value]
	switch {
	case before+n == 0:
		delete(c.of, value)
		c.sorted = nil
	case before == 0:
		c.sorted = nil
		fallthrough
	default:
		c.of[value] = before + n
	}
}

func (c *counts) addAll(values []string, n int) {
	for _, value := range values {
		c.add(value, n)
	}
}

// values returns the values in order. The list is shared and must not be modified.
func (c *counts) values() []string {
	if c.sorted == nil && len(c.of) > 0 {
		c.sorted = slices.Sorted(maps.Keys(c.of))
	}
	return slices.Clip(c.sorted)
}
