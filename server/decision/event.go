package decision

import (
	"context"
	"time"
)

// Event is one decision, for a log of decisions.
type Event struct {
	// ID identifies the decision; empty means that the log makes one.
	ID       string
	Point    string
	Revision string
	// RequestedBy is the address of the sender.
	RequestedBy string
	Time        time.Time
	// Input is the request and Result the decision, both JSON.
	Input, Result []byte
}

// Log records decisions for collectors. Implementations do not block.
type Log interface {
	Log(e Event)
}

type idKey struct{}

// WithID returns a context of a decision that has an id.
func WithID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, idKey{}, id)
}

// IDOf returns the id of a decision, empty if it has none.
func IDOf(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}
