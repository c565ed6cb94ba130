package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-policy/writ/server/decision"
)

// pod fetches a pod, or returns the reason why it is not available. Users see the
// reason, so it is one of a fixed list and never text from a server.
func (c *client) pod(ctx context.Context, namespace, name string) (map[string]any, string) {
	switch {
	case namespace == "":
		return nil, "the request has no namespace"
	case name == "":
		return nil, "the request has no pod name"
	}
	value, err := c.read(ctx, "namespaces", namespace, "pods", name)
	if err != nil {
		return nil, explain(ctx, err)
	}
	pod, _ := value.Any().(map[string]any)
	if pod == nil || pod["kind"] != "Pod" || pod["apiVersion"] != "v1" {
		return nil, "the API server's response is not a Pod"
	}
	return pod, ""
}

// namespaceLabels fetches the labels of the request's namespace. It returns nil if they
// cannot be read.
func (c *client) namespaceLabels(ctx context.Context, r *decision.Request) map[string]string {
	if c.isOwnFetch(ctx, r) {
		return nil
	}
	value, err := c.read(ctx, "namespaces", r.Namespace)
	if err != nil {
		return nil
	}
	namespace, _ := value.Any().(map[string]any)
	metadata, _ := namespace["metadata"].(map[string]any)
	if namespace["kind"] != "Namespace" || metadata["name"] != r.Namespace {
		return nil
	}
	return readLabels(metadata)
}

// isOwnFetch reports whether r may be a review about one of our own fetches. Fetching a
// namespace in order to decide whether we may fetch it would not end, and fetches that
// wait for fetches would use up the places. If our user name is not known, r counts as
// one.
func (c *client) isOwnFetch(ctx context.Context, r *decision.Request) bool {
	if r.Verb != "get" || r.Subresource != "" {
		return false
	}
	if core := r.APIGroup == "" && (r.Resource == "namespaces" || r.Resource == "pods"); !core && !c.objects {
		return false
	}
	self, err := c.identity(ctx)
	return err != nil || r.User == self
}

// identity returns our user name in the cluster. It is requested once: renewed
// credentials belong to the same user. It returns an error if the request fails.
func (c *client) identity(ctx context.Context) (string, error) {
	if self := c.self.Load(); self != nil {
		return *self, nil
	}
	client, err := c.open()
	if err != nil {
		return "", err
	}
	const review = `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
	body, err := client.Post().AbsPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").
		SetHeader("Content-Type", "application/json").Body([]byte(review)).Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	value, err := decision.Parse(body)
	if err != nil {
		return "", err
	}
	answer, _ := value.Any().(map[string]any)
	status, _ := answer["status"].(map[string]any)
	user, _ := status["userInfo"].(map[string]any)
	name, _ := user["username"].(string)
	if name == "" {
		return "", errors.New("the response has no user name")
	}
	c.self.Store(&name)
	return name, nil
}

// read fetches one object by its path below /api/v1. It returns an error if the request
// fails or the response is not JSON.
func (c *client) read(ctx context.Context, segments ...string) (decision.Value, error) {
	client, err := c.open()
	if err != nil {
		return decision.Value{}, err
	}
	get := client.Get().MaxRetries(1)
	if len(segments) == 4 {
		get = get.Namespace(segments[1])
	}
	body, err := get.Resource(segments[len(segments)-2]).Name(segments[len(segments)-1]).Do(ctx).Raw()
	if err != nil {
		return decision.Value{}, err
	}
	value, err := decision.Parse(body)
	if err != nil {
		return decision.Value{}, errResponse
	}
	return value, nil
}

var errResponse = errors.New("the response is not JSON")

// explain returns the reason of a failed fetch, from a fixed list.
func explain(ctx context.Context, err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, errResponse):
		return "the API server's response is not a Pod"
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "timeout"
	case apierrors.IsNotFound(err):
		return "pod not found"
	case apierrors.IsForbidden(err):
		return "access to the pod is forbidden"
	case apierrors.IsUnauthorized(err):
		return "the cluster rejected the credentials"
	case apierrors.IsTooManyRequests(err):
		return "the cluster's API server has too many requests"
	case apierrors.ReasonForError(err) != "":
		return "the cluster's API server failed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case isTLS(err):
		return "TLS failure"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case strings.Contains(err.Error(), "invalid resource name"), strings.Contains(err.Error(), "invalid namespace"):
		return "the request has no valid pod name"
	}
	return "the cluster's API server cannot be reached"
}

func isTLS(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
		alert        tls.AlertError
		authority    x509.UnknownAuthorityError
		host         x509.HostnameError
		invalid      x509.CertificateInvalidError
	)
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}
