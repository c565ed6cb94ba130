package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
)

// effectiveRoutes are the endpoints that show effective policies.
func (s *service) effectiveRoutes() []route {
	const below = "/v1/effective/:kind/"
	return []route{
		{"GET HEAD", below + "replaced", endpoint{handle: s.effective(replacedQuestion, "policy")}},
		{"GET HEAD", below + "reach", endpoint{handle: s.effective(reachQuestion, "rule")}},
		{"GET HEAD", below + ":target/:namespace/:name", endpoint{handle: s.effective(targetQuestion, "section", "via")}},
	}
}

// effective answers the question of a request. Unknown parameters are refused: a
// misspelt one must not be ignored.
func (s *service) effective(question func(*gin.Context, url.Values) (decision.EffectiveQuestion, *refusal), known ...string) gin.HandlerFunc {
	return func(c *gin.Context) {
		policies, refused := s.policies(c)
		if refused != nil {
			s.refuse(c, refused)
			return
		}
		// Each may visit all paths of all gateways and have a long answer.
		if !s.listing.acquire(maxListing) {
			s.shed(c, &endpoint{})
			return
		}
		defer s.listing.release()
		query, refused := effectiveQuery(c.Request.URL.RawQuery, known)
		if refused != nil {
			s.refuse(c, refused)
			return
		}
		q, refused := question(c, query)
		if refused != nil {
			s.refuse(c, refused)
			return
		}
		q.Kind = c.Param("kind")
		answer, err := policies.EffectivePolicies(q)
		if err != nil {
			s.refuse(c, effectiveRefusal(err))
			return
		}
		body, err := json.Marshal(answer)
		if err != nil {
			panic(err) // made of texts and of what JSON was read from
		}
		write(c, http.StatusOK, jsonType, append(body, '\n'))
	}
}

// effectiveQuery reads a query that has known parameters only, each at most once.
func effectiveQuery(raw string, known []string) (url.Values, *refusal) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, malformedQuery
	}
	for name, values := range query {
		if !slices.Contains(known, name) || len(values) > 1 {
			return nil, &refusal{status: http.StatusBadRequest, message: "the query has, once each, no parameter but " + strings.Join(known, " and ")}
		}
	}
	return query, nil
}

func effectiveRefusal(err error) *refusal {
	switch {
	case errors.Is(err, decision.ErrUnknownTarget):
		return &refusal{status: http.StatusNotFound, message: err.Error()}
	case errors.Is(err, decision.ErrMalformed):
		return &refusal{status: http.StatusBadRequest, message: err.Error()}
	}
	return &refusal{status: http.StatusServiceUnavailable, message: err.Error()}
}

func targetQuestion(c *gin.Context, query url.Values) (decision.EffectiveQuestion, *refusal) {
	target := c.Param("target") + "/" + c.Param("namespace") + "/" + c.Param("name")
	if section := query.Get("section"); section != "" {
		target += "#" + section
	}
	return decision.EffectiveQuestion{Target: target, Via: query.Get("via")}, nil
}

func replacedQuestion(_ *gin.Context, query url.Values) (decision.EffectiveQuestion, *refusal) {
	return decision.EffectiveQuestion{Replaced: true, Policy: query.Get("policy")}, nil
}

func reachQuestion(_ *gin.Context, query url.Values) (decision.EffectiveQuestion, *refusal) {
	rule := query.Get("rule")
	if rule == "" {
		return decision.EffectiveQuestion{}, &refusal{status: http.StatusBadRequest, message: "the query names no rule: ?rule=rules.authorization.NAME"}
	}
	return decision.EffectiveQuestion{Reach: rule}, nil
}
