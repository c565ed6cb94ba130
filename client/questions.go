package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
)

// WhoCanQuestion asks who may do something. Its callers must be auditors.
type WhoCanQuestion struct {
	// Request has the members of an access request that are known, such as verb, resource and
	// namespace, without user and groups.
	Request map[string]any `json:"request"`
	// Open are the members that may have any value. Nil leaves the name and all facts open
	// that Request does not have.
	Open []string `json:"open,omitempty"`
	// Potential adds who could get it.
	Potential bool `json:"potential,omitempty"`
}

// WhoCan is the answer to a WhoCanQuestion.
type WhoCan struct {
	// Users, Groups and ServiceAccounts may do it, each alone, in some request of the question.
	Users           []string `json:"users"`
	Groups          []string `json:"groups"`
	ServiceAccounts []string `json:"serviceAccounts"`
	// Subjects are the same, with the reason.
	Subjects []WhoCanSubject `json:"subjects"`
	// Potential are those who could get it, nil unless the question asks for them.
	Potential []WhoCanPotential `json:"potential"`
	Warnings  []string          `json:"warnings"`
	Revision  string            `json:"revision"`
}

// WhoCanSubject is a subject who may do it.
type WhoCanSubject struct {
	// Subject is user:NAME, group:NAME or serviceAccount:NAMESPACE:NAME.
	Subject string `json:"subject"`
	// Verdict is always if all requests of the question are allowed, and otherwise sometimes.
	Verdict string `json:"verdict"`
	// Text is the reason, and on what it depends.
	Text string `json:"text"`
	// Example is a request that is allowed, Counterexample one that is not; nil without one.
	Example        map[string]any `json:"example"`
	Counterexample map[string]any `json:"counterexample"`
}

// WhoCanPotential is a subject who could get it: a group by an escalation that it may
// request, or the user of a session that begins later.
type WhoCanPotential struct {
	Subject string `json:"subject"`
	// Escalation is NAMESPACE/NAME, Group what it lends and Clusters where; empty for a
	// session, as is Verdict.
	Escalation string   `json:"escalation"`
	Group      string   `json:"group"`
	Clusters   []string `json:"clusters"`
	Verdict    string   `json:"verdict"`
	// Approval is who approves a request; nil for a session.
	Approval *WhoCanApproval `json:"approval"`
	// Session begins at From and ends at Until, which are empty where that is not known.
	Session string `json:"session"`
	From    string `json:"from"`
	Until   string `json:"until"`
}

// WhoCanApproval is who approves a request for an escalation.
type WhoCanApproval struct {
	Users  []string `json:"users"`
	Groups []string `json:"groups"`
	// SelfApproval states that who requests it may approve it too.
	SelfApproval bool `json:"selfApproval"`
	// Domains are those that addresses of approvers must have; empty for any.
	Domains []string `json:"domains"`
}

// WhoCan lists who may do something.
func (c *Client) WhoCan(ctx context.Context, q *WhoCanQuestion) (WhoCan, error) {
	return answer[WhoCan](ctx, c, http.MethodPost, "/v1/who-can", q)
}

// WhatCanQuestion asks what a subject may do. User or Groups are required. About others than
// the caller, only auditors may ask.
type WhatCanQuestion struct {
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Namespace limits the question to requests in it; empty to those without one, unless
	// Open has namespace.
	Namespace string   `json:"namespace,omitempty"`
	Open      []string `json:"open,omitempty"`
}

// WhatCan is the answer to a WhatCanQuestion.
type WhatCan struct {
	// Resources are the allow rules that allow the subject something.
	Resources []WhatCanRule `json:"resources"`
	Warnings  []string      `json:"warnings"`
	Revision  string        `json:"revision"`
}

// WhatCanRule is an allow rule. ResourceKinds are those of an Origin rule.
type WhatCanRule struct {
	Verbs           []string   `json:"verbs"`
	APIGroups       []string   `json:"apiGroups"`
	Resources       []string   `json:"resources"`
	ResourceNames   []string   `json:"resourceNames"`
	NonResourceURLs []string   `json:"nonResourceURLs"`
	ResourceKinds   []string   `json:"resourceKinds"`
	Namespaces      Namespaces `json:"namespaces"`
	// Verdict is always if the rule allows all that it names, and otherwise sometimes.
	Verdict string `json:"verdict"`
}

// Namespaces are names of namespaces, or "*" alone for all of them.
type Namespaces []string

// UnmarshalJSON reads a list, or "*".
func (n *Namespaces) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte(`"`)) {
		*n = make(Namespaces, 1)
		return json.Unmarshal(text, &(*n)[0])
	}
	return json.Unmarshal(text, (*[]string)(n))
}

// WhatCan lists what a subject may do.
func (c *Client) WhatCan(ctx context.Context, q *WhatCanQuestion) (WhatCan, error) {
	return answer[WhatCan](ctx, c, http.MethodPost, "/v1/what-can", q)
}

// EscalationsQuestion asks who may request which group, and who may approve that. Its
// callers must be auditors. The zero value asks for all escalations.
type EscalationsQuestion struct {
	// Name is NAME or NAMESPACE/NAME of an escalation.
	Name string `json:"name,omitempty"`
	// Cluster selects the escalations that can be requested on it, with the terms there.
	Cluster string `json:"cluster,omitempty"`
}

// Escalation is a group that can be requested for a time.
type Escalation struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Group     string `json:"group"`
	// Clusters are globs of the clusters on which it can be requested.
	Clusters []string `json:"clusters"`
	// Ready is false if the cluster refuses requests, nil if that is not known.
	Ready   *bool           `json:"ready"`
	Request EscalationRoles `json:"request"`
	Approve EscalationRoles `json:"approve"`
	// SelfApproval and Domains are the terms on clusters that PerCluster does not list.
	PerCluster   []EscalationTerms `json:"perCluster"`
	SelfApproval bool              `json:"selfApproval"`
	Domains      []string          `json:"domains"`
	// Both are the groups whose members may request and approve.
	Both         []string `json:"both"`
	DenyPolicies []string `json:"denyPolicies"`
	// Sessions is how many sessions of the escalation are valid.
	Sessions int    `json:"sessions"`
	Source   string `json:"source"`
}

// EscalationRoles are those who may request, or those who may approve. IdentityProviders is
// nil for any.
type EscalationRoles struct {
	Users             []string `json:"users"`
	Groups            []string `json:"groups"`
	IdentityProviders []string `json:"identityProviders"`
}

// EscalationTerms are the terms on a cluster: whether those who request may approve their
// own request, and the domains of addresses of approvers.
type EscalationTerms struct {
	Cluster      string   `json:"cluster"`
	SelfApproval bool     `json:"selfApproval"`
	Domains      []string `json:"domains"`
}

// Escalations lists who may request which group, and who may approve that.
func (c *Client) Escalations(ctx context.Context, q *EscalationsQuestion) ([]Escalation, error) {
	type escalations struct {
		Escalations []Escalation `json:"escalations"`
	}
	a, err := answer[escalations](ctx, c, http.MethodPost, "/v1/escalations", q)
	return a.Escalations, err
}
