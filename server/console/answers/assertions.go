package answers

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

// Proofs verify assertions.
type Proofs interface {
	Served() any
	Verify(ctx context.Context, p decision.Policies, body []byte) (any, *exchange.Refusal)
}

// Assertions implements console.Viewer.
func (v *viewer) Assertions(c console.Caller) (*console.Assertions, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	if v.x.o.Proofs == nil {
		return &console.Assertions{}, nil
	}
	return assertionsOf(v.x.o.Proofs.Served()), nil
}

// Verify implements console.Viewer.
func (v *viewer) Verify(ctx context.Context, c console.Caller, body []byte) (*console.Assertions, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	if v.x.o.Proofs == nil {
		return nil, console.Errorf(console.NotReady, "the server verifies no assertions")
	}
	report, refused := v.x.o.Proofs.Verify(ctx, v.policies, body)
	switch {
	case refused == nil:
		return assertionsOf(report), nil
	case refused.Status == http.StatusBadRequest:
		return nil, &console.Error{Reason: console.Invalid, Message: refused.Message, Field: refused.Field, Code: refused.Code}
	}
	return nil, console.Errorf(console.Busy, "%s", refused.Message)
}

// assertionsOf reads verdicts from their JSON.
func assertionsOf(verdicts any) *console.Assertions {
	out := new(console.Assertions)
	text, err := json.Marshal(verdicts)
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		panic(err) // console.Assertions has the types of what the endpoint shows
	}
	return out
}
