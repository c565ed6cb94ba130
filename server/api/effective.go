package api

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/openapi"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	policies "github.com/writ-policy/writ/translator/gateway/effective"
)

// effectivePath is above the endpoints that show effective policies, policiesPath lists the
// policies that they come from.
const (
	policiesPath  = "/v1/effective"
	effectivePath = policiesPath + "/:kind/"
)

// effectiveRoutes are the endpoints of effective policies.
func effectiveRoutes(s *exchange.Service) []route {
	op := openapi.Operation{Tag: "Effective policies", IsOfRevision: true}
	kind := openapi.Parameter{Name: "kind", Description: "AuthPolicy, RateLimitPolicy or TokenRateLimitPolicy."}
	return []route{
		{
			methods: "GET HEAD", pattern: policiesPath, role: auth.Auditor, handler: effective(s, policiesQuestion, "kind"),
			about: op.For("Lists the policies with their conditions.", nil, []policies.PolicyStatus{}).With(
				openapi.Parameter{Name: "kind", Description: kind.Description + " Left out, all of them."}),
		},
		{
			methods: "GET HEAD", pattern: effectivePath + "replaced", role: auth.Auditor, handler: effective(s, replacedQuestion, "policy"),
			about: op.For("Lists the rules that other policies replace.", nil, []policies.ReplacedPath{}).With(kind,
				openapi.Parameter{Name: "policy", Description: "NAMESPACE/NAME of a policy. Left out, those of all."}),
		},
		{
			methods: "GET HEAD", pattern: effectivePath + "reach", role: auth.Auditor, handler: effective(s, reachQuestion, "rule"),
			about: op.For("Lists the paths on which a rule is in force.", nil, policies.Reach{}).With(kind,
				openapi.Parameter{Name: "rule", Description: "The key of the rule.", IsRequired: true}),
		},
		{
			methods: "GET HEAD", pattern: effectivePath + ":target/:namespace/:name", role: auth.Auditor, handler: effective(s, targetQuestion, "section", "via"),
			about: op.For("Shows what is in force on a target.", nil, policies.Effective{}).With(kind,
				openapi.Parameter{Name: "target", Description: "Gateway, HTTPRoute or GRPCRoute."},
				openapi.Parameter{Name: "section", Description: "A listener, or a rule of the route."},
				openapi.Parameter{Name: "via", Description: "A Gateway, as Gateway/NAMESPACE/NAME, to keep the paths through it."}),
		},
	}
}

// effectiveQuestion reads the question of a request, whose query has known parameters
// only.
type effectiveQuestion func(*http.Request, url.Values) (policies.Question, *exchange.Refusal)

// effective answers a question. It may visit all paths of all gateways and have a long
// answer. Unknown parameters are refused: a misspelt one must not be ignored.
func effective(s *exchange.Service, question effectiveQuestion, known ...string) http.HandlerFunc {
	return s.List(exchange.List{
		Form: exchange.Problem,
		Answer: func(r *http.Request, p decision.Policies) ([]byte, *exchange.Refusal) {
			query, refused := effectiveQuery(r.URL.RawQuery, known)
			if refused != nil {
				return nil, refused
			}
			q, refused := question(r, query)
			if refused != nil {
				return nil, refused
			}
			if kind := r.PathValue("kind"); kind != "" {
				q.Kind = kind
			}
			if p.Loaded().Revision == "" {
				return nil, &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "no revision is loaded"}
			}
			answer, err := policies.Answer(p.Tables().Gateway(), q)
			if err != nil {
				return nil, effectiveRefusal(err)
			}
			return append(jsontext.Marshal(answer), '\n'), nil
		},
	})
}

// effectiveQuery reads a query that has known parameters only, each at most once.
func effectiveQuery(raw string, known []string) (url.Values, *exchange.Refusal) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, exchange.MalformedQuery
	}
	for name, values := range query {
		if !slices.Contains(known, name) || len(values) > 1 {
			return nil, &exchange.Refusal{Status: http.StatusBadRequest, Message: "the query has, once each, no parameter but " + strings.Join(known, " and ")}
		}
	}
	return query, nil
}

func effectiveRefusal(err error) *exchange.Refusal {
	var wrong *policies.Error
	if errors.As(err, &wrong) && wrong.Unknown {
		return &exchange.Refusal{Status: http.StatusNotFound, Message: "no such target: " + err.Error()}
	}
	return &exchange.Refusal{Status: http.StatusBadRequest, Message: "the question is malformed: " + err.Error()}
}

func targetQuestion(r *http.Request, query url.Values) (policies.Question, *exchange.Refusal) {
	target := r.PathValue("target") + "/" + r.PathValue("namespace") + "/" + r.PathValue("name")
	if section := query.Get("section"); section != "" {
		target += "#" + section
	}
	return policies.Question{Target: target, Via: query.Get("via")}, nil
}

func policiesQuestion(_ *http.Request, query url.Values) (policies.Question, *exchange.Refusal) {
	return policies.Question{Policies: true, Kind: query.Get("kind")}, nil
}

func replacedQuestion(_ *http.Request, query url.Values) (policies.Question, *exchange.Refusal) {
	return policies.Question{Replaced: true, Policy: query.Get("policy")}, nil
}

func reachQuestion(_ *http.Request, query url.Values) (policies.Question, *exchange.Refusal) {
	rule := query.Get("rule")
	if rule == "" {
		return policies.Question{}, &exchange.Refusal{Status: http.StatusBadRequest, Message: "the query names no rule: ?rule=rules.authorization.NAME"}
	}
	return policies.Question{Reach: rule}, nil
}
