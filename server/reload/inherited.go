package reload

import (
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/tables"
)

// inherited counts gateway policies and effective policies for the metrics; nil counts
// as empty.
func inherited(g *tables.Gateway) metrics.Inherited {
	c := metrics.Inherited{
		Policies: map[[1]string]int{}, Enforced: map[[2]string]int{}, Blocks: map[[3]string]int{},
		Replaced: map[[2]string]int{}, Unset: map[[1]string]int{}, Paths: map[[2]string]int{},
	}
	if g == nil {
		return c
	}
	for i := range g.Policies {
		p := &g.Policies[i]
		c.Policies[[1]string{p.Kind}]++
		c.Unset[[1]string{p.Kind}] += len(p.Unset)
		for _, block := range p.Blocks {
			c.Blocks[[3]string{p.Kind, block.Block, block.Strategy}]++
		}
		for _, condition := range p.Conditions {
			if condition.Type == "Enforced" {
				c.Enforced[[2]string{p.Kind, strings.ToLower(condition.Status)}]++
			}
		}
	}
	for i := range g.Paths {
		for kind, index := range g.Paths[i].Effective {
			effective := &g.Effective[index]
			c.Paths[[2]string{kind, strconv.FormatBool(len(effective.Rules) > 0)}]++
			for _, replaced := range effective.Replaced {
				c.Replaced[[2]string{kind, replaced.How}]++
			}
		}
	}
	return c
}
