package api

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"

	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Cache keeps answers of Policies; cache.Cache is one.
type Cache interface {
	Access(ctx context.Context, p decision.Policies, r *decision.Request) decision.Decision
	Visibility(ctx context.Context, p decision.Policies, r *decision.VisibilityRequest) decision.Authorization
	Gateway(ctx context.Context, p decision.Policies, r *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest)
	// Forget drops what is kept for a user, a name and never a pattern, and returns how
	// many entries there were.
	Forget(p decision.Policies, user string) int
}

// uncached is a Cache that keeps nothing.
type uncached struct{}

func (uncached) Access(ctx context.Context, p decision.Policies, r *decision.Request) decision.Decision {
	return p.Access(ctx, r)
}

func (uncached) Visibility(ctx context.Context, p decision.Policies, r *decision.VisibilityRequest) decision.Authorization {
	return p.Visibility(ctx, r)
}

func (uncached) Gateway(ctx context.Context, p decision.Policies, r *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	return p.Gateway(ctx, r)
}

func (uncached) Forget(decision.Policies, string) int { return 0 }

// canonical is the endpoints below /v1/decisions: requests and decisions as they are.
type canonical struct {
	service *exchange.Service
	decider *access.Decider
	cache   Cache
	gated   *metrics.Point // decisions of the gateway point
	seen    *metrics.Point // decisions of the visibility point
	streams exchange.Limiter
}

func newCanonical(s *exchange.Service, d *access.Decider, cache Cache) *canonical {
	return &canonical{
		service: s, decider: d, cache: cache,
		gated: s.Metrics.Point(string(decision.Gateway)),
		seen:  s.Metrics.Point(string(decision.Visibility)),
	}
}

func (s *canonical) access() exchange.Decision {
	return exchange.Decision{
		Form: exchange.Problem, Check: exchange.CheckJSON,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			q, err := decision.FromValue(body)
			if err != nil {
				return b, exchange.InvalidBody(err)
			}
			d := s.decider.Decide(r, p, q)
			return append(d.AppendJSON(b), '\n'), nil
		},
	}
}

func (s *canonical) gateway() exchange.Decision {
	return exchange.Decision{
		Form: exchange.Problem, Check: exchange.CheckJSON,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			q, err := decision.GatewayFromValue(body)
			if err != nil {
				return b, exchange.InvalidBody(err)
			}
			d, invalid := exchange.Decide(s.service, r, s.gated, func(ctx context.Context) (decision.GatewayDecision, *decision.InvalidRequest) {
				return s.cache.Gateway(ctx, p, q)
			})
			if invalid != nil {
				return b, exchange.InvalidBody(invalid)
			}
			answer, err := json.Marshal(&d)
			if err != nil {
				panic(err) // strings, numbers and what JSON was read from
			}
			return append(append(b, answer...), '\n'), nil
		},
	}
}

func (s *canonical) visibility() exchange.Decision {
	return exchange.Decision{
		Form: exchange.Problem, Check: checkMedia,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			q, err := decision.VisibilityFromValue(body)
			if err != nil {
				return b, exchange.InvalidBody(err)
			}
			s.addLabels(q)
			d, _ := exchange.Decide(s.service, r, s.seen, func(ctx context.Context) (decision.VisibilityDecision, *decision.InvalidRequest) {
				return decision.DecideVisibility(ctx, p, q, s.cache.Visibility(ctx, p, q)), nil
			})
			return append(d.AppendJSON(b), '\n'), nil
		},
	}
}

// orLines answers a stream of lines with lines, and any other body with whole.
func orLines(lines, whole http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if isLines(r) {
			lines(w, r)
			return
		}
		whole(w, r)
	}
}

// addLabels adds the labels of the request's cluster if the caller left them out.
func (s *canonical) addLabels(q *decision.VisibilityRequest) {
	if q.Cluster.Labels == nil && q.Cluster.Name != "" {
		q.Cluster.Labels = s.decider.Labels(q.Cluster.Name)
	}
}

// checkMedia is exchange.CheckJSON for an endpoint that also accepts a stream.
func checkMedia(r *http.Request) *exchange.Refusal {
	if exchange.IsJSON(r) {
		return nil
	}
	return &exchange.Refusal{Status: http.StatusUnsupportedMediaType, Message: "the content type must be application/json or " + linesMedia}
}

// linesMedia is JSON, one value a line.
const linesMedia = "application/x-ndjson"

func isLines(r *http.Request) bool {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" || contentType == "application/json" {
		return false
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == linesMedia
}
