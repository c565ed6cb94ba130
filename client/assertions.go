package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// VerifyQuestion asks whether assertions hold for every request. Its callers must be auditors.
type VerifyQuestion struct {
	// Point is that of assertions without one: access if it is empty.
	Point string `json:"point,omitempty"`
	// Apart are lists of principals of which no user holds two.
	Apart [][]string `json:"apart,omitempty"`
	// Assertions are at most 20, each with the keys of an assertion in a document.
	Assertions []map[string]any `json:"assertions"`
	// Now is the time of the proof; nil means the server's.
	Now *time.Time `json:"now,omitempty"`
}

// Verdicts are the verdicts of assertions.
type Verdicts struct {
	// State is verified, or pending while the assertions of a new revision are not proven. It is
	// empty in the answer to a VerifyQuestion.
	State      string             `json:"state"`
	Revision   string             `json:"revision"`
	Assertions []AssertionVerdict `json:"assertions"`
}

// AssertionVerdict is the verdict of one assertion.
type AssertionVerdict struct {
	Document string `json:"document"`
	Name     string `json:"name"`
	Source   string `json:"source"`
	// Verdict is holds, fails, excepted, unknown or vacuous.
	Verdict string `json:"verdict"`
	// Failed states that the verdict is not one that the assertion allows.
	Failed bool `json:"failed"`
	// Why are the reasons of unknown.
	Why  []string `json:"why"`
	Text string   `json:"text"`
	// Witness is requests that break it; nil unless the verdict is fails.
	Witness *AssertionWitness `json:"witness"`
}

// AssertionWitness is requests that break an assertion, with their decisions.
type AssertionWitness struct {
	At       time.Time `json:"at"`
	Requests []struct {
		// World is all, without or reference.
		World    string          `json:"world"`
		Request  json.RawMessage `json:"request"`
		Outcome  string          `json:"outcome"`
		Decision json.RawMessage `json:"decision"`
	} `json:"requests"`
}

// Verify verifies assertions by the active revision.
func (c *Client) Verify(ctx context.Context, q *VerifyQuestion) (Verdicts, error) {
	return answer[Verdicts](ctx, c, http.MethodPost, "/v1/verify", q)
}

// Assertions returns the verdicts of the assertions of the active revision. Its callers must be
// auditors.
func (c *Client) Assertions(ctx context.Context) (Verdicts, error) {
	return answer[Verdicts](ctx, c, http.MethodGet, "/v1/assertions", nil)
}
