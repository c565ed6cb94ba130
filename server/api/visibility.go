package api

import (
	"context"
	"mime"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// ClusterLabels are what a file of clusters says of one; a Clusters that has them
// completes visibility requests that leave their cluster's labels out.
type ClusterLabels interface {
	// Labels are those of the cluster of that name, nil where it is not known.
	Labels(cluster string) map[string]string
}

// visibility is the canonical door of that point: request and decision as they
// are.
func (s *service) visibility(c *gin.Context, value decision.Value, b *buffer) {
	r, err := decision.VisibilityFromValue(value)
	if err != nil {
		s.refuse(c, invalidBody(err))
		return
	}
	s.label(r)
	began := time.Now()
	ctx, cancel := context.WithDeadline(c.Request.Context(), began.Add(s.budget(c.Request.URL.RawQuery)))
	d := s.view(ctx, r)
	cancel()
	s.visible.Decided(visibleOutcome(&d.Authorization), time.Since(began))
	s.answeredBy(c, d.Revision)
	b.bytes = append(d.AppendJSON(b.bytes), '\n')
	write(c, http.StatusOK, jsonType, b.bytes)
}

// viewer answers at the visibility point.
func (s *service) viewer() decision.Viewer {
	if viewer, ok := s.Reviewer.(decision.Viewer); ok {
		return viewer
	}
	return decision.NoViewer("nothing answers at the visibility point")
}

// view turns a panic into trouble, as evaluate does.
func (s *service) view(ctx context.Context, r *decision.VisibilityRequest) (d decision.VisibilityDecision) {
	defer func() {
		if cause := recover(); cause != nil {
			s.Metrics.Panicked()
			s.panicked(ctx, "evaluation", cause)
			d = decision.NoViewer(internalError).View(ctx, r)
		}
	}()
	return s.viewer().View(ctx, r)
}

// label adds the labels of the request's cluster where the caller left them out.
func (s *service) label(r *decision.VisibilityRequest) {
	if labels, ok := s.Clusters.(ClusterLabels); ok && r.Cluster.Labels == nil && r.Cluster.Name != "" {
		r.Cluster.Labels = labels.Labels(r.Cluster.Name)
	}
}

func visibleOutcome(a *decision.Authorization) metrics.Outcome {
	switch {
	case a.Trouble != "":
		return metrics.Trouble
	case a.Decision == decision.VisibleAll, a.Decision == decision.VisibleSome:
		return metrics.Allow
	}
	return metrics.Deny
}

// checkVisible is checkMedia for a door that also takes a stream.
func checkVisible(c *gin.Context) *refusal {
	if isJSON(c.Request.Header.Get("Content-Type")) {
		return nil
	}
	return &refusal{status: http.StatusUnsupportedMediaType, message: "the content type must be application/json or " + linesMedia}
}

// linesMedia is JSON, one value a line.
const linesMedia = "application/x-ndjson"

func isLines(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == linesMedia
}
