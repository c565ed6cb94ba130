package client

import (
	"context"
	"net/http"
	"net/url"
)

const (
	authorizationAPI = "authorization.k8s.io/v1"
	originAPI        = "v1"
)

// SubjectAccessReview asks whether a subject may do something, as API servers ask. Exactly
// one of Resource and NonResource is required, and one of User and Groups.
type SubjectAccessReview struct {
	User        string                 `json:"user,omitempty"`
	Groups      []string               `json:"groups,omitempty"`
	Extra       map[string][]string    `json:"extra,omitempty"`
	UID         string                 `json:"uid,omitempty"`
	Resource    *ResourceAttributes    `json:"resourceAttributes,omitempty"`
	NonResource *NonResourceAttributes `json:"nonResourceAttributes,omitempty"`
}

// ResourceAttributes are those of a request about a resource. Verb and Resource are required.
type ResourceAttributes struct {
	Namespace   string `json:"namespace,omitempty"`
	Verb        string `json:"verb,omitempty"`
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
}

// NonResourceAttributes are those of a request about a path. Both are required.
type NonResourceAttributes struct {
	Path string `json:"path,omitempty"`
	Verb string `json:"verb,omitempty"`
}

// SubjectAccessStatus is the answer to a SubjectAccessReview. Its zero value allows nothing.
// If neither Allowed nor Denied is true, another authorizer may still allow the request.
type SubjectAccessStatus struct {
	Allowed bool   `json:"allowed"`
	Denied  bool   `json:"denied"`
	Reason  string `json:"reason"`
	// EvaluationError is why the evaluation is incomplete; the request may be denied for it.
	EvaluationError string `json:"evaluationError"`
}

// SubjectAccessReview decides a review. A cluster that is not empty is the one whose request
// it is.
func (c *Client) SubjectAccessReview(ctx context.Context, cluster string, r *SubjectAccessReview) (SubjectAccessStatus, error) {
	return review[SubjectAccessStatus](ctx, c, kubernetesPath(cluster, "subjectaccessreviews"), "SubjectAccessReview", authorizationAPI, r)
}

// RulesStatus lists what the caller may do in a namespace. Each rule may be relied on.
type RulesStatus struct {
	ResourceRules    []ResourceRule    `json:"resourceRules"`
	NonResourceRules []NonResourceRule `json:"nonResourceRules"`
	// Incomplete states that more may be allowed; EvaluationError names what is left out.
	Incomplete      bool   `json:"incomplete"`
	EvaluationError string `json:"evaluationError"`
}

// ResourceRule allows verbs on resources.
type ResourceRule struct {
	Verbs         []string `json:"verbs"`
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames"`
}

// NonResourceRule allows verbs on paths.
type NonResourceRule struct {
	Verbs           []string `json:"verbs"`
	NonResourceURLs []string `json:"nonResourceURLs"`
}

// SelfSubjectRulesReview lists what the caller, whom the server authenticates, may do in a
// namespace. A cluster that is not empty is the one of the namespace.
func (c *Client) SelfSubjectRulesReview(ctx context.Context, cluster, namespace string) (RulesStatus, error) {
	spec := struct {
		Namespace string `json:"namespace"`
	}{namespace}
	return review[RulesStatus](ctx, c, kubernetesPath(cluster, "selfsubjectrulesreviews"), "SelfSubjectRulesReview", authorizationAPI, spec)
}

func kubernetesPath(cluster, resource string) string {
	path := "/apis/" + authorizationAPI + "/" + resource
	if cluster != "" {
		path = "/clusters/" + url.PathEscape(cluster) + path
	}
	return path
}

// LocalSubjectAccessReview asks whether a subject may do something in a namespace, by the
// Origin API. Verb and ResourceKind are required, and at most one of UserName and GroupName:
// without them it is about the caller.
type LocalSubjectAccessReview struct {
	Verb         string `json:"verb"`
	ResourceKind string `json:"resourceKind"`
	ResourceName string `json:"resourceName,omitempty"`
	UserName     string `json:"userName,omitempty"`
	GroupName    string `json:"groupName,omitempty"`
	// Content is the object that the request is about, as JSON; nil if it is not known.
	Content map[string]any `json:"content,omitempty"`
}

// LocalSubjectAccessStatus is the answer to a LocalSubjectAccessReview. Its zero value allows
// nothing.
type LocalSubjectAccessStatus struct {
	Allowed bool `json:"allowed"`
	// AllowReason names a rule that would allow the request, also if another one denies it.
	AllowReason     string `json:"allowReason"`
	DenyReason      string `json:"denyReason"`
	EvaluationError string `json:"evaluationError"`
}

// LocalSubjectAccessReview decides a review in a namespace.
func (c *Client) LocalSubjectAccessReview(ctx context.Context, namespace string, r *LocalSubjectAccessReview) (LocalSubjectAccessStatus, error) {
	return review[LocalSubjectAccessStatus](ctx, c, originPath(namespace, "subjectAccessReviews"), "SubjectAccessReview", originAPI, r)
}

// ResourceAccessReview asks who may do something in a namespace, by the Origin API. Verb and
// ResourceKind are required.
type ResourceAccessReview struct {
	Verb         string         `json:"verb"`
	ResourceKind string         `json:"resourceKind"`
	ResourceName string         `json:"resourceName,omitempty"`
	Content      map[string]any `json:"content,omitempty"`
}

// ResourceAccessStatus is the answer to a ResourceAccessReview: the users, service accounts
// among them, and the groups of whom each is allowed alone.
type ResourceAccessStatus struct {
	UserNames  []string `json:"userNames"`
	GroupNames []string `json:"groupNames"`
	// EvaluationError has what the lists do not: members of groups that are denied.
	EvaluationError string `json:"evaluationError"`
}

// ResourceAccessReview lists who may do something in a namespace.
func (c *Client) ResourceAccessReview(ctx context.Context, namespace string, r *ResourceAccessReview) (ResourceAccessStatus, error) {
	return review[ResourceAccessStatus](ctx, c, originPath(namespace, "resourceAccessReviews"), "ResourceAccessReview", originAPI, r)
}

func originPath(namespace, resource string) string {
	return "/api/" + originAPI + "/ns/" + url.PathEscape(namespace) + "/" + resource
}

// review sends a review of a kind and returns its status.
func review[S any](ctx context.Context, c *Client, path, kind, version string, spec any) (S, error) {
	type reviewed struct {
		Status S `json:"status"`
	}
	a, err := answer[reviewed](ctx, c, http.MethodPost, path, map[string]any{"kind": kind, "apiVersion": version, "spec": spec})
	return a.Status, err
}
