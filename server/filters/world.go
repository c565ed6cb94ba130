package filters

import (
	"sync"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// maxAsked is how many filters are made of one World: it keeps the statements of each
// principal that is asked for.
const maxAsked = 1000

// keptFor is how long the World is kept after the last filter: it has all documents of its
// revision, which may not be the served one by then.
const keptFor = time.Minute

// latest is the World of the revision that was asked for last. The places of principals are
// found once in it, and not for each filter.
var latest struct {
	mu      sync.Mutex
	of      *tables.Table // the first table of the revision
	world   *statement.World
	asked   int
	release *time.Timer
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
	if latest.release == nil {
		latest.release = time.AfterFunc(keptFor, release)
	}
	latest.release.Reset(keptFor)
	return latest.world
}

func release() {
	latest.mu.Lock()
	defer latest.mu.Unlock()
	latest.of, latest.world = nil, nil
}
