package decision

import (
	"context"
	"iter"
	"time"
)

// VisibilityRequest is a request at the visibility point, in the canonical form
// of every door. Values are those of JSON, numbers as json.Number.
type VisibilityRequest struct {
	User   string
	Groups []string
	// ServiceAccount counts only where both its parts are given.
	ServiceAccount ServiceAccount
	Action         string
	Cluster        Cluster
	Type           string
	// Items are the items to be filtered; nil means that the request has none,
	// which differs from an empty list.
	Items *[]Item
	// Aggregations are the raw values by name; nil means not given.
	Aggregations map[string]any
	// Metrics is nil where the request has none.
	Metrics map[string]any
}

// ServiceAccount names a service account.
type ServiceAccount struct {
	Namespace string
	Name      string
}

// Cluster is the cluster a request is of; an empty name means none.
type Cluster struct {
	Name   string
	Labels map[string]string
}

// Item is one thing a list shows. What is not given is empty.
type Item struct {
	Name      string
	Namespace string
	Labels    map[string]string
	Fields    map[string]any
}

// VisibilityDecision is the answer to a VisibilityRequest.
type VisibilityDecision struct {
	Authorization
	// Visible are the ascending indexes of items that may be seen.
	Visible      []int          `json:"visible"`
	Aggregations map[string]any `json:"aggregations"`
	Metrics      map[string]any `json:"metrics"`
}

// Authorization is the part of a VisibilityDecision that depends on neither
// items nor numbers, and can be kept. Its zero value is not an answer.
type Authorization struct {
	Decision    string         `json:"decision"` // allow, partial or deny
	Permissions []string       `json:"permissions"`
	Policy      string         `json:"policy"`
	Reason      string         `json:"reason"`
	Filters     map[string]any `json:"filters"`
	Matched     []Matched      `json:"matched"`
	// Trouble is why no decision could be reached, empty where one was. With
	// trouble the decision is deny and must not be kept.
	Trouble string `json:"-"`
	// Revision is the revision of the bundle that answered.
	Revision string `json:"-"`
	// Expires is the first instant at which the answer may be another, because a
	// policy of the principal begins or has ended. Zero: never within the revision.
	Expires time.Time `json:"-"`
	// Basis is what the engine found and needs for items and numbers; opaque to
	// everybody else, valid for the revision only.
	Basis any `json:"-"`
}

// Viewer answers at the visibility point. Implementations are safe for
// concurrent use and keep neither the request nor what it points to.
type Viewer interface {
	// Authorize answers all but items and numbers.
	Authorize(ctx context.Context, r *VisibilityRequest) Authorization
	// View answers the whole request.
	View(ctx context.Context, r *VisibilityRequest) VisibilityDecision
	// Show filters items as they come, in bounded memory: yield gets the index of
	// each item that may be seen. What it returns is the rest of the decision, with
	// no Visible; the error is of items.
	Show(ctx context.Context, r *VisibilityRequest, items iter.Seq2[Item, error], yield func(index int) error) (VisibilityDecision, error)
	// Fill is Show for a request that has an authorization: one that Authorize gave
	// for an equal request but for items and numbers, and that has not expired. Where
	// it is of another revision, Fill authorizes anew. Without items, nil, the
	// request has none.
	Fill(ctx context.Context, r *VisibilityRequest, a Authorization, items iter.Seq2[Item, error], yield func(index int) error) (VisibilityDecision, error)
}

// The values of Authorization.Decision.
const (
	VisibleAll  = "allow"
	VisibleSome = "partial"
	VisibleNone = "deny"
)

// Actions at the visibility point. An empty action is ActionView.
const (
	ActionView        = "view"
	ActionViewMetrics = "viewMetrics"
)

// DenyVisibility is the authorization where none could be reached.
func DenyVisibility(trouble string) Authorization {
	return Authorization{
		Decision: VisibleNone, Reason: "denied: trouble while evaluating: " + trouble, Trouble: trouble,
		Permissions: []string{}, Filters: map[string]any{}, Matched: []Matched{},
	}
}

// All is the request's items as Show takes them, nil where it has none.
func (r *VisibilityRequest) All() iter.Seq2[Item, error] {
	if r.Items == nil {
		return nil
	}
	return func(yield func(Item, error) bool) {
		for _, item := range *r.Items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// ViewBy answers a whole request by v's Fill, with an authorization that is kept.
func ViewBy(ctx context.Context, v Viewer, r *VisibilityRequest, a Authorization) VisibilityDecision {
	visible := []int{}
	// Neither the request's own items nor collecting indexes can fail.
	d, _ := v.Fill(ctx, r, a, r.All(), func(index int) error {
		visible = append(visible, index)
		return nil
	})
	if d.Decision == VisibleNone {
		visible = []int{} // trouble may have come after the first items
	}
	d.Visible = visible
	return d
}
