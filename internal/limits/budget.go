package limits

import "sync/atomic"

// Budget is an amount that requests share, in units of the caller's choice. The zero
// value has no limit. It is safe for concurrent use.
type Budget struct {
	limit int64
	small int64 // larger claims leave reserve free
	held  atomic.Int64
}

// reserve is the share of a budget that is left to small claims: one part of so many.
const reserve = 4

// NewBudget returns a budget of limit units. Zero or less is unlimited.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// NewReserved is NewBudget, but claims of more than small units leave a quarter of the
// budget to smaller ones: few large requests must not keep out all others.
func NewReserved(limit, small int64) *Budget { return &Budget{limit: limit, small: small} }

// Acquire takes n units and reports whether there were as many.
func (b *Budget) Acquire(n int64) bool {
	limit := b.limit
	if b.small > 0 && n > b.small {
		limit -= limit / reserve
	}
	if b.held.Add(n) > limit && b.limit > 0 {
		b.held.Add(-n)
		return false
	}
	return true
}

// Release gives n units back.
func (b *Budget) Release(n int64) { b.held.Add(-n) }

// Held is the number of units in use.
func (b *Budget) Held() int64 { return b.held.Load() }
