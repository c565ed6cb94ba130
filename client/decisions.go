package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// Requests and decisions, the types of package writ.
type (
	// AccessRequest asks whether a subject may do something. Verb, Resource or Path, and
	// User or Groups are required.
	AccessRequest = decision.Request
	// AccessDecision is the answer. Its zero value allows nothing.
	AccessDecision = decision.Decision
	// VisibilityRequest asks what a principal may see of a cluster.
	VisibilityRequest = decision.VisibilityRequest
	// VisibilityDecision is the answer.
	VisibilityDecision = decision.VisibilityDecision
	// GatewayRequest has the attributes of a request through a gateway, by Envoy's names.
	GatewayRequest = decision.GatewayRequest
	// GatewayDecision is the answer.
	GatewayDecision = decision.GatewayDecision
)

const decisionsPath = "/v1/decisions/"

// Access decides at the access point. The Revision of the decision is set.
func (c *Client) Access(ctx context.Context, r *AccessRequest) (AccessDecision, error) {
	return decide(ctx, c, decision.Access, json.RawMessage(r.Encode()), func(d *AccessDecision) *string { return &d.Revision })
}

// Visibility decides at the visibility point. The Revision of the decision is set.
func (c *Client) Visibility(ctx context.Context, r *VisibilityRequest) (VisibilityDecision, error) {
	return decide(ctx, c, decision.Visibility, r, func(d *VisibilityDecision) *string { return &d.Revision })
}

// Gateway decides at the gateway point. The Revision of the decision is set.
func (c *Client) Gateway(ctx context.Context, r *GatewayRequest) (GatewayDecision, error) {
	return decide(ctx, c, decision.Gateway, r.Attributes, func(d *GatewayDecision) *string { return &d.Revision })
}

// decide asks for a decision, which is the zero value beside an error.
func decide[D any](ctx context.Context, c *Client, point string, request any, revisionOf func(*D) *string) (D, error) {
	var d, none D
	body, err := json.Marshal(request)
	if err != nil {
		return none, err
	}
	if *revisionOf(&d), err = c.call(ctx, http.MethodPost, decisionsPath+point, body, &d); err != nil {
		return none, err
	}
	return d, nil
}

// Item is the answer to one request of a batch.
type Item[D any] struct {
	Decision D
	// Invalid is why the request is malformed; nil if Decision is its decision.
	Invalid *InvalidRequest
}

// AccessBatch decides several requests, at most 10,000, by one revision. The items are in
// the order of the requests.
func (c *Client) AccessBatch(ctx context.Context, requests []*AccessRequest) ([]Item[AccessDecision], error) {
	return batch[AccessDecision](ctx, c, decision.Access, len(requests), func(i int) (json.RawMessage, error) {
		return requests[i].Encode(), nil
	})
}

// VisibilityBatch is AccessBatch at the visibility point.
func (c *Client) VisibilityBatch(ctx context.Context, requests []*VisibilityRequest) ([]Item[VisibilityDecision], error) {
	return batch[VisibilityDecision](ctx, c, decision.Visibility, len(requests), func(i int) (json.RawMessage, error) {
		return json.Marshal(requests[i])
	})
}

// GatewayBatch is AccessBatch at the gateway point.
func (c *Client) GatewayBatch(ctx context.Context, requests []*GatewayRequest) ([]Item[GatewayDecision], error) {
	return batch[GatewayDecision](ctx, c, decision.Gateway, len(requests), func(i int) (json.RawMessage, error) {
		return json.Marshal(requests[i].Attributes)
	})
}

func batch[D any](ctx context.Context, c *Client, point string, n int, request func(int) (json.RawMessage, error)) ([]Item[D], error) {
	sent := struct {
		Requests []json.RawMessage `json:"requests"`
	}{make([]json.RawMessage, n)}
	for i := range sent.Requests {
		var err error
		if sent.Requests[i], err = request(i); err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
	}
	type decisions struct{ Decisions []json.RawMessage }
	got, err := answer[decisions](ctx, c, http.MethodPost, decisionsPath+point+"/batch", sent)
	if err != nil {
		return nil, err
	}
	if len(got.Decisions) != n {
		return nil, fmt.Errorf("the answer has %d decisions on %d requests", len(got.Decisions), n)
	}
	items := make([]Item[D], n)
	for i, text := range got.Decisions {
		var refused struct{ Error *InvalidRequest }
		if err := json.Unmarshal(text, &refused); err != nil {
			return nil, fmt.Errorf("read decision %d: %w", i, err)
		}
		if items[i].Invalid = refused.Error; refused.Error != nil {
			continue
		}
		if err := json.Unmarshal(text, &items[i].Decision); err != nil {
			return nil, fmt.Errorf("read decision %d: %w", i, err)
		}
	}
	return items, nil
}

// Status is what a server serves.
type Status struct {
	Version string `json:"version"`
	// Ready reports whether the server answers requests, Degraded whether it does so by
	// documents older than the newest.
	Ready    bool `json:"ready"`
	Degraded bool `json:"degraded"`
	// Revision is active since Since.
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	// Errors and Warnings count the mistakes in the documents that were read last.
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	// LastError is why the newest documents are not active; only auditors see it.
	LastError string `json:"lastError"`
}

// Status returns the status of the server.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return answer[Status](ctx, c, http.MethodGet, "/v1/status", nil)
}
