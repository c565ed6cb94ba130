// Package authzen answers the requests of the OpenID AuthZEN Authorization API 1.0:
// evaluations, searches and metadata. A request of AuthZEN becomes a canonical request at
// the access point.
//
// # Design
//
// The properties of an entity that a request leaves out are those of the inventory. They
// are added here, before the canonical request: the alternative, to read the inventory in
// Rego, would make decisions of other endpoints depend on it.
//
// A search decides each candidate like an evaluation, so that both give the same answer.
// Candidates are the entities of the inventory, or the verbs that documents name.
package authzen

import (
	"cmp"
	"mime"
	"net/http"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// API answers the requests. Service and Decider are required.
type API struct {
	Service *exchange.Service
	Decider *access.Decider
	// PublicURL is the scheme and host of the server as its callers know it, for
	// metadata; empty means those of each request.
	PublicURL string
}

// Form is how AuthZEN states errors: a status and a message.
func Form(r *exchange.Refusal) (status int, contentType []string, body []byte) {
	return r.Status, exchange.PlainText, append([]byte(exchange.Line(r.Message, exchange.MaxText)), '\n')
}

// Evaluation answers one evaluation.
func (a *API) Evaluation() http.HandlerFunc {
	return a.handler(func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
		t, refused := tupleOf(body, tuple{})
		if refused != nil {
			return b, refused
		}
		return a.appendEvaluation(r, p, t, b)
	})
}

// handler returns the handler of an endpoint that takes a JSON object.
func (a *API) handler(answer func(*http.Request, decision.Policies, decision.Value, []byte) ([]byte, *exchange.Refusal)) http.HandlerFunc {
	e := endpoint
	e.Answer = func(r *http.Request, p decision.Policies, body decision.Value, b []byte) ([]byte, *exchange.Refusal) {
		if refused := checkObject(body); refused != nil {
			return b, refused
		}
		b, refused := answer(r, p, body, b)
		return append(b, '\n'), refused
	}
	return a.Service.Decision(e)
}

// endpoint is what the endpoints have in common.
var endpoint = exchange.Decision{Form: Form, Check: checkMedia}

func checkObject(body decision.Value) *exchange.Refusal {
	if body.IsObject() {
		return nil
	}
	return exchange.BadRequest("", "the body is not a JSON object")
}

// checkMedia refuses a body that is not declared as JSON with the status that AuthZEN has
// for it.
func checkMedia(r *http.Request) *exchange.Refusal {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && media == "application/json" {
		return nil
	}
	return &exchange.Refusal{Status: http.StatusBadRequest, Message: "the content type must be application/json"}
}

// appendEvaluation decides an evaluation and appends the answer.
func (a *API) appendEvaluation(r *http.Request, p decision.Policies, t tuple, b []byte) ([]byte, *exchange.Refusal) {
	q, refused := t.request(p.Tables().Inventory())
	if refused != nil {
		return b, refused
	}
	d := a.Decider.Decide(r, p, q)
	b = append(b, `{"decision":`...)
	b = append(b, truth(d.Allowed)...)
	return append(d.AppendJSON(append(b, `,"context":`...)), '}'), nil
}

func truth(v bool) string {
	if v {
		return "true"
	}
	return "false"
}

// Metadata answers with the endpoints of the server.
func (a *API) Metadata(w http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	base := cmp.Or(a.PublicURL, scheme+"://"+r.Host)
	b := jsontext.AppendString([]byte(`{"policy_decision_point":`), base)
	for _, endpoint := range []struct{ key, path string }{
		{"access_evaluation_endpoint", EvaluationPath},
		{"access_evaluations_endpoint", EvaluationsPath},
		{"search_subject_endpoint", SearchPath + "subject"},
		{"search_resource_endpoint", SearchPath + "resource"},
		{"search_action_endpoint", SearchPath + "action"},
	} {
		b = append(append(append(b, `,"`...), endpoint.key...), `":`...)
		b = jsontext.AppendString(b, base+endpoint.path)
	}
	exchange.Write(w, http.StatusOK, exchange.JSON, append(b, "}\n"...))
}

// The paths of the endpoints.
const (
	EvaluationPath  = "/access/v1/evaluation"
	EvaluationsPath = "/access/v1/evaluations"
	SearchPath      = "/access/v1/search/"
	MetadataPath    = "/.well-known/authzen-configuration"
)
