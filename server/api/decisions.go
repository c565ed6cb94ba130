package api

import (
	"mime"
	"net/http"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/openapi"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
)

// canonical is the endpoints below /v1/decisions: requests and decisions as they are.
type canonical struct {
	service *exchange.Service
	decider *access.Decider
	streams *limits.Budget
}

// routes returns the endpoints of all points: for one request, and for several.
func (s *canonical) routes() []route {
	var routes []route
	for _, p := range decision.Points() {
		begin := func(r *http.Request, policies decision.Policies) exchange.Answerer { return s.begin(r, policies, p) }
		e := s.endpoint(p)
		whole := s.service.Decision(e)
		if p.Name == decision.Visibility {
			e.Check, e.IsList = checkMedia, true
			whole = orLines(s.stream, s.service.Decision(e))
		}
		path, op := "/v1/decisions/"+p.Name, openapi.Operation{Tag: "Decisions", IsOfRevision: true}
		about := op.For("Decides a request at the point "+p.Name+".", openapi.RequestAt(p.Name), answerAt(p.Name))
		about.IsLines = p.Name == decision.Visibility
		several := op.For("Decides several requests at the point "+p.Name+", in order, from one revision.", openapi.Name("BatchRequest"), openapi.Name("BatchAnswer"))
		several.IsLines = true
		routes = append(routes,
			route{methods: "POST", pattern: path, role: auth.Decisions, handler: whole, about: about},
			route{methods: "POST", pattern: path + "/batch", role: auth.Decisions, handler: s.batch(e, begin), about: several})
	}
	return routes
}

// answerAt returns a decision at a point, for its schema.
func answerAt(point string) any {
	switch point {
	case decision.Access:
		return decision.Decision{}
	case decision.Visibility:
		return decision.VisibilityDecision{}
	case decision.Gateway:
		return decision.GatewayDecision{}
	}
	return openapi.Name("Object")
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
