package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// ReachQuestion asks who can become whom, step by step. Its callers must be auditors. The zero
// value asks who can become an administrator.
type ReachQuestion struct {
	// From are subjects to begin with, each as principals joined by commas; none stands for
	// every subject that documents name.
	From []string
	// To are targets: a principal, cluster-admin, namespace-admin:NAMESPACE,
	// ROLE:[NAMESPACE/]NAME or any. None stands for the administrators of the cluster and of each
	// namespace.
	To []string
	// Class is the worst class of a path: certain, assumed or possible; empty for possible.
	Class string
	// Paths is how many paths of each pair are returned; zero means 1.
	Paths int
	// Namespace selects the administrators of one namespace, Cluster states a cluster.
	Namespace string
	Cluster   string
}

// Reach is the answer to a ReachQuestion.
type Reach struct {
	Revision string `json:"revision"`
	Now      string `json:"now"`
	// Paths are the best paths of each pair.
	Paths []ReachPath `json:"paths"`
	// Summary counts the pairs by the class of their best path.
	Summary map[string]int `json:"summary"`
	// Cuts are grants without which pairs have no path; only of questions with From or To.
	Cuts []ReachCut `json:"cuts"`
	// NotCovered is what the answer does not know.
	NotCovered []string `json:"notCovered"`
}

// ReachPath leads from an identity to a target.
type ReachPath struct {
	From ReachIdentity `json:"from"`
	To   string        `json:"to"`
	// Class is certain, assumed or possible: that of the worst hop, or possible with a Why.
	Class string     `json:"class"`
	Hops  []ReachHop `json:"hops"`
	// Why is on what it depends whether who the last hop leads to has all of a role.
	Why []string `json:"why,omitempty"`
}

// ReachIdentity is who a request says it is.
type ReachIdentity struct {
	User       string   `json:"user"`
	Groups     []string `json:"groups"`
	Session    string   `json:"session"`
	Escalation string   `json:"escalation"`
	// Acting is nil for an identity that holds credentials.
	Acting *ReachActing `json:"acting"`
	// Sink is "cluster-admin" for an administrator without a name.
	Sink string `json:"sink"`
}

// ReachActing is who impersonates, and in which mode.
type ReachActing struct {
	By   ReachIdentity `json:"by"`
	Mode string        `json:"mode"`
}

// ReachHop is a step of a path: requests that are all allowed to one identity, and whom it
// becomes by them, or which documents it changes.
type ReachHop struct {
	Edge     string           `json:"edge"`
	Class    string           `json:"class"`
	As       ReachIdentity    `json:"as"`
	Requests []map[string]any `json:"requests"`
	// Assumes is what must exist or run, Why the facts that a possible hop depends on, and Facts
	// values with which it is allowed.
	Assumes []string       `json:"assumes"`
	Why     []string       `json:"why"`
	Facts   map[string]any `json:"facts"`
	// Becomes is nil where documents change: Adds are written, Removes are gone.
	Becomes *ReachIdentity   `json:"becomes"`
	Adds    []map[string]any `json:"adds"`
	Removes []map[string]any `json:"removes"`
	Grants  []ReachGrant     `json:"grants"`
	Text    string           `json:"text"`
}

// ReachGrant is the rule that allows a request of a hop.
type ReachGrant struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      int    `json:"rule"`
	Source    string `json:"source"`
}

// ReachCut is a grant without which some pairs have no path, together with those before it.
type ReachCut struct {
	ReachGrant
	Paths int `json:"paths"`
}

// Reach lists who can become whom.
func (c *Client) Reach(ctx context.Context, q ReachQuestion) (*Reach, error) {
	values := url.Values{}
	for name, list := range map[string][]string{"from": q.From, "to": q.To} {
		if len(list) > 0 {
			values[name] = list
		}
	}
	for name, value := range map[string]string{"class": q.Class, "namespace": q.Namespace, "cluster": q.Cluster} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.Paths != 0 {
		values.Set("paths", strconv.Itoa(q.Paths))
	}
	r, err := answer[Reach](ctx, c, http.MethodGet, "/v1/reach?"+values.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return &r, nil
}
