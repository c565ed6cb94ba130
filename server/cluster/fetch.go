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

// pod reads a pod, or says in a few words why there is none. The words are shown
// to users: they are of this list, and never what a server said.
func (c *client) pod(ctx context.Context, namespace, name string) (map[string]any, string) {
	switch {
	case namespace == "":
		return nil, "the request has no namespace"
	case name == "":
		return nil, "the request names no pod"
	}
	value, err := c.read(ctx, "namespaces", namespace, "pods", name)
	if err != nil {
		return nil, explain(ctx, err)
	}
	pod, _ := value.Any().(map[string]any)
	if pod == nil || pod["kind"] != "Pod" || pod["apiVersion"] != "v1" {
		return nil, "the answer is no pod"
	}
	return pod, ""
}

// namespaceLabels are those of the request's namespace: nil where they cannot be
// read.
func (c *client) namespaceLabels(ctx context.Context, r *decision.Request) map[string]string {
	if c.returned(ctx, r) {
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
	labels := map[string]string{}
	if metadata["labels"] == nil {
		return labels
	}
	words, ok := metadata["labels"].(map[string]any)
	for key, word := range words {
		text, isText := word.(string)
		ok = ok && isText
		labels[key] = text
	}
	if !ok {
		return nil
	}
	return labels
}

// returned reports whether r may be one of our own reads, asked about. Reading a
// namespace to decide whether we may read that namespace would have no end, and
// reads that wait for reads would fill the places. Where it cannot be told, r
// counts as one.
func (c *client) returned(ctx context.Context, r *decision.Request) bool {
	if r.Verb != "get" || r.APIGroup != "" || r.Subresource != "" || r.Resource != "namespaces" && r.Resource != "pods" {
		return false
	}
	self, err := c.identity(ctx)
	return err != nil || r.User == self
}

// identity is the user that the cluster takes us for. It is asked for until it is
// known: a client's credentials may be renewed, and stay the same user's.
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
		return "", errors.New("the answer names no user")
	}
	c.self.Store(&name)
	return name, nil
}

// read reads one object: its path below /api/v1.
func (c *client) read(ctx context.Context, segments ...string) (decision.Value, error) {
	client, err := c.open()
	if err != nil {
		return "", err
	}
	get := client.Get().MaxRetries(1)
	if len(segments) == 4 {
		get = get.Namespace(segments[1])
	}
	body, err := get.Resource(segments[len(segments)-2]).Name(segments[len(segments)-1]).Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	value, err := decision.Parse(body)
	if err != nil {
		return "", errAnswer
	}
	return value, nil
}

var errAnswer = errors.New("the answer is no JSON")

// explain says why a read failed, in words of our own.
func explain(ctx context.Context, err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, errAnswer):
		return "the answer is no pod"
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "timeout"
	case apierrors.IsNotFound(err):
		return "pod not found"
	case apierrors.IsForbidden(err):
		return "not allowed to read the pod"
	case apierrors.IsUnauthorized(err):
		return "the credentials for the cluster are not accepted"
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
		return "the request names no pod" // nor anything that could be one
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
