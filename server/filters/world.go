package filters

import (
	"sync"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// maxAsked is how many filters are made of one World: it keeps the statements of each
// principal that is asked for.
const maxAsked = 1000

// latest is the World of the revision that was asked for last. The places of principals are
// found once in it, and not for each filter.
var latest struct {
	mu    sync.Mutex
	of    *tables.Table // the first table of the revision
	world *statement.World
	asked int
}

// worldOf returns all documents of the revision, nil if its bundle lacks what filters are made
// of.
func worldOf(p decision.Policies) *statement.World {
	list := p.Tables().Tables
	if len(list) == 0 {
		return nil
	}
	latest.mu.Lock()
	defer latest.mu.Unlock()
	if latest.of != &list[0] || latest.asked == maxAsked {
		latest.of, latest.world, latest.asked = &list[0], statement.WholeOf(p), 0
	}
	latest.asked++
	return latest.world
}
