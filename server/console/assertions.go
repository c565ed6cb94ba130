package console

import (
	"encoding/json"
	"time"
)

// Assertions are the verdicts of assertions, as GET /v1/assertions shows them.
type Assertions struct {
	// State is verified, pending or error; Problem is why they cannot be verified.
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"`
	// Refused is the newest revision, if it breaks an assertion; nil otherwise.
	Refused *AssertionsStatus `json:"refused,omitempty"`
	Results []Verdict         `json:"assertions"`
}

// Verdict is the verdict of an assertion.
type Verdict struct {
	Document string `json:"document"`
	Name     string `json:"name"`
	Source   string `json:"source"`
	Point    string `json:"point"`
	// Verdict is holds, fails, excepted, unknown or vacuous.
	Verdict string   `json:"verdict"`
	Failed  bool     `json:"failed"`
	Why     []string `json:"why"`
	Text    string   `json:"text"`
	Witness *struct {
		At       time.Time         `json:"at"`
		In       string            `json:"in"`
		Place    map[string]string `json:"place,omitempty"`
		Path     string            `json:"path,omitempty"`
		Requests []struct {
			World   string          `json:"world"`
			Request json.RawMessage `json:"request"`
			Outcome string          `json:"outcome"`
		} `json:"requests"`
	} `json:"witness,omitempty"`
	Documents []struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Rule      any    `json:"rule"`
		Source    string `json:"source"`
	} `json:"documents"`
	// Exceptions are those in force.
	Exceptions []struct {
		Reason string    `json:"reason"`
		Until  time.Time `json:"until"`
	} `json:"exceptions,omitempty"`
	Notes []struct {
		Text string `json:"text"`
	} `json:"notes"`
}
