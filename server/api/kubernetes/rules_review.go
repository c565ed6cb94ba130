package kubernetes

import (
	"context"
	"net/http"
	"strings"

	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
)

// RulesReview answers SelfSubjectRulesReviews: what the caller may do in a namespace. A
// client may rely on each rule; what is allowed in some requests alone is left out, and
// the status is incomplete then.
func (s *Reviews) RulesReview() http.HandlerFunc {
	return acceptProtobuf(s.Service, s.Service.Decision(exchange.Decision{
		Form: exchange.Status,
		Answer: func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
			caller := auth.CallerOf(r.Context())
			if caller == nil {
				return b, exchange.Unauthorized
			}
			namespace, refused := rulesNamespace(body)
			if refused != nil {
				return b, refused
			}
			status := rulesStatus{
				Incomplete:      true,
				EvaluationError: "no revision is active, or its bundle has no table of its deny policies",
			}
			now := p.Now()
			p = p.At(now)
			if statements := statement.Of(p); statements != nil {
				stated := map[string]any{}
				if cluster := r.PathValue("cluster"); cluster != "" {
					stated["cluster"] = cluster
				}
				asker := &question.Asker{World: statements, Judge: judge.Of(p), Revision: p.Loaded().Revision, Now: now}
				refused = s.Service.Listing(func() *exchange.Refusal {
					ctx, cancel := context.WithTimeout(r.Context(), s.Service.Budget(r))
					defer cancel()
					grants, err := asker.Grants(ctx, caller.Name, caller.Groups, namespace, stated)
					status = statusOf(grants, err)
					return nil
				})
				if refused != nil {
					return b, refused
				}
			}
			text := jsontext.Marshal(status.withLists())
			return append(append(access.AppendReceived(b, body), text[1:]...), "}\n"...), nil
		},
	}))
}

// rulesNamespace returns the namespace that a review is about.
func rulesNamespace(body decision.Value) (string, *exchange.Refusal) {
	if !body.IsObject() {
		return "", exchange.BadRequest("", "the body is not a JSON object")
	}
	var f exchange.Reader
	var namespace, kind, apiVersion string
	for key, member := range body.Members() {
		switch key {
		case "kind":
			kind, _ = member.Text()
		case "apiVersion":
			apiVersion, _ = member.Text()
		case "spec":
			spec := f.Object(key, member)
			f.Under = "spec."
			for key, member := range spec.Members() {
				if key == "namespace" {
					namespace = f.Text(key, member)
				}
			}
			f.Under = ""
		}
	}
	if kind != "SelfSubjectRulesReview" {
		return "", exchange.BadRequest("kind", `"kind" must be SelfSubjectRulesReview`)
	}
	if apiVersion != V1.apiVersion {
		return "", exchange.BadRequest("apiVersion", `"apiVersion" must be `+V1.apiVersion)
	}
	if f.Refused == nil && namespace == "" {
		f.Refuse("spec.namespace", "a string that is not empty")
	}
	return namespace, f.Refused
}

// rulesStatus is the status of a SelfSubjectRulesReview.
type rulesStatus struct {
	Resources       []resourceRule `json:"resourceRules"`
	Paths           []pathRule     `json:"nonResourceRules"`
	Incomplete      bool           `json:"incomplete"`
	EvaluationError string         `json:"evaluationError,omitempty"`
}

type resourceRule struct {
	Verbs     []string `json:"verbs"`
	APIGroups []string `json:"apiGroups"`
	Resources []string `json:"resources"`
	Names     []string `json:"resourceNames,omitempty"`
}

type pathRule struct {
	Verbs []string `json:"verbs"`
	Paths []string `json:"nonResourceURLs"`
}

// withLists returns the status with lists in place of null, which clients may not take.
func (s rulesStatus) withLists() rulesStatus {
	s.Resources, s.Paths = append([]resourceRule{}, s.Resources...), append([]pathRule{}, s.Paths...)
	return s
}

func statusOf(grants *question.Grants, err error) rulesStatus {
	if err != nil {
		return rulesStatus{Incomplete: true, EvaluationError: "the rules could not be computed in time"}
	}
	var s rulesStatus
	for _, g := range grants.Rules {
		if len(g.NonResourceURLs) > 0 {
			s.Paths = append(s.Paths, pathRule{g.Verbs, g.NonResourceURLs})
		} else {
			s.Resources = append(s.Resources, resourceRule{g.Verbs, g.APIGroups, g.Resources, g.ResourceNames})
		}
	}
	if s.Incomplete = len(grants.Omitted) > 0; s.Incomplete {
		s.EvaluationError = exchange.Line("left out, as it depends on the request: "+strings.Join(grants.Omitted, ", "), exchange.MaxText)
	}
	return s
}
