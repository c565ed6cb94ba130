package memory

import "sync/atomic"

// Budget is an amount that requests share, in units of the caller's choice. The zero
// value has no limit. It is safe for concurrent use.
type Budget struct {
	limit int64
	held  atomic.Int64
}

// NewBudget returns a budget of limit units. Zero or less is unlimited.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Acquire takes n units and reports whether there were as many.
func (b *Budget) Acquire(n int64) bool {
	if b.held.Add(n) > b.limit && b.limit > 0 {
		b.held.Add(-n)
		return false
	}
	return true
}

// Release gives n units back.
func (b *Budget) Release(n int64) { b.held.Add(-n) }

// Held is the number of units in use.
func (b *Budget) Held() int64 { return b.held.Load() }
