package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/writ-policy/writ/server/auth"
)

// inCluster stands for the service account of the pod that runs the server, in place of
// a kubeconfig file.
const inCluster = "in-cluster"

// reviewTimeout bounds a request for a token review.
const reviewTimeout = 5 * time.Second

// tokenReview is a TokenReview of authentication.k8s.io/v1, as far as it is used.
type tokenReview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Token     string   `json:"token"`
		Audiences []string `json:"audiences,omitempty"`
	} `json:"spec"`
	Status struct {
		Authenticated bool `json:"authenticated"`
		User          struct {
			Username string   `json:"username"`
			UID      string   `json:"uid"`
			Groups   []string `json:"groups"`
		} `json:"user"`
		Audiences []string `json:"audiences"`
		Error     string   `json:"error"`
	} `json:"status"`
}

// TokenReviews returns a function that asks an API server whose token it is, for
// auth.NewReviews. A token must be issued for one of the audiences; without audiences, for
// the API server itself. It returns an error if the kubeconfig cannot be read.
func TokenReviews(kubeconfig string, audiences []string) (func(context.Context, string) (*auth.Caller, error), error) {
	entry := &clusterEntry{Kubeconfig: kubeconfig, InCluster: kubeconfig == inCluster}
	c, err := newClient(entry, Options{Timeout: reviewTimeout})
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of token reviews: %w", err)
	}
	return func(ctx context.Context, token string) (*auth.Caller, error) {
		review := tokenReview{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}
		review.Spec.Token, review.Spec.Audiences = token, audiences
		return c.review(ctx, &review)
	}, nil
}

func (c *client) review(ctx context.Context, review *tokenReview) (*auth.Caller, error) {
	body, err := json.Marshal(review)
	if err != nil {
		return nil, err
	}
	client, err := c.open()
	if err != nil {
		return nil, err
	}
	answer, err := client.Post().MaxRetries(1).AbsPath("/apis/authentication.k8s.io/v1/tokenreviews").Body(body).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	var reviewed tokenReview
	if err := json.Unmarshal(answer, &reviewed); err != nil || reviewed.Kind != review.Kind {
		return nil, errors.New("the API server's response is not a TokenReview")
	}
	status, audiences := &reviewed.Status, review.Spec.Audiences
	switch {
	case !status.Authenticated:
		return nil, nil
	case status.User.Username == "":
		return nil, errors.New("the API server's response has no user")
	// An API server that does not know audiences leaves them out.
	case len(audiences) > 0 && !slices.ContainsFunc(status.Audiences, func(a string) bool { return slices.Contains(audiences, a) }):
		return nil, nil
	}
	return &auth.Caller{Name: status.User.Username, UID: status.User.UID, Groups: status.User.Groups}, nil
}
