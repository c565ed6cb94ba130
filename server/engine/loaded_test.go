package engine

import (
	"runtime"
	"testing"
	"weak"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// A list that is kept for a caller names its revision, and holds neither its rules nor its tables.
func TestLoadedDoesNotHoldTheEngine(t *testing.T) {
	loaded, engine := func() (*decision.Loaded, weak.Pointer[Engine]) {
		e := activate(t, new(tables.Access))
		return e.Loaded(), weak.Make(e)
	}()
	for range 10 {
		runtime.GC()
		if engine.Value() == nil {
			break
		}
	}
	if engine.Value() != nil {
		t.Errorf("the engine of revision %q is held", loaded.Revision)
	}
	runtime.KeepAlive(loaded)
}
