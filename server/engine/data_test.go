package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// The data for OPA is released when it is not in use, made again when it is, and never made
// above the bound.
func TestDataIsReleased(t *testing.T) {
	e := activate(t, fixture())
	query := decision.DataQuery{Path: []string{"compiled"}}
	ask := func() error {
		answer, err := e.Data(t.Context(), query)
		if err == nil && !strings.Contains(string(answer.Result), "everybody") {
			t.Errorf("got %.200s", answer.Result)
		}
		return err
	}
	isHeld := func() bool {
		e.data.mu.Lock()
		defer e.data.mu.Unlock()
		return e.data.store != nil
	}
	if isHeld() {
		t.Error("the data is there before a query")
	}
	for range 3 {
		e.data.keep = time.Hour
		if err := ask(); err != nil || !isHeld() {
			t.Fatalf("got %v", err)
		}
		e.data.keep = time.Millisecond
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); isHeld(); <-time.After(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("data that is not in use is kept")
			}
		}
	}
	e.data.max = 10
	if err := ask(); err == nil || !strings.Contains(err.Error(), "more than 10 are not read") || isHeld() {
		t.Errorf("got %v, want the bound", err)
	}
}
