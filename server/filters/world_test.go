package filters

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// oneTable is a revision with a table.
type oneTable struct {
	decision.Unavailable
	of *tables.Revision
}

func (o oneTable) Tables() *tables.Revision { return o.of }

// The World is one for filters that follow each other, and does not stay in memory after the
// last one: the revision that it has the documents of is not served by then.
func TestWorldIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() { latest.release = nil }() // a timer of these clocks
		p := oneTable{of: &tables.Revision{Tables: tables.List{new(tables.Access), new(tables.Deny)}}}
		first := worldOf(p)
		time.Sleep(keptFor - time.Second)
		if first == nil || worldOf(p) != first {
			t.Error("got another World of the same revision, want the one that is there")
		}
		time.Sleep(keptFor + time.Second)
		synctest.Wait()
		if latest.world != nil || latest.of != nil {
			t.Error("a minute after the last filter the World is still there")
		}
		if again := worldOf(p); again == nil || again == first {
			t.Error("got no World of its own after that")
		}
	})
}
