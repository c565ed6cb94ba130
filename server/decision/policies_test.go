package decision

import (
	"encoding/json"
	"strings"
	"testing"
)

// Without a revision every request is denied with the same reason.
func TestUnavailable(t *testing.T) {
	const reason = "no revision loaded"
	p, ctx := Unavailable(reason), t.Context()
	r := &VisibilityRequest{Items: &[]Item{{Name: "a"}}}
	whole := DecideVisibility(ctx, p, r, p.Visibility(ctx, r))
	gateway, refused := p.Gateway(ctx, &GatewayRequest{})
	if refused != nil {
		t.Error(refused)
	}
	d := p.Access(ctx, &Request{})
	for name, row := range map[string]struct {
		outcome Outcome
		failure string
	}{
		"access":     {d.Settle(), d.EvaluationError},
		"visibility": {whole.Settle(), whole.EvaluationError},
		"gateway":    {gateway.Settle(), gateway.EvaluationError},
		"policies":   {EvaluationError, p.ListPolicies(ctx, Principal{}).EvaluationError},
		"permission": {EvaluationError, p.ListPermissions(ctx, Principal{}, nil, nil).EvaluationError},
		"types":      {EvaluationError, p.ListCustomTypes(ctx, Principal{}).EvaluationError},
	} {
		if row.outcome != EvaluationError || row.failure != reason {
			t.Errorf("%s: got outcome %d, %q", name, row.outcome, row.failure)
		}
	}
	if d.Allowed || !d.Denied || d.Reason != "denied: evaluation error: "+reason || whole.Decision != VisibleNone || gateway.Allowed || !gateway.Denied {
		t.Errorf("got %+v, %+v, %+v", d, whole, gateway)
	}
	for name, list := range map[string]any{"visibility": whole, "gateway": gateway, "access": d} {
		text, err := json.Marshal(list)
		if err != nil || strings.Contains(string(text), "null") {
			t.Errorf("%s: got %s, %v, want lists and not null", name, text, err)
		}
	}
	if p.Keeps(r, &Authorization{}, nil) || p.Loaded().Revision != "" || p.Loaded().Sequence != 0 {
		t.Error("got a revision, want none")
	}
}

func TestSettle(t *testing.T) {
	for _, row := range []struct {
		name    string
		d       Decision
		want    Outcome
		allowed bool
		denied  bool
	}{
		{"no opinion", Decision{}, NoOpinion, false, false},
		{"allowed", Decision{Allowed: true}, Allow, true, false},
		{"denied", Decision{Denied: true}, Deny, false, true},
		{"both", Decision{Allowed: true, Denied: true}, Deny, false, true},
		{"allowed after an error", Decision{Allowed: true, EvaluationError: "x"}, EvaluationError, false, true},
	} {
		d := row.d
		if got := d.Settle(); got != row.want || d.Allowed != row.allowed || d.Denied != row.denied {
			t.Errorf("%s: got %d, %+v", row.name, got, d)
		}
	}
}
