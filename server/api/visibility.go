package api

import (
	"context"
	"mime"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
)

// visibility is the canonical endpoint of that point: request and decision as they
// are.
func (s *service) visibility(c *gin.Context, p decision.Policies, value decision.Value, b *buffer) {
	r, err := decision.VisibilityFromValue(value)
	if err != nil {
		s.refuse(c, invalidBody(err))
		return
	}
	s.addLabels(r)
	d, _ := answerPoint(s, c, s.visible, func(ctx context.Context) (decision.VisibilityDecision, *decision.InvalidRequest) {
		return decision.DecideVisibility(ctx, p, r, s.Cache.Visibility(ctx, p, r)), nil
	})
	b.bytes = append(d.AppendJSON(b.bytes), '\n')
	write(c, http.StatusOK, jsonType, b.bytes)
}

// addLabels adds the labels of the request's cluster if the caller left them out.
func (s *service) addLabels(r *decision.VisibilityRequest) {
	if r.Cluster.Labels == nil && r.Cluster.Name != "" {
		r.Cluster.Labels = s.labelsOf(r.Cluster.Name)
	}
}

// labelsOf are the labels of a cluster, nil if they are unknown.
func (s *service) labelsOf(cluster string) map[string]string {
	if s.Clusters == nil {
		return nil
	}
	return s.Clusters.Labels(cluster)
}

// checkVisibilityMedia is checkMedia for an endpoint that also accepts a stream.
func checkVisibilityMedia(c *gin.Context) *refusal {
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
