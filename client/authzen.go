package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Evaluation is a request of the OpenID AuthZEN Authorization API 1.0.
type Evaluation struct {
	Subject  Entity         `json:"subject"`
	Action   Action         `json:"action"`
	Resource Entity         `json:"resource"`
	Context  map[string]any `json:"context,omitempty"`
}

// Entity is a subject or a resource.
type Entity struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	// Properties may be nil. The server adds those of its inventory that are left out.
	Properties map[string]any `json:"properties,omitempty"`
}

// Action is what the subject does.
type Action struct {
	Name       string         `json:"name"`
	Properties map[string]any `json:"properties,omitempty"`
}

// EvaluationDecision is the answer to an Evaluation. Its zero value permits nothing.
type EvaluationDecision struct {
	Decision bool `json:"decision"`
	// Context is the decision at the access point.
	Context AccessDecision `json:"context"`
}

// Evaluate decides an evaluation.
func (c *Client) Evaluate(ctx context.Context, e *Evaluation) (d EvaluationDecision, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return d, err
	}
	d.Context.Revision, err = c.call(ctx, http.MethodPost, "/access/v1/evaluation", body, &d)
	if err != nil {
		return EvaluationDecision{}, err
	}
	return d, nil
}
