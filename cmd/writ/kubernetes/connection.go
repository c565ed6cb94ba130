package kubernetes

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/cluster"
)

const (
	// soon is the time before its end at which a certificate should be renewed.
	soon = 14 * 24 * time.Hour
	// maxAnswer bounds an answer in bytes.
	maxAnswer = 8 << 20
	// reviewSuffix ends the path of reviews.
	reviewSuffix = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
)

// examineConnection asks writ as the API server does.
func (e *examination) examineConnection(ctx context.Context, w *authorizer) {
	passed := e.begin("connection")
	if w.connection.value != "KubeConfigFile" || w.kubeconfig.value == "" {
		e.fail(w.kubeconfig.at, "set connectionInfo: {type: KubeConfigFile, kubeConfigFile: FILE}", "the connection has no kubeconfig")
		return
	}
	c, err := cluster.Connect(w.kubeconfig.value, "", e.Timeout)
	if err != nil {
		e.fail(w.kubeconfig.at, "writ kubernetes config writes a kubeconfig", "%v", err)
		return
	}
	server, err := url.Parse(c.Server)
	if err != nil || !strings.HasSuffix(server.Path, reviewSuffix) {
		e.fail(c.Server, "the server is URL"+reviewSuffix+", after /clusters/NAME for a cluster that is not the default", "the kubeconfig does not name writ's reviews")
		return
	}
	if ip := net.ParseIP(server.Hostname()); server.Scheme != "https" && (ip == nil || !ip.IsLoopback()) {
		e.fail(c.Server, "use https", "reviews and decisions are sent in plain text")
	}
	if !c.HasCredentials {
		e.warn(w.kubeconfig.value, "writ kubernetes config --client-cert or --token-file", "the API server has no credentials for writ")
	}
	if c.Certificate != nil {
		e.examineCertificate(w.kubeconfig.value, "client certificate", c.Certificate)
	}
	began := time.Now()
	status, answer, err := e.review(ctx, c)
	took := time.Since(began)
	switch {
	case err != nil:
		e.fail(c.Server, "check that writ serves there, and that certificate-authority of the kubeconfig signed its certificate", "writ does not answer: %v", err)
		return
	case answer.TLS != nil:
		e.examineCertificate(c.Server, "certificate of writ", answer.TLS.PeerCertificates[0])
	}
	switch {
	case answer.StatusCode == http.StatusUnauthorized:
		e.fail(c.Server, "give the API server a certificate of --client-ca, or a token that writ accepts", "writ does not accept the credentials of the API server")
	case answer.StatusCode != http.StatusOK:
		e.fail(c.Server, "the log of writ has the cause", "writ answers a review with %s", answer.Status)
	case status == nil:
		e.fail(c.Server, "check the URL: another server answers", "the answer is not a SubjectAccessReview")
	case status.EvaluationError != "":
		e.fail(c.Server, "writ status shows what writ serves; the name of the cluster in the URL must be in --clusters", "writ cannot decide: %s", status.EvaluationError)
	case w.timeout.value > 0 && took > w.timeout.value/2:
		e.warn(c.Server, "place writ nearer to the API server, or raise the timeout", "a review took %s of the %s that the API server waits", took.Round(time.Millisecond), w.timeout.value)
	}
	passed(c.Server, "writ answers a review in %s", took.Round(100*time.Microsecond))
	e.examineVersion(ctx, c, server)
}

func (e *examination) examineCertificate(at, what string, certificate *x509.Certificate) {
	switch left := time.Until(certificate.NotAfter); {
	case left <= 0:
		e.fail(at, "renew it", "the %s is expired since %s", what, certificate.NotAfter.Format(time.DateOnly))
	case left < soon:
		e.warn(at, "renew it", "the %s expires on %s", what, certificate.NotAfter.Format(time.DateOnly))
	}
}

// reviewStatus is the status of a SubjectAccessReview.
type reviewStatus struct {
	Allowed         bool   `json:"allowed"`
	EvaluationError string `json:"evaluationError"`
}

// review sends a review about a user that no policy names. The status is nil if the answer
// is not a review.
func (e *examination) review(ctx context.Context, c *cluster.Connection) (*reviewStatus, *http.Response, error) {
	const body = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{},"spec":{"user":"writ:doctor",` +
		`"groups":["system:authenticated"],"resourceAttributes":{"verb":"get","version":"v1","resource":"pods","namespace":"default"}},"status":{"allowed":false}}`
	answer, response, err := send(ctx, c, http.MethodPost, c.Server, []byte(body))
	if err != nil {
		return nil, nil, err
	}
	var review struct {
		Kind   string        `json:"kind"`
		Status *reviewStatus `json:"status"`
	}
	if json.Unmarshal(answer, &review) != nil || review.Kind != "SubjectAccessReview" {
		return nil, response, nil
	}
	return review.Status, response, nil
}

// examineVersion compares the version of writ with the one that is expected.
func (e *examination) examineVersion(ctx context.Context, c *cluster.Connection, server *url.URL) {
	passed := e.begin("writ")
	base := *server
	base.Path, base.RawPath = "", ""
	content, response, err := send(ctx, c, http.MethodGet, base.String()+"/v1/status", nil)
	var status struct {
		Version  string `json:"version"`
		Ready    bool   `json:"ready"`
		Degraded bool   `json:"degraded"`
	}
	switch {
	case err != nil || response.StatusCode != http.StatusOK || json.Unmarshal(content, &status) != nil:
		e.warn(base.String(), "check that the server is writ, and that no proxy leaves out /v1/status", "the status of writ cannot be read")
	case !status.Ready:
		e.fail(base.String(), "writ status shows why", "writ is not ready, and denies every request")
	case status.Degraded:
		e.warn(base.String(), "writ status shows why", "writ serves an older revision")
	case e.Version != "" && status.Version != e.Version:
		e.warn(base.String(), "use one version", "writ has version %s, this command %s", status.Version, e.Version)
	}
	passed(base.String(), "writ %s is ready", status.Version)
}

// send sends a request and returns the body of the response, which is closed.
func send(ctx context.Context, c *cluster.Connection, method, to string, body []byte) ([]byte, *http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.Client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, nil, fmt.Errorf("read the answer: %w", err)
	}
	return content, response, nil
}
