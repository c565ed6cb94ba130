package decision

import (
	"context"
	"crypto/sha256"
	"iter"
	"time"

	"github.com/writ-policy/writ/translator/tables"
)

// VisibilityRequest is a request at the visibility point, in the canonical form
// of every protocol. Values are those of JSON, numbers as json.Number.
type VisibilityRequest struct {
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// ServiceAccount is ignored unless both its parts are set.
	ServiceAccount ServiceAccount `json:"serviceAccount,omitzero"`
	Action         string         `json:"action,omitempty"`
	Cluster        Cluster        `json:"cluster,omitzero"`
	Type           string         `json:"type,omitempty"`
	// Items are the items to be filtered; nil means that the request has none,
	// which differs from an empty list.
	Items *[]Item `json:"items,omitempty"`
	// Aggregations are the raw values by name; nil means not given.
	Aggregations map[string]any `json:"aggregations,omitzero"`
	// Metrics is nil if the request has none.
	Metrics map[string]any `json:"metrics,omitzero"`
}

// ServiceAccount names a service account.
type ServiceAccount struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Cluster is the cluster of a request; an empty name means no cluster.
type Cluster struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitzero"`
}

// ClusterLabels returns the labels of a cluster, nil if they are not known. Requests are decoded
// with it, because they may leave the labels of their cluster out. Nil knows those of no cluster.
type ClusterLabels func(cluster string) map[string]string

// Item is one element of a list. Absent keys leave their fields empty.
type Item struct {
	Name      string            `json:"name,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels,omitzero"`
	Fields    map[string]any    `json:"fields,omitzero"`
}

// VisibilityDecision is the answer to a VisibilityRequest.
type VisibilityDecision struct {
	Authorization
	// Visible holds the indexes of the visible items, ascending.
	Visible      []int          `json:"visible"`
	Aggregations map[string]any `json:"aggregations"`
	Metrics      map[string]any `json:"metrics"`
}

// Authorization is the part of a VisibilityDecision that depends on neither
// items nor numbers, and can be cached. Its zero value is not a valid answer.
type Authorization struct {
	Decision    string         `json:"decision"` // allow, partial or deny
	Permissions []string       `json:"permissions"`
	Policy      string         `json:"policy"`
	Reason      string         `json:"reason"`
	Filters     map[string]any `json:"filters"`
	Matched     []Matched      `json:"matched"`
	// EvaluationError describes why the evaluation failed; empty if it succeeded. With
	// an evaluation error the decision is deny and must not be cached.
	EvaluationError string `json:"-"`
	// Revision is the revision of the bundle that answered.
	Revision string `json:"-"`
	// Cached states that the authorization was made for an earlier request.
	Cached bool `json:"-"`
	// Expires is the first instant at which the answer may differ, because a policy of
	// the principal begins or has ended. Zero means never within the revision.
	Expires time.Time `json:"-"`
	// Encoded is the JSON form, if Encode has made it.
	Encoded []byte `json:"-"`
	// Basis holds the engine's own data for filtering items and computing numbers. It
	// is opaque to other packages and valid for the revision only.
	Basis any `json:"-"`
	// Documents is a hash of the policies and sources that decided, without their positions;
	// zero if that is not known.
	Documents [sha256.Size]byte `json:"-"`
}

// DecidedBy returns the rules that decided, and whether the authorization was cached.
func (a *Authorization) DecidedBy() (matched []Matched, cached bool) { return a.Matched, a.Cached }

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

// DeniedAuthorization returns the authorization if no policy grants anything.
func DeniedAuthorization(reason string) Authorization {
	return Authorization{
		Decision: VisibleNone, Reason: reason,
		Permissions: []string{}, Filters: map[string]any{}, Matched: []Matched{},
	}
}

// All returns an iterator over the items for Policies.FilterItems; nil if r has none.
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

// DecideVisibility completes a, an authorization by p of an equal request, to a whole
// decision.
func DecideVisibility(ctx context.Context, p Policies, r *VisibilityRequest, a Authorization) VisibilityDecision {
	visible := []int{}
	// Neither the request's own items nor collecting indexes can fail.
	d, _ := p.FilterItems(ctx, r, a, r.All(), func(index int) error {
		visible = append(visible, index)
		return nil
	})
	if d.Decision == VisibleNone {
		visible = []int{} // an evaluation error may have followed the first items
	}
	d.Visible = visible
	return d
}

// Names returns the names of the request's principal: its user, and its service
// account if both parts of that are set.
func (r *VisibilityRequest) Names() []string {
	var names []string
	if r.User != "" {
		names = append(names, r.User)
	}
	if a := r.ServiceAccount; a.Namespace != "" && a.Name != "" {
		names = append(names, tables.Account(a.Namespace, a.Name))
	}
	return names
}

// IsCustom reports whether the request is of a custom type, and not of the cluster
// itself or a standard one.
func (r *VisibilityRequest) IsCustom() bool {
	switch r.Type {
	case "", "nodes", "namespaces", "operators", "pods", "alerts", "events":
		return false
	}
	return true
}
