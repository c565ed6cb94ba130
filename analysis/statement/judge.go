package statement

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Verdict is a decision as an engine makes it.
type Verdict struct {
	// Outcome is allow, deny or none at the point access; deny, partial, allow, shown or
	// hidden at visibility; allow, none or "deny STATUS" at gateway.
	Outcome string
	// Target is the path at the point gateway, "GATEWAY > ROUTE", or empty.
	Target   string
	Decision json.RawMessage
}

// Judge decides a request of a point by one revision. It returns an error if the request
// is invalid.
type Judge func(ctx context.Context, point string, request []byte) (Verdict, error)

// VerdictOf reads a decision of a point. items states whether the request had items.
func VerdictOf(point string, items bool, decision []byte) (Verdict, error) {
	var d struct {
		Allowed  bool            `json:"allowed"`
		Denied   bool            `json:"denied"`
		Decision string          `json:"decision"`
		Visible  []int           `json:"visible"`
		Status   json.RawMessage `json:"status"`
		Target   struct {
			Gateway string `json:"gateway"`
			Route   string `json:"route"`
		} `json:"target"`
	}
	if err := json.Unmarshal(decision, &d); err != nil {
		return Verdict{}, fmt.Errorf("read the decision: %w", err)
	}
	v := Verdict{Outcome: OutcomeNone, Decision: decision}
	switch {
	case point == PointVisibility && items && len(d.Visible) > 0:
		v.Outcome = OutcomeShown
	case point == PointVisibility && items:
		v.Outcome = outcomeHidden
	case point == PointVisibility:
		v.Outcome = d.Decision
	case d.Allowed:
		v.Outcome = OutcomeAllow
	case d.Denied && point == PointGateway:
		v.Outcome = OutcomeDeny + " " + string(d.Status)
	case d.Denied:
		v.Outcome = OutcomeDeny
	}
	if d.Target.Route != "" {
		v.Target = d.Target.Gateway + " > " + d.Target.Route
	}
	return v, nil
}

// Encode returns a request as JSON.
func Encode(object map[string]any) []byte {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		panic(err) // a request is made of strings, lists and maps
	}
	return []byte(strings.TrimSpace(out.String()))
}
